// Thread of push.ts: inserts rows with their terms into its own file, each list in one transaction, and reports when, with the number of its flushes. As in the
// service, the threads that others wait for go first.

import { parentPort, workerData } from "node:worker_threads";
import { lowerPriority } from "../../storage/sqlite/thread-priority.ts";
import { flushCount, SyncedFile } from "./synced-file.ts";

export interface FloorRow {
  readonly record_id: string;
  readonly row: string;
  readonly texts: readonly (string | null)[];
}

lowerPriority();
const file = new SyncedFile(String(workerData));
const { db } = file;
db.exec(`PRAGMA cache_size = -65536;
  CREATE TABLE IF NOT EXISTS found (rid INTEGER PRIMARY KEY, record_id TEXT NOT NULL, row TEXT NOT NULL);
  CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(
    t0, t1, t2, t3, content='', contentless_delete=1, tokenize='ascii');`);
const putRow = db.prepare("INSERT INTO found (record_id, row) VALUES (?, ?)");
const putText = db.prepare("INSERT INTO terms (rowid, t0, t1, t2, t3) VALUES (?, ?, ?, ?, ?)");

parentPort?.on("message", (rows: readonly FloorRow[]) => {
  file.transact(() => {
    for (const { record_id: id, row, texts } of rows) {
      const { lastInsertRowid } = putRow.run(id, row);
      putText.run(lastInsertRowid, texts[0] ?? null, texts[1] ?? null, texts[2] ?? null, texts[3] ?? null);
    }
  });
  parentPort?.postMessage(flushCount());
});
