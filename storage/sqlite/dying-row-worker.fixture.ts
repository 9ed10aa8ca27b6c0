// The row index's writing thread, but it dies when it would answer: what it was told to write is committed by then.

import { parentPort } from "node:worker_threads";

if (parentPort !== null) parentPort.postMessage = () => process.exit(1);
await import("./row-worker.ts");
