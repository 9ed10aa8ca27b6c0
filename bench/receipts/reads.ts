// In a child process: reads of an AI company's own receipts on the embedded store, and bare reads of the same rows.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { minuteName } from "../../actors/region/minute-name.ts";
import { receiptEventText } from "../../protocol/receipt-event.ts";
import type { Caller } from "../../service/caller.ts";
import { readOwnReceipts } from "../../service/own-receipts.ts";
import { readUsage } from "../../service/usage.ts";
import { positionAt, type ReceiptRow } from "../../storage/receipt-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteReceiptStore } from "../../storage/sqlite/receipt-store.ts";
import { heldBytes, msOf } from "../work.ts";

export interface ReceiptsLoad {
  readonly folder: string;
  /** Receipts of the month. */
  readonly size: number;
}

export interface PagesLoad extends ReceiptsLoad {
  /** Places in the month at which the windows begin, as numbers of the receipt. */
  readonly starts: readonly number[];
}

const region = "eu-west1";
const company = "10000000-0000-4000-8000-000000000001";
const fromMs = Date.parse("2026-03-01T00:00:00.000Z");
const monthMs = 30 * 86_400_000;
const pageSize = 50;
/** One in ten is of a search with fifty rows, the others are of fetches. */
const envelopeBytes = (n: number): number => (n % 10 === 0 ? 14_000 : 1_000);
const atOnce = 1_000;

function instantOf(n: number, size: number): number {
  return fromMs + Math.floor((n * monthMs) / size);
}

function receiptOf(n: number, size: number): ReceiptRow {
  const servedAtMs = instantOf(n, size);
  const isSearch = n % 10 === 0;
  const of = isSearch
    ? ({ type: "search", collection: "products", country: n % 20 === 0 ? "US" : "GB", rows: 50 } as const)
    : ({ type: "fetch", collection: null, country: null, rows: 1 } as const);
  const payload = Buffer.alloc(envelopeBytes(n), `${n} `).toString("base64").slice(0, envelopeBytes(n));
  return {
    ...{ region, company, key_id: `key-${n % 3}`, nonce: `n${n}`, billable: true, served_at_ms: servedAtMs },
    batch: `${minuteName(servedAtMs)}-i1`,
    retrieval_id: `${positionAt(servedAtMs)}${String(n).padStart(20, "0")}`,
    envelope: JSON.stringify({ payloadType: "receipt", payload, signatures: [] }),
    event: receiptEventText({ company, ...of, client_query_id: null }),
  };
}

/** Writes a month of receipts, and closes their batches, as a region does. */
export async function build({ folder, size }: ReceiptsLoad): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using opened = open(folder);
  const { store } = opened;
  for (let from = 0; from < size; from += atOnce) {
    const rows = Array.from({ length: Math.min(atOnce, size - from) }, (_, at) => receiptOf(from + at, size));
    await Promise.all(rows.map((row) => store.append(row)));
    // Of the last minute more may come.
    const last = rows.at(-1)?.batch;
    const batches = new Set(
      (await store.openBatches(region, "9999", atOnce)).filter((name) => name !== last),
    );
    await Promise.all([...batches].map((batch) => close(store, batch)));
  }
}

async function close(store: ReturnType<typeof openSqliteReceiptStore>, batch: string): Promise<void> {
  const rows = (await Array.fromAsync(store.readBatch(region, batch))).flat();
  const root = `sha256:${"0".repeat(64)}`;
  await store.closeBatch({ region, batch, root, tree_size: rows.length, closed_at_ms: 0 }, rows);
}

const caller = { party: { uuid: company } } as Caller;
const none = { to: null, key_id: null, cursor: null, limit: null, retrieval_id: null };

/** Milliseconds of each first page of a window, in the order of the starts. */
export async function pages({ folder, size, starts }: PagesLoad): Promise<readonly number[]> {
  await using opened = open(folder);
  const deps = { ...opened, region, trust: unused, sha256: unused, inclusion: unused };
  const read = (n: number) =>
    readOwnReceipts(deps, { caller, query: { ...none, from: new Date(instantOf(n, size)).toISOString() } });
  return await timed(starts, async (n) => {
    const outcome = await read(n);
    const first = outcome.kind === "answer" ? String(outcome.body).slice(0, 200) : "";
    if (!first.includes(positionAt(instantOf(n, size)))) throw new Error(`the page at ${n} begins otherwise`);
  });
}

/** The same of bare reads of as many envelopes, from the same file, by their place in it. */
export async function bare({ folder, starts }: PagesLoad): Promise<readonly number[]> {
  await using opened = open(folder);
  const read = opened.database.prepare(
    "SELECT envelope FROM receipt WHERE rowid >= ? ORDER BY rowid LIMIT ?",
  );
  return await timed(starts, async (n) => {
    const texts = read.all(n + 1, pageSize).map((row) => row["envelope"]);
    if (`{"receipts":[${texts.join(",")}]}`.length < 1_000) throw new Error(`there is no page at ${n}`);
  });
}

async function timed(starts: readonly number[], read: (n: number) => Promise<void>) {
  // Once, so that what both sides read is in the system's cache.
  for (const n of starts) await read(n);
  const times: number[] = [];
  for (const n of starts) times.push(await msOf(() => read(n)));
  return times;
}

/** Milliseconds of the usage of the whole month, and the receipts that it counts. */
export async function usage({ folder }: ReceiptsLoad) {
  await using opened = open(folder);
  const deps = { ...opened, region, clock: { now: () => fromMs + monthMs } };
  const query = { from: "2026-03-01", to: "2026-04-01", group_by: null };
  const startedMs = performance.now();
  const outcome = await readUsage(deps, { caller, query });
  const ms = performance.now() - startedMs;
  const { total } = JSON.parse(String("body" in outcome ? outcome.body : "{}")) as {
    total: { requests: number };
  };
  return { ms, requests: total.requests };
}

/** The heap after all these pages: what is kept whatever the month has is part of it. */
export async function heapAfter(load: PagesLoad): Promise<number> {
  await pages(load);
  return heldBytes();
}

function unused(): never {
  throw new Error("a list checks nothing");
}

function open(folder: string) {
  const database = SqliteDatabase.open(join(folder, "store.db"));
  const store = openSqliteReceiptStore(database);
  return { database, store, [Symbol.asyncDispose]: async (): Promise<void> => database.close() };
}
