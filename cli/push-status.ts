// `svc push-status`: shows how far the service has processed one pushed batch.

import type { PublishOutcome, PushStatus } from "../client/service-client.ts";
import { type Arguments, type Command, type CommandContext, onlyArgument } from "./command.ts";
import { connect, connectionOptions } from "./connection.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { showHeldReasons } from "./held-reasons.ts";
import { type Terminal, visible } from "./terminal.ts";

export const pushStatus: Command = {
  name: "push-status",
  usage: "PUSH_ID",
  summary: "show the progress of a pushed batch",
  options: {
    outcome: {
      type: "string",
      value: "OUTCOME",
      help: "show only accepted, updated, rejected, held or pending records",
    },
    json: { type: "boolean", help: "print the service's answer exactly as it came" },
    business: { type: "string", value: "N|UUID", help: "business of the sandbox that asks (default 1)" },
    ...connectionOptions,
  },
  run: runPushStatus,
};

async function runPushStatus(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const pushId = onlyArgument(args, pushStatus);
  const { client } = await connect("business", args, context);
  const outcome = args.text("outcome");
  const { body, text } = await client.pushStatus(pushId, outcome === null ? {} : { outcome });
  if (args.flag("json")) context.terminal.write(`${text}\n`);
  else showStatus(context.terminal, body);
  return body.state === "failed" || body.state === "held" ? exitCodes.negative : exitCodes.done;
}

export function showStatus(terminal: Terminal, status: PushStatus): void {
  const { counts, progress } = status;
  terminal.print(`${status.push_id}  ${status.state}${status.stalled ? " (stalled)" : ""}`);
  terminal.print(
    `settled ${progress.settled} of ${progress.total}: ${counts.accepted} accepted, ${counts.updated} updated, ${counts.rejected} rejected, ${counts.held} held`,
  );
  showHeldReasons(terminal, status.held_reasons);
  if (status.error !== null) terminal.print(`failed: ${status.error.code} ${visible(status.error.detail)}`);
  // A held record has no outcome to show.
  for (const result of status.results) if (result.outcome !== "held") terminal.print(resultLine(result));
  if (status.state === "held") showDecision(terminal, status);
  else if (status.next_cursor !== null)
    terminal.note(`The first ${status.results.length} records are shown.`);
}

/** Of a held push no record has an outcome yet: what matters is who decides, how, and by when. */
function showDecision(terminal: Terminal, { push_id, hold_expires_at }: PushStatus): void {
  const until = hold_expires_at ? `Held until ${hold_expires_at}` : "Held";
  terminal.print(`${until}: an owner or admin decides, with`);
  for (const decision of ["confirm", "reject"]) terminal.print(`  svc hold ${decision} ${push_id}`);
}

function resultLine(result: PublishOutcome): string {
  const errors = result.errors.map(({ code, pointer }) => `${code} at ${pointer || "/"}`).join(", ");
  return visible(
    `${String(result.leaf_index).padStart(5)}  ${result.outcome.padEnd(8)}  ${result.record_id ?? "-"}  ${errors}`,
  ).trimEnd();
}
