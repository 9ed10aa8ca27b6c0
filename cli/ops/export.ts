// `svc ops export`: the journals of a business, its keys and its pushes as a file from which the simulator starts.

import { resolve } from "node:path";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "../command.ts";
import { requiredText } from "../confirmation.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { writePrivate } from "../private-file.ts";
import { actorAddress } from "./actor-name.ts";

export const opsExport: Command = {
  name: "ops export",
  usage: "KIND/ID",
  summary: "write the journals of a business, or of the business of a key or push, to a file (for operators)",
  details: [
    "  The file starts a simulation: npm run sim -- --journal FILE --seed 1",
    "  It holds no private key, but what the business published: only its owner can read it, and it needs the right to act.",
    "  The actors are neither woken nor changed. The audit log records that it was taken, and who took it.",
  ],
  options: {
    by: { type: "string", value: "WHO", help: "who signs in to take it; kept in the audit log" },
    out: { type: "string", value: "FILE", help: "the file; an existing one is not overwritten" },
    ...opsOptions,
  },
  run: runExport,
};

async function runExport(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const address = `/ops/actors/${actorAddress(onlyArgument(args, opsExport))}/export`;
  const out = resolve(context.cwd, requiredText(args, "out", opsExport));
  const ops = await connectOps(args, context, requiredText(args, "by", opsExport));
  await writePrivate(out, await ops.text(address));
  context.terminal.print(out);
  return exitCodes.done;
}
