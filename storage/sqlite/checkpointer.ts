// Checkpoints off the event loop. A COMMIT that finds the log long would copy it into the file before it returns, and
// everybody would wait; a thread of its own copies it before that.
//   P1. It only copies what is committed already: without it, or if it fails, nothing but time is lost.
//   P2. One thread serves all files of the process, and keeps no process alive.

import { Worker } from "node:worker_threads";

export interface CheckpointOrder {
  readonly path: string;
  /** Lets go of the file. */
  readonly close: boolean;
}

/** Changed rows after which the log is copied: a few megabytes of it. */
const rowsBetween = 1_000;

export interface Checkpointer {
  /** Told after each COMMIT with the rows changed on the connection so far. */
  committed(totalChanges: number): void;
  close(): void;
}

let worker: Worker | null = null;

/** A checkpointer of one store file; none of its calls fails or waits. */
export function createCheckpointer(path: string): Checkpointer {
  let copiedAt = 0;
  let isUsed = false;
  return {
    committed: (totalChanges) => {
      if (totalChanges - copiedAt < rowsBetween) return;
      copiedAt = totalChanges;
      isUsed = true;
      order({ path, close: false });
    },
    close: () => {
      if (isUsed) order({ path, close: true });
    },
  };
}

function order(message: CheckpointOrder): void {
  worker ??= startWorker();
  worker.postMessage(message);
}

function startWorker(): Worker {
  const started = new Worker(new URL("./checkpoint-worker.ts", import.meta.url));
  started.unref();
  const forget = (): void => {
    if (worker === started) worker = null;
  };
  started.once("error", forget);
  started.once("exit", forget);
  return started;
}
