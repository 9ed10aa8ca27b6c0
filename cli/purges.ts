// `svc purges`: which purges of deleted records are late and why, and the proofs of a business's purges.

import { latePurges, purgePage } from "../ops/shapes.ts";
import type { Of } from "../protocol/shape.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";
import { connectOps, type OpsConnection, opsOptions } from "./ops-connection.ts";
import { printList } from "./query.ts";
import { visible } from "./terminal.ts";

export const purges: Command = {
  name: "purges",
  usage: "[BUSINESS_UUID]",
  summary: "show late purges, or a business's purges with their proofs (for operators)",
  details: [
    "  Without an argument: the businesses whose purges are due and not done on that node, and what they wait for;",
    "  exits with 1 if there are any. With one: every deletion and ordered purge of the business; exits with 1 if there is none.",
  ],
  options: `
    --record RECORD_ID  only the deletions of this record${opsOptions}`,
  run: async (call) => {
    const { terminal } = call;
    const [uuid, ...more] = call.positionals;
    if (more.length > 0)
      throw new UsageError(`Only one argument is expected, not also ${more.join(" ")}. See: svc help purges`);
    const record = call.text("record");
    if (uuid === undefined && record !== null)
      throw new UsageError("--record needs the UUID of the business. See: svc help purges");
    const ops = await connectOps(call);
    if (uuid !== undefined)
      return printList(call, deletionsOf(ops, uuid, record), {
        header: ["RECORD", "STATE", "PURGED, OR DUE", "VERSIONS", "INDEXES", "ORDERED BECAUSE OF"],
        rowOf,
        none: "Nothing was deleted.",
      });
    const { late } = await ops.get("/ops/purges", latePurges);
    for (const each of late)
      terminal.print(
        call.flag("json")
          ? JSON.stringify(each)
          : `${each.business_uuid}: ${each.purges} due, the oldest deletion is of ${each.oldest_deleted_at}, its limit ${each.limit_at}. ${visible(each.detail)}`,
      );
    if (late.length === 0) terminal.note("No purge is late on this node.");
    return late.length === 0 ? exitCodes.done : exitCodes.negative;
  },
};

type Page = Of<typeof purgePage>;
type Purge = Page["purges"][number];

async function* deletionsOf(ops: OpsConnection, uuid: string, record: string | null): AsyncGenerator<Purge> {
  for (let after: number | null = 0; after !== null; ) {
    const page: Page = await ops.get(`/ops/purges/${encodeURIComponent(uuid)}?after=${after}`, purgePage);
    yield* page.purges.filter((each) => record === null || each.record_id === record);
    after = page.next_after;
  }
}

function rowOf({ record_id, state, due_at, proof, ground }: Purge): string[] {
  const order = visible(ground ?? "");
  if (proof === null) return [record_id, state, due_at, "", "", order];
  const { purged_at, versions, regions } = proof;
  return [record_id, state, purged_at, String(versions.length), regions.join(" "), order];
}
