// The thread of the row index's writer (row-thread.ts).

import { parentPort, workerData } from "node:worker_threads";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { StoreError } from "../actor-store.ts";
import type { RowChange } from "../row-index.ts";
import { SqliteDatabase } from "./database.ts";
import { layoutOf } from "./row-layout.ts";
import type { PackedNotes } from "./row-read-threads.ts";
import type { RowNote } from "./row-terms.ts";
import type { RowAnswer, RowOrder, RowThreadData } from "./row-thread.ts";
import { RowWriter } from "./row-writer.ts";
import { lowerPriority } from "./thread-priority.ts";

// FTS5 only marks what is deleted: the terms of a deleted text stay in its segments until these are merged into one. Merging is
// done in steps, each its own transaction, so that rows are written in between. The spellings that no text has are removed then.

/** Pages written in one step. */
const pagesAtOnce = 500;
/** Spellings looked at in one step. */
const spellingsAtOnce = 500;
/** A merge that had nothing left to do changes fewer rows than this (sqlite.org/fts5.html, «The 'merge' Command»). */
const changesOfNothing = 2;

/** Merges the text indexes of a collection, so that only what is in its rows is left in them. */
async function mergeTexts(database: SqliteDatabase, collection: CollectionName): Promise<void> {
  const { text, key } = layoutOf(collection);
  for (const table of [text, key]) {
    // A negative number first makes all segments parts of one merge; a positive one continues it.
    let pages = -pagesAtOnce;
    for (;;) {
      const changes = await database.write(() => merge(database, table, pages));
      if (changes < changesOfNothing) break;
      pages = pagesAtOnce;
    }
  }
  await forgetSpellings(database, collection);
}

async function forgetSpellings(database: SqliteDatabase, collection: CollectionName): Promise<void> {
  const { spellings, vocabulary } = layoutOf(collection);
  const readLast = database.prepare(
    `SELECT max(term) AS last FROM (SELECT term FROM ${spellings} WHERE term > ? ORDER BY term LIMIT ${spellingsAtOnce})`,
  );
  const forget = database.prepare(
    `DELETE FROM ${spellings} WHERE term > ? AND term <= ? AND NOT EXISTS (SELECT 1 FROM ${vocabulary} v WHERE v.term = ${spellings}.term)`,
  );
  for (let after = ""; ; ) {
    const last = readLast.get(after)?.["last"];
    if (typeof last !== "string") return;
    const from = after;
    await database.write(() => forget.get(from, last));
    after = last;
  }
}

function merge(database: SqliteDatabase, table: string, pages: number): number {
  const changes = () => Number(database.prepare("SELECT total_changes() AS n").get()?.["n"]);
  const before = changes();
  // Not `run`, as in row-writer.ts.
  database.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`).get(pages);
  const made = changes() - before;
  database.prepare("INSERT OR REPLACE INTO row_touch (one) VALUES (1)").get();
  return made;
}

// What the thread does.

lowerPriority();
const { path, options, holding } = workerData as RowThreadData;
const cacheKilobytes = 8_192;

/** Runs however this thread ends, unless it is killed from outside. */
process.once("exit", () => {
  Atomics.store(holding, 0, 0);
  Atomics.notify(holding, 0);
});
const database = SqliteDatabase.open(path, {
  ...options,
  cacheKilobytes,
  checkpoints: "self",
  // W6.
  synchronous: "NORMAL",
});
process.prependOnceListener("exit", () => database.close());
const writer = new RowWriter(database);

function packed(notes: readonly RowNote[]): PackedNotes {
  const bytes = Buffer.from(JSON.stringify(notes));
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}

async function purgeAnswer(id: number, collections: readonly CollectionName[]): Promise<RowAnswer> {
  try {
    for (const collection of collections) await mergeTexts(database, collection);
    await database.overwriteUnused();
    return { id, applied: { stale: [], notes: packed([]) } };
  } catch (error) {
    return { id, effect: error instanceof StoreError ? error.effect : null, error };
  }
}

async function answerOf(id: number, changes: readonly RowChange[]): Promise<RowAnswer> {
  try {
    const { outcomes, notes } = await database.write(() => writer.applyAll(changes));
    const stale = [...outcomes.keys()].filter((place) => outcomes[place] === "stale");
    return { id, applied: { stale, notes: packed(notes) } };
  } catch (error) {
    return { id, effect: error instanceof StoreError ? error.effect : null, error };
  }
}

parentPort?.on("message", async (order: RowOrder) => {
  if (order.kind === "purge") {
    parentPort?.postMessage(await purgeAnswer(order.id, order.collections));
    return;
  }
  if (order.kind === "apply") {
    parentPort?.postMessage(await answerOf(order.id, order.changes));
    return;
  }
  database.close();
  Atomics.store(holding, 0, 0);
  Atomics.notify(holding, 0);
  // What was just committed must still be acknowledged.
  setImmediate(() => parentPort?.close());
});
