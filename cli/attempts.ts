// `svc attempts`: what became of everything that a business sent, record by record, with the batches that were refused.

import type { PushAttempt } from "../client/business-answers.ts";
import { businessOptions, connectBusiness, jsonOption } from "./business-options.ts";
import { type Arguments, type Command, type CommandContext, noArguments } from "./command.ts";
import type { ExitCode } from "./exit-codes.ts";
import { listLimitMax, printList } from "./listing.ts";
import { number } from "./push-progress.ts";
import { visible } from "./terminal.ts";

const limitDefault = 100;
const dayMs = 86_400_000;

export const attempts: Command = {
  name: "attempts",
  usage: "",
  summary: "list what became of the records that were sent, and the batches that were refused",
  details: ["TIME is a date, or a moment such as 2026-11-21T03:00:00Z; --from is included, --to is not."],
  options: {
    from: { type: "string", value: "TIME", help: "since when (default: a day ago)" },
    to: { type: "string", value: "TIME", help: "until when" },
    status: { type: "string", value: "STATUS", help: "only accepted, updated, rejected, held or pending" },
    limit: { type: "string", short: "n", value: "N", help: `how many at most (default ${limitDefault})` },
    json: jsonOption,
    ...businessOptions,
  },
  run: runAttempts,
};

async function runAttempts(args: Arguments, context: CommandContext): Promise<ExitCode> {
  noArguments(args, attempts);
  const { terminal } = context;
  const limit = args.integer("limit", { min: 1, max: listLimitMax, fallback: limitDefault });
  const { business } = await connectBusiness(args, context);
  const given = ["to", "status"].flatMap((name) => {
    const value = args.text(name);
    return value === null ? [] : [[name, value] as const];
  });
  const from = args.text("from") ?? new Date(context.now() - dayMs).toISOString();
  return printList(args, terminal, business.attempts({ from, ...Object.fromEntries(given) }), {
    limit,
    header: ["RECEIVED", "STATUS", "PUSH", "RECORD", "WHAT", "WHY"],
    rowOf,
    none: "Nothing was sent in that time.",
  });
}

function rowOf(attempt: PushAttempt): string[] {
  const { received_at, status, category, errors, leaf_index, record_id, business_product_id, push_id } =
    attempt;
  const what =
    leaf_index === null ? `batch of ${attempt.records ?? "?"}` : (business_product_id ?? record_id ?? "-");
  // Records of a push are counted from 1, in the order of its file.
  const place = leaf_index === null ? "-" : number(leaf_index + 1);
  const why = errors
    .map(({ code, pointer, reason }) =>
      [code, reason, pointer].filter((each) => each !== undefined && each !== null && each !== "").join(" "),
    )
    .join(", ");
  return [
    received_at,
    status,
    push_id ?? "-",
    place,
    visible(what),
    visible(category === null ? why : `${category}: ${why}`),
  ];
}
