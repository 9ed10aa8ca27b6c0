// `svc purges`: which purges of deleted records are late and why, and the proofs of a business's purges.

import { jsonOption } from "./business-options.ts";
import {
  type Arguments,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  onlyArgument,
  UsageError,
} from "./command.ts";
import { printList } from "./listing.ts";
import { connectOps, type OpsConnection, opsOptions } from "./ops-connection.ts";
import { visible } from "./terminal.ts";

export const purges: Command = {
  name: "purges",
  usage: "[BUSINESS_UUID]",
  summary: "show late purges, or a business's purges with their proofs (for operators)",
  details: [
    "  Without an argument: the businesses whose purges are due and not done on that node, and what they wait for;",
    "  exits with 1 if there are any. With one: every deletion and ordered purge of the business; exits with 1 if there is none.",
  ],
  options: {
    record: { type: "string", value: "RECORD_ID", help: "only the deletions of this record" },
    json: jsonOption,
    ...opsOptions,
  },
  run: runPurges,
};

type Shown = Readonly<Record<string, unknown>>;

async function runPurges(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const isJson = args.flag("json");
  if (args.positionals.length > 0) return ofBusiness(args, context);
  if (args.text("record") !== null)
    throw new UsageError("--record needs the UUID of the business. See: svc help purges");
  const ops = await connectOps(args, context);
  const late = (await ops.get("/ops/purges", "late"))["late"] as readonly Shown[];
  for (const each of late) {
    const { business_uuid, purges, oldest_deleted_at, limit_at, detail } = each;
    if (isJson) terminal.print(JSON.stringify(each));
    else
      terminal.print(
        `${business_uuid}: ${purges} due, the oldest deletion is of ${oldest_deleted_at}, its limit ${limit_at}. ${visible(String(detail))}`,
      );
  }
  if (late.length === 0) terminal.note("No purge is late on this node.");
  return late.length === 0 ? exitCodes.done : exitCodes.negative;
}

async function ofBusiness(args: Arguments, context: CommandContext): Promise<ExitCode> {
  const uuid = onlyArgument(args, { name: purges.name, usage: "BUSINESS_UUID" });
  const record = args.text("record");
  const ops = await connectOps(args, context);
  return printList(args, context.terminal, deletionsOf(ops, uuid, record), {
    header: ["RECORD", "STATE", "PURGED, OR DUE", "VERSIONS", "INDEXES", "ORDERED BECAUSE OF"],
    rowOf,
    none: "Nothing was deleted.",
  });
}

async function* deletionsOf(ops: OpsConnection, uuid: string, record: string | null): AsyncGenerator<Shown> {
  for (let after: unknown = 0; after !== null; ) {
    const page = await ops.get(`/ops/purges/${encodeURIComponent(uuid)}?after=${String(after)}`, "purges");
    const purges = page["purges"] as readonly Shown[];
    yield* purges.filter((each) => record === null || each["record_id"] === record);
    after = page["next_after"] ?? null;
  }
}

interface Proof {
  readonly purged_at: string;
  readonly versions: readonly object[];
  readonly regions: readonly string[];
}

function rowOf({ record_id, state, due_at, proof, ground }: Shown): string[] {
  const record = [String(record_id), String(state)];
  const order = ground === null ? "" : visible(String(ground));
  if (proof === null) return [...record, String(due_at), "", "", order];
  const { purged_at, versions, regions } = proof as Proof;
  return [...record, purged_at, String(versions.length), regions.join(" "), order];
}
