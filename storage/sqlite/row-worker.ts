// The thread of the row index's writer (row-thread.ts).

import { parentPort, workerData } from "node:worker_threads";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { StoreError } from "../actor-store.ts";
import type { RowChange } from "../row-index.ts";
import { SqliteDatabase } from "./database.ts";
import { mergeTexts } from "./row-purge.ts";
import type { RowAnswer, RowOrder, RowThreadData } from "./row-thread.ts";
import { RowWriter } from "./row-writer.ts";
import { lowerPriority } from "./thread-priority.ts";

lowerPriority();
const { path, options, holding } = workerData as RowThreadData;
const cacheKilobytes = 8_192;

/** Runs however this thread ends, unless it is killed from outside. */
process.once("exit", () => {
  Atomics.store(holding, 0, 0);
  Atomics.notify(holding, 0);
});
const database = SqliteDatabase.open(path, { ...options, cacheKilobytes, checkpoints: "self" });
process.prependOnceListener("exit", () => database.close());
const writer = new RowWriter(database);

async function purgeAnswer(id: number, collections: readonly CollectionName[]): Promise<RowAnswer> {
  try {
    for (const collection of collections) await mergeTexts(database, collection);
    await database.overwriteUnused();
    return { id, applied: { stale: [], notes: "[]" } };
  } catch (error) {
    return { id, effect: error instanceof StoreError ? error.effect : null, error };
  }
}

async function answerOf(id: number, changes: readonly RowChange[]): Promise<RowAnswer> {
  try {
    const { outcomes, notes } = await database.write(() => writer.applyAll(changes));
    const stale = [...outcomes.keys()].filter((place) => outcomes[place] === "stale");
    return { id, applied: { stale, notes: JSON.stringify(notes) } };
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
