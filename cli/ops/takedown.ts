// `svc ops takedown`: what is out of serving by an act of operators, and that act and its undoing.

import { jsonOption } from "../business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "../command.ts";
import { isConfirmed, requiredText } from "../confirmation.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { formatTable, visible } from "../terminal.ts";

export const opsTakedown: Command = {
  name: "ops takedown",
  usage: "[RECORD_ID | BUSINESS_UUID]",
  summary:
    "show what is taken down, take a record or a whole business out of serving, or undo it (for operators)",
  details: [
    "  Without an argument: what is taken down now. With one: what is taken down of it; exits with 1 if nothing is.",
    "  --impose takes it out of searches, fetches and ad pools in every region within seconds; nothing else changes. --lift undoes that.",
    "  The business reads the text of --statement; --reason is for the operators' own record. Repeating an act does no harm.",
  ],
  options: {
    impose: { type: "boolean", help: "take it out of serving" },
    lift: { type: "boolean", help: "undo its takedown" },
    statement: { type: "string", value: "TEXT", help: "--impose: what the business is told of the reason" },
    by: { type: "string", value: "WHO", help: "who signs in to act; kept with the act" },
    reason: { type: "string", value: "TEXT", help: "why, in at most 500 characters; kept with the act" },
    yes: { type: "boolean", help: "do not ask" },
    json: jsonOption,
    ...opsOptions,
  },
  run: runTakedown,
};

interface Shown {
  readonly business_uuid: string;
  readonly record_id: string | null;
  readonly statement_of_reasons: string;
  readonly taken_down_at: string;
  readonly lifted_at: string | null;
}

interface State {
  readonly business_uuid: string;
  readonly legal_name: string;
  readonly record_id: string | null;
  readonly takedown: Shown | null;
}

async function runTakedown(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const [imposes, lifts] = [args.flag("impose"), args.flag("lift")];
  if (imposes && lifts)
    throw new UsageError("Use --impose or --lift, one at a time. See: svc help ops takedown");
  if (!imposes && args.text("statement") !== null) throw new UsageError("--statement is for --impose alone.");
  if (args.positionals.length === 0 && !imposes && !lifts) return listInForce(args, context);
  const subject = onlyArgument(args, { name: opsTakedown.name, usage: "RECORD_ID | BUSINESS_UUID" });
  const path = `/ops/takedowns/${encodeURIComponent(subject)}`;
  return imposes || lifts ? change(args, context, path) : show(args, context, path);
}

async function listInForce(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const ops = await connectOps(args, context);
  const answer = await ops.get("/ops/takedowns", "takedowns");
  const takedowns = answer["takedowns"] as readonly Shown[];
  if (args.flag("json")) for (const each of takedowns) terminal.print(JSON.stringify(each));
  else if (takedowns.length > 0) {
    const rows = takedowns.map((each) => [
      ...[each.taken_down_at, each.business_uuid, each.record_id ?? "everything"],
      visible(each.statement_of_reasons),
    ]);
    const header = ["SINCE", "BUSINESS", "RECORD", "STATEMENT OF REASONS"];
    for (const line of formatTable(header, rows, terminal.columns)) terminal.print(line);
  }
  const total = Number(answer["total"]);
  if (total > takedowns.length)
    terminal.note(`The newest ${takedowns.length} of ${total} takedowns are shown.`);
  if (total === 0) terminal.note("Nothing is taken down.");
  return exitCodes.done;
}

async function show(args: Arguments, context: CommandContext, path: string): Promise<ExitCode> {
  const { terminal } = context;
  const ops = await connectOps(args, context);
  const answer = await ops.get(path);
  const state = answer["subject"] as State;
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else terminal.print(wordsOf(state));
  return isInForce(state) ? exitCodes.done : exitCodes.negative;
}

function isInForce({ takedown }: State): boolean {
  return takedown !== null && takedown.lifted_at === null;
}

function wordsOf({ business_uuid, legal_name, record_id, takedown }: State): string {
  const what = `${record_id ?? "Everything"} of ${visible(legal_name)} (${business_uuid})`;
  if (takedown === null) return `${what} was never taken down.`;
  const { statement_of_reasons: statement, taken_down_at, lifted_at } = takedown;
  const ended = lifted_at === null ? "" : `, and the takedown was lifted at ${lifted_at}`;
  return `${what} was taken down at ${taken_down_at}${ended}: ${visible(statement)}`;
}

async function change(args: Arguments, context: CommandContext, path: string): Promise<ExitCode> {
  const imposes = args.flag("impose");
  const by = requiredText(args, "by", opsTakedown);
  const reason = requiredText(args, "reason", opsTakedown);
  const statement = imposes ? { statement_of_reasons: requiredText(args, "statement", opsTakedown) } : {};
  const { terminal } = context;
  const ops = await connectOps(args, context, by);
  const before = (await ops.get(path))["subject"] as State;
  terminal.note(`At ${ops.url}:`);
  terminal.note(`  ${wordsOf(before)}`);
  terminal.note(
    imposes ? "  It leaves serving in every region." : "  What of it is published is served again.",
  );
  if (!args.flag("yes") && !(await isConfirmed(context))) {
    terminal.note("Nothing was changed.");
    return exitCodes.negative;
  }
  const answer = await ops.post(`${path}/${imposes ? "impose" : "lift"}`, { ...statement, reason });
  if (args.flag("json")) terminal.print(JSON.stringify(answer));
  else
    terminal.print(
      answer["changed"] === true ? `Done. ${wordsOf(answer["subject"] as State)}` : "It was so before.",
    );
  return exitCodes.done;
}
