// The row index's writing thread, except that it dies when it would answer: its writes are committed by then.

import { parentPort } from "node:worker_threads";

if (parentPort !== null) parentPort.postMessage = () => process.exit(1);
await import("./row-worker.ts");
