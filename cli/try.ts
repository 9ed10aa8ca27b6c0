// `svc try`: provokes a refusal with the samples of a sandbox, and shows the answer.

import { isAsNamed, refusals, untried } from "../node/sandbox/refusals/refusals.ts";
import { openTrial } from "../node/sandbox/refusals/trial.ts";
import { type Command, exitCodes, onlyArgument, UsageError } from "./command.ts";
import { homeOf, loadSandbox } from "./connection.ts";
import { visible } from "./terminal.ts";

export const tryCommand: Command = {
  name: "try",
  usage: "[REFUSAL]",
  summary: "provoke a refusal in the sandbox by its code, such as nonce_reused; without one, list them",
  details: [
    "Every request goes over HTTP and is signed by sample keys of sandbox.json (docs/sandbox.md).",
    "Exits with 0 if the request was refused as it should be.",
  ],
  options: `
    --json      print the refusal as JSON
    --home DIR  home folder of the sandbox's node`,
  run: async (call) => {
    const { terminal } = call;
    if (call.positionals.length === 0) {
      for (const { name, how } of refusals) terminal.print(`${terminal.bold(name.padEnd(40))} ${how}`);
      return exitCodes.done;
    }
    const name = onlyArgument(call, tryCommand);
    const refusal = refusals.find((each) => each.name === name);
    if (refusal === undefined) throw new UsageError(unknownRefusal(name));
    const trial = openTrial(await loadSandbox(homeOf(call)));
    const refused = await refusal.attempt(trial);
    const isRefused = isAsNamed(name, refused);
    if (call.flag("json")) terminal.print(JSON.stringify({ name, ...refused }));
    else {
      const { status, code, reason, detail } = refused;
      terminal.print(refusal.how);
      const said = [status ?? "offline", code, ...(reason === undefined ? [] : [reason])].join(" ");
      terminal.print(
        isRefused ? terminal.good(visible(said)) : terminal.bad(`Not refused as expected: ${visible(said)}`),
      );
      terminal.print(visible(detail));
    }
    return isRefused ? exitCodes.done : exitCodes.negative;
  },
};

function unknownRefusal(name: string): string {
  const why = untried[name];
  return why === undefined
    ? `There is no refusal ${JSON.stringify(name)} to try. See: svc try`
    : `${name} cannot be tried. ${why}`;
}
