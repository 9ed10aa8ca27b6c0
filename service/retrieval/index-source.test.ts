import { describe, expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import type { RecordHead, RecordStore } from "../../storage/record-store.ts";
import type { RowChange } from "../../storage/row-index.ts";
import { indexSource } from "./index-source.ts";

const head = (record_id: string, changes: Partial<RecordHead> = {}): RecordHead => ({
  record_id,
  business_uuid: "b",
  type: "updates",
  live: true,
  generation: 1,
  change: 3,
  hash: "h",
  ...changes,
});

const row = (recordId: string) =>
  JSON.stringify({ record_id: recordId, business_uuid: "b", title: recordId });

async function changesOf(
  pages: readonly (readonly RecordHead[])[],
  { missing = [], purged = [] }: Partial<Record<"missing" | "purged", readonly string[]>> = {},
) {
  const changes: RowChange[] = [];
  const records = part<RecordStore>({
    listHeads: async (cursor) => {
      const at = Number(cursor ?? 0);
      return { heads: pages[at] ?? [], cursor: at + 1 < pages.length ? String(at + 1) : null };
    },
    readRows: async (ids) =>
      ids
        .filter(({ record_id }) => !missing.includes(record_id))
        .map((id) => ({ ...id, row: purged.includes(id.record_id) ? "" : row(id.record_id), sidecar: "{}" })),
  });
  for await (const change of indexSource(records, "updates")) changes.push(change);
  return changes;
}

describe("the truth that an index is built from", () => {
  it("is every record of the collection, page by page, also behind an empty page", async () => {
    const pages = [[head("a"), head("e", { type: "events" })], [], [head("z", { change: 9 })]];
    expect(await changesOf(pages)).toMatchObject([
      { kind: "put", record_id: "a", change: 3, row: row("a") },
      { kind: "put", record_id: "z", change: 9 },
    ]);
  });

  it("says what was removed, and leaves out what was purged while it was read", async () => {
    const pages = [[head("a", { live: false, change: 5 }), head("b"), head("c")]];
    expect(await changesOf(pages, { missing: ["b"], purged: ["c"] })).toEqual([
      { kind: "remove", collection: "updates", record_id: "a", change: 5 },
    ]);
  });
});
