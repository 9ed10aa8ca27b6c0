// What every implementation of the port in receipt-store.ts must pass of obligations T6–T9: whose receipts are listed, and how
// many there are.

import { expect, it } from "vitest";
import { receiptEventText } from "../protocol/receipt.ts";
import { factsOf, hashed, wholeBatch } from "./receipt-batch.fixture.ts";
import {
  addUsage,
  positionAt,
  type ReceiptRow,
  type ReceiptStore,
  type ReceiptsWanted,
  type UsageWanted,
  usageDay,
  usageOf,
} from "./receipt-store.ts";

const minuteMs = 60_000;
const startMs = Date.parse("2026-11-21T23:55:00.000Z");
const [ours, theirs] = ["10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000002"];

interface Given {
  readonly region: string;
  readonly atMs: number;
  /** Distinguishes receipts of an instant, and says what they are about. */
  readonly n: number;
  readonly company?: string;
  readonly keyId?: string;
  readonly incarnation?: string;
}

/** A receipt that is like only some of the others, by its number. */
export function servedReceipt(given: Given): ReceiptRow {
  const { region, atMs, n, company = ours, keyId = `key-${n % 2}`, incarnation = "i1" } = given;
  const type = n % 3 === 0 ? "fetch" : "search";
  const isSearch = type === "search";
  const event = receiptEventText({
    company,
    type,
    rows: isSearch ? n % 5 : 1,
    client_query_id: null,
    collection: isSearch ? (n % 4 === 0 ? "jobs" : "products") : null,
    country: isSearch ? (n % 5 === 0 ? "GB" : "US") : null,
  });
  return hashed({
    region,
    company,
    event,
    key_id: keyId,
    nonce: `n-${n}`,
    billable: n % 5 > 0,
    served_at_ms: atMs,
    batch: `${minuteOf(atMs)}-${incarnation}`,
    retrieval_id: `${positionAt(atMs)}${String(n).padStart(20, "0")}`,
    envelope: `{"n":${n}}`,
  });
}

function minuteOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[-T:]/g, "").slice(0, 12);
}

/** All pages, one after another; every page is within its bounds. */
async function listAll(
  store: ReceiptStore,
  wanted: Partial<ReceiptsWanted> & { readonly region: string },
): Promise<readonly ReceiptRow[]> {
  const found: ReceiptRow[] = [];
  let after: string | null = null;
  do {
    const whole = { company: ours, keyId: null, fromMs: 0, toMs: startMs + 1e10, limit: 7 };
    const page = await store.listReceipts({ ...whole, ...wanted, after });
    expect(page.receipts.length).toBeLessThanOrEqual(wanted.limit ?? 7);
    const facts = { receipts: page.receipts.map(factsOf), next: page.next };
    expect(await store.listFacts({ ...whole, ...wanted, after })).toEqual(facts);
    expect(page.next === null || after === null || page.next > after).toBe(true);
    found.push(...page.receipts);
    after = page.next;
  } while (after !== null);
  return found;
}

const days: Pick<UsageWanted, "fromDay" | "toDay"> = { fromDay: "2026-11-01", toDay: "2026-12-31" };

/** What is counted is what is listed. */
async function expectCounted(store: ReceiptStore, region: string): Promise<void> {
  for (const company of [ours, theirs]) {
    const listed = await listAll(store, { region, company });
    expect(await store.readUsage({ region, company, ...days })).toEqual(addUsage(listed.map(usageOf)));
  }
}

async function close(store: ReceiptStore, region: string, batch: string): Promise<void> {
  const receipts = await wholeBatch(store, region, batch);
  const closed = { region, batch, root: `sha256:${"a".repeat(64)}`, closed_at_ms: 1 };
  await store.closeBatch({ ...closed, tree_size: receipts.length }, receipts);
}

async function forget(store: ReceiptStore, region: string, batch: string): Promise<void> {
  while (!(await store.forgetReceipts(region, batch, 3)));
}

export interface ListingTested {
  readonly store: () => ReceiptStore;
  readonly reopen: () => Promise<void>;
  readonly freshRegion: () => string;
}

export function listingTests({ store, reopen, freshRegion }: ListingTested): void {
  it("are listed in order, on pages, for their company and region alone (T6)", async () => {
    const [region, other] = [freshRegion(), freshRegion()];
    const own = Array.from({ length: 23 }, (_, n) =>
      servedReceipt({ region, atMs: startMs + (n % 6) * 50_000 + n, n, incarnation: `i${n % 3}` }),
    );
    const others = own.map((row, n) => ({
      ...servedReceipt({ region, atMs: row.served_at_ms, n: 100 + n, company: theirs }),
    }));
    await Promise.all([...own, ...others].map((row) => store().append(row)));
    await store().append(servedReceipt({ region: other, atMs: startMs, n: 7 }));
    const inOrder = own.toSorted((a, b) => (a.retrieval_id < b.retrieval_id ? -1 : 1));
    const listed = async () => [
      await listAll(store(), { region }),
      await listAll(store(), { region, limit: 23 }),
    ];
    expect(await listed()).toEqual([inOrder, inOrder]);
    for (const batch of [own[0], own[4]]) await close(store(), region, batch?.batch ?? "");
    await reopen();
    expect(await listed()).toEqual([inOrder, inOrder]);
    expect(await listAll(store(), { region: freshRegion() })).toEqual([]);
    expect(await listAll(store(), { region: other })).toHaveLength(1);
  });

  it("are listed by key, and within a window that includes its beginning and not its end (T6)", async () => {
    const region = freshRegion();
    const rows = Array.from({ length: 40 }, (_, n) =>
      servedReceipt({ region, atMs: startMs + n * 30_000, n }),
    );
    for (const row of rows) await store().append(row);
    await close(store(), region, rows[6]?.batch ?? "");
    const keyId = "key-1";
    expect(await listAll(store(), { region, keyId })).toEqual(rows.filter((row) => row.key_id === keyId));
    expect(await listAll(store(), { region, keyId: "key-2" })).toEqual([]);
    const [from, to] = [rows[5], rows[33]];
    const window = { fromMs: from?.served_at_ms ?? 0, toMs: to?.served_at_ms ?? 0 };
    expect(await listAll(store(), { region, ...window })).toEqual(rows.slice(5, 33));
    const narrower = { fromMs: window.fromMs + 1, toMs: window.toMs + 1 };
    expect(await listAll(store(), { region, ...narrower })).toEqual(rows.slice(6, 34));
    expect(await listAll(store(), { region, ...window, keyId })).toEqual(
      rows.slice(5, 33).filter((row) => row.key_id === keyId),
    );
    expect(await listAll(store(), { region, fromMs: startMs, toMs: startMs })).toEqual([]);
  });

  it("are listed once where more are appended between two pages (T6)", async () => {
    const region = freshRegion();
    const row = (n: number): ReceiptRow => servedReceipt({ region, atMs: startMs + n * 20_000, n });
    for (const n of [0, 2, 4, 6]) await store().append(row(n));
    const wanted = { region, company: ours, keyId: null, fromMs: 0, toMs: startMs + 1e10, limit: 3 };
    const first = await store().listReceipts({ ...wanted, after: null });
    expect(first.receipts).toEqual([row(0), row(2), row(4)]);
    for (const n of [1, 5, 7]) await store().append(row(n));
    await close(store(), region, row(0).batch);
    const second = await store().listReceipts({ ...wanted, after: first.next });
    expect(second.receipts).toEqual([row(5), row(6), row(7)]);
    expect(await listAll(store(), { region, limit: 1 })).toEqual([0, 1, 2, 4, 5, 6, 7].map(row));
  });

  it("are listed no more once they are forgotten, and stay counted (T5, T7)", async () => {
    const region = freshRegion();
    const rows = Array.from({ length: 12 }, (_, n) =>
      servedReceipt({ region, atMs: startMs + n * minuteMs, n }),
    );
    for (const row of rows) await store().append(row);
    for (const { batch } of rows.slice(0, 8)) await close(store(), region, batch);
    const counted = await store().readUsage({ region, company: ours, ...days });
    expect(counted).toEqual(addUsage(rows.map(usageOf)));
    for (const { batch } of rows.slice(0, 5)) await forget(store(), region, batch);
    await reopen();
    expect(await listAll(store(), { region })).toEqual(rows.slice(5));
    expect(await store().readUsage({ region, company: ours, ...days })).toEqual(counted);
    const day = usageDay(startMs);
    const ofDay = counted.filter((each) => each.day === day);
    expect(ofDay.length).toBeLessThan(counted.length);
    expect(await store().readUsage({ region, company: ours, fromDay: day, toDay: day })).toEqual(ofDay);
    expect(await store().readUsage({ region: freshRegion(), company: ours, ...days })).toEqual([]);
  });

  it.each([1, 2, 3])(
    "are counted as they are listed, whatever happened to them (T2, T3, T7; script %i)",
    async (seed) => {
      const region = freshRegion();
      let state = seed;
      const draw = (below: number): number => {
        state = (state * 48_271) % 2_147_483_647;
        return state % below;
      };
      const appended: ReceiptRow[] = [];
      for (let n = 0; n < 45; n += 1) {
        const company = draw(3) === 0 ? theirs : ours;
        const given = {
          region,
          n,
          company,
          atMs: startMs + draw(8) * minuteMs + draw(59_000),
          incarnation: `i${draw(2)}`,
        };
        const step = draw(6);
        const known = appended[draw(Math.max(appended.length, 1))];
        if (step === 0 && known !== undefined) await close(store(), region, known.batch);
        else if (step === 1 && known !== undefined) await store().append(known);
        else {
          const row = servedReceipt(given);
          await store().append(row);
          appended.push(row);
        }
        if (n % 9 === 8) await expectCounted(store(), region);
      }
      await reopen();
      await expectCounted(store(), region);
      for (const { batch } of appended) await close(store(), region, batch);
      await expectCounted(store(), region);
    },
  );
}

export function retractionTests({ store, reopen, freshRegion }: ListingTested): void {
  const batchOf = (rows: readonly ReceiptRow[]): string => rows[0]?.batch ?? "";
  const appended = async (region: string): Promise<readonly [ReceiptRow, ReceiptRow]> => {
    const rows = [1, 2].map((n) => servedReceipt({ region, atMs: startMs, n }));
    for (const row of rows) await store().append(row);
    return rows as [ReceiptRow, ReceiptRow];
  };

  it("are in no batch, listing or count, and the others stay (T9)", async () => {
    const region = freshRegion();
    const [gone, stays] = await appended(region);
    for (let time = 0; time < 2; time += 1) expect(await store().retract(gone)).toBe(true);
    await reopen();
    expect(await wholeBatch(store(), region, gone.batch)).toEqual([factsOf(stays)]);
    expect(await store().readReceipt(region, gone.retrieval_id)).toBeNull();
    expect(await listAll(store(), { region })).toEqual([stays]);
    await expectCounted(store(), region);
    await close(store(), region, gone.batch);
    expect(await listAll(store(), { region })).toEqual([stays]);
    await expectCounted(store(), region);
  });

  it("do not come back with an append that is still on its way, and may never have been written (T9)", async () => {
    const region = freshRegion();
    const [late, never] = [1, 2].map((n) => servedReceipt({ region, atMs: startMs, n }));
    if (late === undefined || never === undefined) throw new Error("there are two");
    const append = store().append(late);
    expect(await store().retract(late)).toBe(true);
    expect(await store().retract(never)).toBe(true);
    await append;
    expect(await wholeBatch(store(), region, late.batch)).toEqual([]);
    expect(await listAll(store(), { region })).toEqual([]);
  });

  it("are none of a closed batch (T9)", async () => {
    const region = freshRegion();
    const rows = await appended(region);
    await close(store(), region, batchOf(rows));
    expect(await store().retract(rows[0])).toBe(false);
    expect(await wholeBatch(store(), region, batchOf(rows))).toEqual(rows.map(factsOf));
    expect(await listAll(store(), { region })).toEqual(rows);
    await expectCounted(store(), region);
  });
}
