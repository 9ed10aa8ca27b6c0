// A thread that reads the row index (row-read-threads.ts).

import { parentPort, workerData } from "node:worker_threads";
import type { PackedNotes, RowReadAnswer, RowReadData, RowReadOrder } from "./row-read-threads.ts";
import { RowReader } from "./row-reader.ts";
import type { RowNote } from "./row-terms.ts";

const { path, holding } = workerData as RowReadData;

function release(): void {
  Atomics.store(holding, 0, 0);
  Atomics.notify(holding, 0);
}

/** Runs however this thread ends, unless it is killed from outside. */
process.once("exit", release);
const reader = new RowReader(path);
process.prependOnceListener("exit", () => reader.close());

function notesIn(packed: PackedNotes): readonly RowNote[] {
  return JSON.parse(Buffer.from(packed.buffer).toString()) as readonly RowNote[];
}

function answerOf(order: Extract<RowReadOrder, { readonly id: number }>): RowReadAnswer {
  const { id } = order;
  try {
    return order.kind === "search"
      ? { id, hits: reader.search(order.query) }
      : { id, count: reader.count(order.collection) };
  } catch (error) {
    return { id, error };
  }
}

parentPort?.on("message", (order: RowReadOrder) => {
  switch (order.kind) {
    case "applied":
      for (const [collection, count] of order.changes) reader.noteChanges(collection, count);
      if (order.notes !== null) reader.note(notesIn(order.notes));
      return;
    case "forget":
      reader.forgetTexts();
      return;
    case "close":
      reader.close();
      release();
      // What was just found must still be answered.
      setImmediate(() => parentPort?.close());
      return;
    default:
      parentPort?.postMessage(answerOf(order));
  }
});
