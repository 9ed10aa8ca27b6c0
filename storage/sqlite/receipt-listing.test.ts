import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wholeBatch } from "../receipt-batch.fixture.ts";
import { servedReceipt } from "../receipt-listing.conformance.ts";
import {
  addUsage,
  type ListedReceipt,
  type ReceiptRow,
  type ReceiptStore,
  usageOf,
} from "../receipt-store.ts";
import { SqliteDatabase } from "./database.ts";
import { openSqliteReceiptStore } from "./receipt-store.ts";

const region = "eu-west1";
const company = "10000000-0000-4000-8000-000000000001";
const startMs = Date.parse("2026-11-21T23:58:00.000Z");
const days = { fromDay: "2026-11-01", toDay: "2026-11-30" };

async function listAll(store: ReceiptStore, keyId: string | null = null, limit = 5) {
  const found: ReceiptRow[] = [];
  let pages = 0;
  for (let after: string | null = null; ; ) {
    const page = await store.listReceipts({
      region,
      company,
      keyId,
      fromMs: 0,
      toMs: startMs + 1e9,
      after,
      limit,
    });
    pages += 1;
    found.push(...page.receipts);
    if (page.next === null) return { found, pages };
    after = page.next;
  }
}

const usage = (store: ReceiptStore) => store.readUsage({ region, company, ...days });

async function close(store: ReceiptStore, batch: string): Promise<void> {
  const receipts = await wholeBatch(store, region, batch);
  const closed = { region, batch, root: "sha256:x", closed_at_ms: 1 };
  await store.closeBatch({ ...closed, tree_size: receipts.length }, receipts);
}

type Step =
  | {
      readonly kind: "append";
      readonly minute: number;
      readonly lateness: number;
      readonly incarnation: number;
    }
  | { readonly kind: "repeat" | "close" | "close_over_what_was" | "forget" | "reopen"; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      minute: fc.nat(4),
      lateness: fc.nat(59_999),
      incarnation: fc.nat(1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("repeat", "close", "close_over_what_was", "forget", "reopen"),
      at: fc.nat(50),
    }),
  },
);

describe("the usage of a store in SQLite", () => {
  it("is what the listed receipts are, and those that were forgotten, after any history", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await using database = SqliteDatabase.open(":memory:");
        let store = openSqliteReceiptStore(database);
        const rows: ReceiptRow[] = [];
        const forgotten: ListedReceipt[] = [];
        const act = async (of: Step, n: number): Promise<void> => {
          if (of.kind === "append") {
            const atMs = startMs + of.minute * 60_000 + of.lateness;
            const row = servedReceipt({ region, atMs, n, incarnation: `i${of.incarnation}` });
            rows.push(row);
            return store.append(row);
          }
          const row = rows[of.at % Math.max(rows.length, 1)];
          if (of.kind === "reopen") store = openSqliteReceiptStore(database);
          if (row === undefined || of.kind === "reopen") return;
          const receipts = await wholeBatch(store, region, row.batch);
          const isForgotten = forgotten.some(({ retrieval_id }) => retrieval_id === row.retrieval_id);
          if (of.kind === "repeat" && !isForgotten) await store.append(row);
          if (of.kind === "close") await close(store, row.batch);
          // What a reader found before others came.
          const closed = { region, batch: row.batch, root: "sha256:y", closed_at_ms: 2 };
          if (of.kind === "close_over_what_was")
            await store.closeBatch({ ...closed, tree_size: 1 }, receipts.slice(0, 1));
          if (of.kind !== "forget" || (await store.readClosed(region, row.batch)) === null) return;
          forgotten.push(...receipts);
          while (!(await store.forgetReceipts(region, row.batch, 2)));
        };
        for (const [n, each] of steps.entries()) {
          await act(each, n);
          const { found } = await listAll(store);
          expect(found).toHaveLength(rows.length - forgotten.length);
          expect(await usage(store)).toEqual(addUsage([...found, ...forgotten].map(usageOf)));
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("the receipts of one key", () => {
  it("are found behind any number of others, on pages that look at a bounded number", async () => {
    await using database = SqliteDatabase.open(":memory:");
    const store = openSqliteReceiptStore(database);
    const row = (n: number, keyId: string) => servedReceipt({ region, atMs: startMs + n, n, keyId });
    await Promise.all(Array.from({ length: 40_100 }, (_, n) => store.append(row(n, "busy"))));
    const last = row(40_200, "rare");
    await store.append(last);
    const page = await store.listReceipts({
      region,
      company,
      keyId: "rare",
      fromMs: 0,
      toMs: startMs + 1e9,
      after: null,
      limit: 5,
    });
    expect(page).toEqual({ receipts: [], next: row(19_999, "busy").retrieval_id });
    expect(await listAll(store, "rare")).toEqual({ found: [last], pages: 3 });
  });
});

/** A receipt without an event, as releases before the event stream stored it. */
function _envelopeOnly(n: number): string {
  const payload = {
    v: 3,
    ai_company_uuid: company,
    collection: "products",
    country: "US",
    kind: "search",
    region,
    key_id: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    request_hash: `sha256:${"a".repeat(64)}`,
    retrieval_id: `ret_${n}`,
    served_at: "2026-11-21T23:58:00.000Z",
    rows: [],
  };
  const sorted = Object.fromEntries(Object.entries(payload).sort(([a], [b]) => (a < b ? -1 : 1)));
  const signature = { keyid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k", sig: `${"A".repeat(86)}==` };
  return JSON.stringify({
    payloadType: "application/vnd.svc.receipt.v3+json",
    payload: Buffer.from(JSON.stringify(sorted)).toString("base64"),
    signatures: [signature],
  });
}
