// An AI company's own receipts of a month with a million of them: the first page of a window, and the usage of the month, on the
// embedded store, against bare reads of the same rows. What is exported beside the section runs in a child process.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { minuteName } from "../../actors/region/activities.ts";
import { receiptEventText } from "../../protocol/receipt.ts";
import type { Caller } from "../../service/answer.ts";
import { readOwnReceipts, readUsage } from "../../service/retrieval/own-receipts.ts";
import { positionAt, type ReceiptRow } from "../../storage/receipt-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteReceiptStore } from "../../storage/sqlite/receipt-store.ts";
import { compare, count, figure, type Measured, median, quantile, takeRounds } from "../figures.ts";
import { heldBytes, msOf } from "../work.ts";
import { numbersTo, type World } from "../world.ts";

const program = "sections/receipts.ts";

interface Month {
  readonly folder: string;
  readonly size: number;
}

export async function measureReceipts(world: World): Promise<readonly Measured[]> {
  const month = await prepareMonth(world, world.size(1_000_000, 20_000));
  const small = await prepareMonth(world, world.size(10_000, 2_000));
  const reads = world.size(500, 50);
  const slowest: number[] = [];
  const side = (name: "pages" | "bare") => async (): Promise<number> => {
    const times = await world.callIn(program, name, month, reads);
    if (name === "pages") slowest.push(quantile(times, 0.99));
    return median(times);
  };
  const rounds = await takeRounds(world.size(5, 1), { ours: side("pages"), floor: side("bare") });
  const usageMs = await Array.fromAsync({ length: world.size(5, 1) }, async () => {
    const { requests, ms } = await world.callIn(program, "usage", month);
    if (requests !== month.size) throw new Error(`the usage counts ${requests} receipts of ${month.size}`);
    return ms;
  });
  const heap = async (of: Month) => (await world.callIn(program, "heapAfter", of, reads)) / 1_000_000;
  const grown = (await heap(month)) - (await heap(small));
  const name = `first page in a month of ${count(month.size)} receipts`;
  const note =
    "Fifty receipts from anywhere in the month, one in ten of a search with fifty rows, one page after another, from the system's page cache on both sides. Ours finds them by company and instant and says of each what it is; the floor reads as many envelopes by their place in the same file.";
  const usageNote =
    "In a new process, by day, key, kind, collection and country; it counts every receipt, or the run ends.";
  const heapNote = `After as many pages of ${count(month.size)} receipts, less that of ${count(small.size)}.`;
  return [
    figure(name, "ms", compare(rounds), { atMost: 4 }, note),
    figure(`${name}, p99`, "ms", median(slowest), { atMost: 50 }, "The same pages."),
    figure("usage of the whole month", "ms", median(usageMs), { atMost: 50 }, usageNote),
    figure("heap in use, largest month less smallest", "MB", grown, { atMost: 3 }, heapNote),
  ];
}

async function prepareMonth(world: World, size: number): Promise<Month> {
  const folder = await world.prepared(`receipts-${size}`, async (made) => {
    world.say(`preparing a month of ${size} receipts`);
    await world.callIn(program, "build", { folder: made, size });
  });
  return { folder, size };
}

const region = "eu-west1";
const company = "10000000-0000-4000-8000-000000000001";
const fromMs = Date.parse("2026-03-01T00:00:00.000Z");
const monthMs = 30 * 86_400_000;
const pageSize = 50;
const atOnce = 1_000;

function instantOf(n: number, size: number): number {
  return fromMs + Math.floor((n * monthMs) / size);
}

/** One in ten is of a search with fifty rows, the others are of fetches. */
function receiptOf(n: number, size: number): ReceiptRow {
  const servedAtMs = instantOf(n, size);
  const isSearch = n % 10 === 0;
  const bytes = isSearch ? 14_000 : 1_000;
  const of = isSearch
    ? ({ type: "search", collection: "products", country: n % 20 === 0 ? "US" : "GB", rows: 50 } as const)
    : ({ type: "fetch", collection: null, country: null, rows: 1 } as const);
  const payload = Buffer.alloc(bytes, `${n} `).toString("base64").slice(0, bytes);
  return {
    region,
    company,
    key_id: `key-${n % 3}`,
    nonce: `n${n}`,
    billable: true,
    served_at_ms: servedAtMs,
    batch: `${minuteName(servedAtMs)}-i1`,
    retrieval_id: `${positionAt(servedAtMs)}${String(n).padStart(20, "0")}`,
    envelope: JSON.stringify({ payloadType: "receipt", payload, signatures: [] }),
    event: receiptEventText({ company, ...of, client_query_id: null }),
  };
}

function open(folder: string) {
  const database = SqliteDatabase.open(join(folder, "store.db"));
  const store = openSqliteReceiptStore(database);
  return { database, store, [Symbol.asyncDispose]: async (): Promise<void> => database.close() };
}

export async function build({ folder, size }: Month): Promise<void> {
  await mkdir(folder, { recursive: true });
  await using opened = open(folder);
  const { store } = opened;
  const closeBatch = async (batch: string): Promise<void> => {
    const rows = (await Array.fromAsync(store.readBatch(region, batch))).flat();
    const root = `sha256:${"0".repeat(64)}`;
    await store.closeBatch({ region, batch, root, tree_size: rows.length, closed_at_ms: 0 }, rows);
  };
  for (let from = 0; from < size; from += atOnce) {
    const rows = numbersTo(Math.min(atOnce, size - from)).map((at) => receiptOf(from + at, size));
    await Promise.all(rows.map((row) => store.append(row)));
    // Of the last minute more may come.
    const last = rows.at(-1)?.batch;
    const batches = new Set(await store.openBatches(region, "9999", atOnce));
    await Promise.all([...batches].filter((name) => name !== last).map(closeBatch));
  }
}

const caller = { party: { uuid: company } } as Caller;
const none = { to: null, key_id: null, cursor: null, limit: null, retrieval_id: null };

/** Milliseconds of each first page of a window; windows begin all over the month, in an order that has no locality. */
export async function pages({ folder, size }: Month, reads: number): Promise<readonly number[]> {
  await using opened = open(folder);
  const unused = (): never => {
    throw new Error("a list checks nothing");
  };
  const deps = { ...opened, region, trust: unused, sha256: unused, inclusion: unused };
  return await timed(size, reads, async (n) => {
    const query = { ...none, from: new Date(instantOf(n, size)).toISOString() };
    const outcome = await readOwnReceipts(deps, { caller, query });
    const first = outcome.kind === "answer" ? String(outcome.body).slice(0, 200) : "";
    if (!first.includes(positionAt(instantOf(n, size)))) throw new Error(`the page at ${n} begins otherwise`);
  });
}

/** The same of bare reads of as many envelopes, from the same file, by their place in it. */
export async function bare({ folder, size }: Month, reads: number): Promise<readonly number[]> {
  await using opened = open(folder);
  const read = opened.database.prepare(
    "SELECT envelope FROM receipt WHERE rowid >= ? ORDER BY rowid LIMIT ?",
  );
  return await timed(size, reads, async (n) => {
    const texts = read.all(n + 1, pageSize).map((row) => row["envelope"]);
    if (`{"receipts":[${texts.join(",")}]}`.length < 1_000) throw new Error(`there is no page at ${n}`);
  });
}

async function timed(size: number, reads: number, read: (n: number) => Promise<void>) {
  const starts = numbersTo(reads).map((at) => (at * 7_919 * 31 + at) % (size - 100));
  // Once, so that what both sides read is in the system's cache.
  for (const n of starts) await read(n);
  return await Array.fromAsync(starts, (n) => msOf(() => read(n)));
}

/** Milliseconds of the usage of the whole month, and the receipts that it counts. */
export async function usage({ folder }: Month) {
  await using opened = open(folder);
  const deps = { ...opened, region, clock: { now: () => fromMs + monthMs } };
  const query = { from: "2026-03-01", to: "2026-04-01", group_by: null };
  let requests = 0;
  const ms = await msOf(async () => {
    const outcome = await readUsage(deps, { caller, query });
    ({
      total: { requests },
    } = JSON.parse(String("body" in outcome ? outcome.body : "{}")));
  });
  return { ms, requests };
}

/** The heap after all these pages: what is kept whatever the month has is part of it. */
export async function heapAfter(month: Month, reads: number): Promise<number> {
  await pages(month, reads);
  return heldBytes();
}
