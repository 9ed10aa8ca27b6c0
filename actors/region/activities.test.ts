import { describe, expect, it } from "vitest";
import { noPolicyMasks } from "../../protocol/ai-policy.ts";
import { sha256, toHex, utf8 } from "../../protocol/bytes.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import { receiptEventText, receiptHashes } from "../../protocol/receipt.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import type { EventStore } from "../../storage/event-store.ts";
import { factsOf } from "../../storage/receipt-batch.fixture.ts";
import { countReceipts, type ReceiptRow, type ReceiptStore } from "../../storage/receipt-store.ts";
import type { RecordHead } from "../../storage/record-store.ts";
import type { RowReference } from "../messages/push.ts";
import { closeReceiptBatches, forgetExpired, regionActivities } from "./activities.ts";

const row = (recordId: string) =>
  JSON.stringify({ record_id: recordId, business_uuid: "b", title: recordId, ...noPolicyMasks });

const noEvents = part<EventStore>({ put: async () => {}, forget: async () => 0 });

/** A region whose store has the rows of `readable`, and an index that records what it receives. */
function region(readable: readonly string[]) {
  const state = {
    nowMs: 0,
    readable: [...readable],
    /** Records that become readable with each further read. */
    arriving: [] as string[],
    /** Records whose version was purged: of its row, nothing is left. */
    purged: [] as string[],
    reads: [] as (readonly string[])[],
    applied: [] as unknown[],
    fails: false,
    heads: new Map<string, RecordHead>(),
  };
  const activities = regionActivities({
    index: {
      apply: async (changes) => {
        if (state.fails) throw new Error("no index");
        state.applied.push(...changes);
        return changes.map(() => "applied" as const);
      },
      search: async () => [],
      isFindable: async (collection, id) => {
        if (state.fails) throw new Error("no index");
        return collection === "updates" && state.readable.includes(id);
      },
      count: async () => 0,
      purge: async () => {},
    },
    receipts: part({}),
    events: noEvents,
    records: part({
      readRows: async (ids) => {
        state.reads.push(ids.map(({ record_id }) => record_id));
        const found = ids.filter(({ record_id }) => state.readable.includes(record_id));
        state.readable.push(...state.arriving.splice(0, 1));
        return found.map((id) => ({
          ...id,
          row: state.purged.includes(id.record_id) ? "" : row(id.record_id),
        }));
      },
      readHead: async (id) => state.heads.get(id) ?? null,
    }),
    sha256,
    receiptRetentionMs: 86_400_000,
  });
  const indexRows = (references: readonly RowReference[]) =>
    activities["indexRows"]?.(
      { work_id: "w", collection: "updates", references, asked_at_ms: 0 },
      part({ nowMs: () => state.nowMs }),
    );
  const remove = (record_id: string, change: number) =>
    activities["applyRows"]?.(
      { work_id: "w", changes: [{ kind: "remove", record_id, collection: "updates", change }] },
      part({}),
    );
  const findRow = async (record_id: string) =>
    activities["findRow"]?.({ work_id: "f", collection: "updates", record_id }, part({}));
  return { state, indexRows, findRow, remove };
}

const reference = (record_id: string, change: number): RowReference => ({
  record_id,
  generation: 1,
  hash: "h",
  change,
});

describe("rows that were published in another region", () => {
  it("are asked for again while they arrive, each until it is there", async () => {
    const { state, indexRows } = region(["a"]);
    state.arriving.push("c", "b");
    const references = ["a", "b", "c"].map((id, index) => reference(id, index + 1));
    expect(await indexRows(references)).toMatchObject({ type: "rows.applied", rows: 3 });
    expect(state.reads).toEqual([["a", "b", "c"], ["b", "c"], ["b"]]);
  });

  it("are indexed from the region's own store", async () => {
    const { state, indexRows } = region(["a", "b"]);
    expect(await indexRows([reference("a", 4), reference("b", 7)])).toEqual({
      type: "rows.applied",
      work_id: "w",
      stale: 0,
      rows: 2,
    });
    expect(state.applied).toMatchObject([
      { kind: "put", record_id: "a", change: 4, business_uuid: "b", row: row("a") },
      { kind: "put", record_id: "b", change: 7 },
    ]);
  });

  it("are waited for while they may be on their way, and none is indexed before all are there", async () => {
    const { state, indexRows } = region(["a"]);
    await expect(indexRows([reference("a", 1), reference("late", 1)])).rejects.toThrow(
      "1 rows are not readable",
    );
    expect(state.applied).toEqual([]);
    state.readable.push("late");
    expect(await indexRows([reference("a", 1), reference("late", 1)])).toMatchObject({
      type: "rows.applied",
    });
  });

  it("that were purged meanwhile are not waited for, and the others are indexed", async () => {
    const { state, indexRows } = region(["a", "gone"]);
    state.purged.push("gone");
    expect(await indexRows([reference("gone", 1), reference("a", 2)])).toMatchObject({ rows: 1 });
    expect(state.applied).toMatchObject([{ record_id: "a", change: 2 }]);
    expect(await indexRows([reference("gone", 1)])).toMatchObject({ type: "rows.applied", rows: 0 });
  });

  it("that stay away are said to have failed, so that the asker asks again later", async () => {
    const { state, indexRows } = region([]);
    state.nowMs = 60_000;
    expect(await indexRows([reference("late", 1)])).toMatchObject({ type: "rows.failed", work_id: "w" });
    expect(state.applied).toEqual([]);
  });

  it("say so when the index fails", async () => {
    const { state, indexRows } = region(["a"]);
    state.fails = true;
    expect(await indexRows([reference("a", 1)])).toMatchObject({ type: "rows.failed", detail: "no index" });
  });
});

describe("a removal", () => {
  const head = (change: number, live: boolean): RecordHead => ({
    record_id: "a",
    business_uuid: "b",
    type: "updates",
    live,
    generation: 1,
    change,
    hash: "h",
  });

  it("is confirmed once the region's own store serves no earlier version either", async () => {
    const { state, remove } = region([]);
    expect(await remove("a", 5)).toMatchObject({ type: "rows.applied" });
    state.heads.set("a", head(4, true));
    expect(await remove("a", 5)).toMatchObject({
      type: "rows.failed",
      detail: expect.stringContaining("a is"),
    });
    state.heads.set("a", head(5, false));
    expect(await remove("a", 5)).toMatchObject({ type: "rows.applied" });
  });

  it("is confirmed where the record was published again since", async () => {
    const { state, remove } = region([]);
    state.heads.set("a", head(6, true));
    expect(await remove("a", 5)).toMatchObject({ type: "rows.applied" });
  });
});

describe("the question whether a search finds a record", () => {
  it("is answered by the index, and left open while it is away", async () => {
    const { state, findRow } = region(["a"]);
    expect([await findRow("a"), await findRow("b")]).toMatchObject([{ found: true }, { found: false }]);
    state.fails = true;
    expect(await findRow("a")).toEqual({ type: "rows.found", work_id: "f", found: null });
  });
});

it("receipts of a minute are closed page by page: one root over all, all counted, and no envelope kept", async () => {
  const rows = Array.from({ length: 25 }, (_, at): ReceiptRow => {
    const company = `company ${at % 3}`;
    const said = { collection: "products", country: "US", rows: at, client_query_id: null } as const;
    return {
      region: "eu",
      batch: "202611211358-i1",
      retrieval_id: `ret_${at + 10}`,
      company,
      key_id: "k",
      nonce: "n",
      billable: at % 2 === 0,
      served_at_ms: at,
      envelope: `envelope ${at}`,
      event: receiptEventText({ company, type: "search", ...said }),
      ...receiptHashes(`envelope ${at}`, sha256),
    };
  });
  const order: string[] = [];
  const closings: Parameters<ReceiptStore["closeBatch"]>[] = [];
  const receipts = part<ReceiptStore>({
    openBatches: async () => ["202611211358-i1"],
    readBatch: async function* () {
      for (let from = 0; from < rows.length; from += 10) {
        order.push(`page ${from}`);
        yield rows.slice(from, from + 10).map(factsOf);
      }
    },
    closeBatch: async (...given) => void closings.push(given),
  });
  const events = {
    ...noEvents,
    put: async (_region: string, of: readonly unknown[]) => void order.push(`${of.length}`),
  };
  await closeReceiptBatches({ receipts, events, sha256, append: async () => {} }, "eu", 0);
  // The events of a page are durable before the next is read.
  expect(order).toEqual(["page 0", "10", "page 10", "10", "page 20", "5"]);
  const [closed, listed, counts] = closings[0] ?? [];
  const root = `sha256:${toHex(merkleRoot(rows.map(({ envelope }) => leafHash(utf8(envelope)))))}`;
  expect(closed).toMatchObject({ root, tree_size: 25 });
  expect(listed).toEqual(rows.map(({ envelope: _, ...rest }) => rest));
  expect(counts).toEqual(countReceipts(rows));
});

describe("receipts that were kept for long enough", () => {
  const nowMs = Date.parse("2026-11-21T13:58:07.123Z");
  /** A store of closed batches with a number of receipts each, which records the requests that it gets. */
  const stored = (receipts: Readonly<Record<string, number>>) => {
    const left = new Map(Object.entries(receipts));
    const asked: string[] = [];
    const store = {
      keptBatches: async (_region: string, beforeMinute: string, limit: number) => {
        asked.push(beforeMinute);
        const names = [...left].filter(([name, count]) => count >= 0 && name < beforeMinute);
        return names.map(([name]) => name).slice(0, limit);
      },
      forgetReceipts: async (_region: string, batch: string, limit: number) => {
        const rest = (left.get(batch) ?? 0) - limit;
        left.set(batch, rest < 0 ? -1 : rest);
        return rest < 0;
      },
    };
    return { left, asked, store: store as unknown as ReceiptStore };
  };

  it("are forgotten whole, a few at a time, and no batch a minute earlier (R3)", async () => {
    const { left, asked, store } = stored({
      "202611201357-i1": 200,
      "202611201358-i1": 5,
      "202611201359-i1": 5,
    });
    const old = { events: 1_200, askedMs: new Set<number>() };
    const forget = async (beforeMs: number, limit: number): Promise<number> => {
      old.askedMs.add(beforeMs);
      const gone = Math.min(old.events, limit);
      old.events -= gone;
      return gone;
    };
    const ports = {
      receipts: store,
      events: part<EventStore>({ forget }),
      receiptRetentionMs: 86_400_000,
    };
    expect(await forgetExpired(ports, "eu-west1", { nowMs: () => nowMs })).toBe(1);
    expect(asked).toEqual(["202611201358"]);
    expect(old).toEqual({ events: 0, askedMs: new Set([nowMs - 30 * 86_400_000]) });
    expect([...left.values()]).toEqual([-1, 5, 5]);
  });

  it("are left for the next minute where there are too many", async () => {
    const { left, store } = stored({ "202611201357-i1": 1_000_000, "202611201357-i2": 1 });
    let at = nowMs;
    const ports = { receipts: store, events: noEvents, receiptRetentionMs: 86_400_000 };
    const slow = {
      nowMs: () => {
        at += 1_000;
        return at;
      },
    };
    expect(await forgetExpired(ports, "eu-west1", slow)).toBe(0);
    expect(left.get("202611201357-i1")).toBeLessThan(1_000_000);
    expect(left.get("202611201357-i2")).toBe(1);
  });
});
