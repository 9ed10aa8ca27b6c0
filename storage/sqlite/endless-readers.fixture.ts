// A thread that reads a file without end: before one read ends, the next has begun.

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const { path, isOver } = workerData as {
  readonly path: string;
  readonly isOver: Int32Array<SharedArrayBuffer>;
};
const [first, second] = [0, 1].map(() => new DatabaseSync(path, { readOnly: true }));
const begin = (db: DatabaseSync | undefined): void => {
  db?.exec("BEGIN");
  db?.prepare("SELECT count(*) FROM migration").get();
};
begin(first);
parentPort?.postMessage("reading");
while (Atomics.load(isOver, 0) === 0) {
  begin(second);
  first?.exec("COMMIT");
  begin(first);
  second?.exec("COMMIT");
}
for (const db of [first, second]) db?.close();
