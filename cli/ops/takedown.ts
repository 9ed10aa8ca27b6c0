// `svc ops takedown`: what is out of serving by an act of operators, and that act and its undoing.

import { changed, takedownList, takedownState, under } from "../../ops/shapes.ts";
import type { Of } from "../../protocol/shape.ts";
import { type Call, type Command, type ExitCode, exitCodes, onlyArgument, UsageError } from "../command.ts";
import { actOptions, isAgreed, requiredText } from "../confirmation.ts";
import { connectOps, opsOptions } from "../ops-connection.ts";
import { showOpsList } from "../query.ts";
import { visible } from "../terminal.ts";

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
  options: `
    --impose          take it out of serving
    --lift            undo its takedown
    --statement TEXT  --impose: what the business is told of the reason
${actOptions}
    --yes             do not ask${opsOptions}`,
  run: async (call) => {
    const [imposes, lifts] = [call.flag("impose"), call.flag("lift")];
    if (imposes && lifts)
      throw new UsageError("Use --impose or --lift, one at a time. See: svc help ops takedown");
    if (!imposes && call.text("statement") !== null)
      throw new UsageError("--statement is for --impose alone.");
    if (call.positionals.length === 0 && !imposes && !lifts) return showInForce(call);
    const subject = onlyArgument(call, { name: opsTakedown.name, usage: "RECORD_ID | BUSINESS_UUID" });
    const path = `/ops/takedowns/${encodeURIComponent(subject)}`;
    return imposes || lifts ? change(call, path) : show(call, path);
  },
};

type State = Of<typeof takedownState>;

const showInForce = (call: Call): Promise<ExitCode> =>
  showOpsList(call, {
    path: () => "/ops/takedowns",
    form: takedownList,
    items: ({ takedowns }) => takedowns,
    header: ["SINCE", "BUSINESS", "RECORD", "STATEMENT OF REASONS"],
    rowOf: ({ taken_down_at, business_uuid, record_id, statement_of_reasons }) => [
      taken_down_at,
      business_uuid,
      record_id ?? "everything",
      visible(statement_of_reasons),
    ],
    none: () => "Nothing is taken down.",
    note: ({ takedowns, total }) =>
      total > takedowns.length ? `The newest ${takedowns.length} of ${total} takedowns are shown.` : null,
  });

async function show(call: Call, path: string): Promise<ExitCode> {
  const ops = await connectOps(call);
  const answer = await ops.get(path, under("subject", takedownState));
  call.terminal.print(call.flag("json") ? JSON.stringify(answer) : wordsOf(answer.subject));
  return isInForce(answer.subject) ? exitCodes.done : exitCodes.negative;
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

async function change(call: Call, path: string): Promise<ExitCode> {
  const imposes = call.flag("impose");
  const by = requiredText(call, "by", opsTakedown);
  const reason = requiredText(call, "reason", opsTakedown);
  const statement = imposes ? { statement_of_reasons: requiredText(call, "statement", opsTakedown) } : {};
  const ops = await connectOps(call, by);
  const before = (await ops.get(path, under("subject", takedownState))).subject;
  const will = imposes
    ? "  It leaves serving in every region."
    : "  What of it is published is served again.";
  if (!(await isAgreed(call, ops.url, [`  ${wordsOf(before)}`, will]))) return exitCodes.negative;
  const act = imposes ? "impose" : "lift";
  const answer = await ops.post(
    `${path}/${act}`,
    { ...statement, expected: before.change, reason },
    changed("subject", takedownState),
  );
  const said = answer.changed ? `Done. ${wordsOf(answer.subject)}` : "It was so before.";
  call.terminal.print(call.flag("json") ? JSON.stringify(answer) : said);
  return exitCodes.done;
}
