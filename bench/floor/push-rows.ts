// Thread of push.ts: inserts rows with their terms into its own file, each list in one transaction, and reports when. As in the service,
// the threads that others wait for go first, and the disk is not waited for: what a loss of power takes can be inserted again.

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { lowerPriority } from "../../storage/sqlite/thread-priority.ts";

export interface FloorRow {
  readonly record_id: string;
  readonly row: string;
  readonly texts: readonly (string | null)[];
}

lowerPriority();
const db = new DatabaseSync(String(workerData));
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 2048; PRAGMA cache_size = -65536;
  CREATE TABLE IF NOT EXISTS found (rid INTEGER PRIMARY KEY, record_id TEXT NOT NULL, row TEXT NOT NULL);
  CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5(
    t0, t1, t2, t3, content='', contentless_delete=1, tokenize='ascii');`);
const putRow = db.prepare("INSERT INTO found (record_id, row) VALUES (?, ?)");
const putText = db.prepare("INSERT INTO terms (rowid, t0, t1, t2, t3) VALUES (?, ?, ?, ?, ?)");

parentPort?.on("message", (rows: readonly FloorRow[]) => {
  db.exec("BEGIN IMMEDIATE");
  for (const { record_id: id, row, texts } of rows) {
    const { lastInsertRowid } = putRow.run(id, row);
    putText.run(lastInsertRowid, texts[0] ?? null, texts[1] ?? null, texts[2] ?? null, texts[3] ?? null);
  }
  db.exec("COMMIT");
  parentPort?.postMessage(null);
});
