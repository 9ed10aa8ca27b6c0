// A thread that reads the row index, except that it dies when it would answer.

import { parentPort } from "node:worker_threads";

if (parentPort !== null) parentPort.postMessage = () => process.exit(1);
await import("./row-read-worker.ts");
