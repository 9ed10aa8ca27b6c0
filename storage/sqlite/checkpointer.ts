// Checkpoints off the event loop. A COMMIT that finds the log long would copy it into the file before returning, and
// everybody would wait; a dedicated thread copies it before that happens.
//   P1. It only copies what is already committed: without it, or if it fails, only time is lost.
//   P2. One thread serves all files of the process, and does not keep the process alive.
//   P3. Once `close` has returned, the thread has released the file: it may be moved, deleted or recreated. A connection
//       left open would, being the last one, remove the log of whatever file has that name by then.

import { Worker } from "node:worker_threads";

export interface CheckpointOrder {
  readonly path: string;
  /** Orders about the file that have not been carried out yet: one shared 32-bit integer, counted down by the thread. */
  readonly open: Int32Array<SharedArrayBuffer>;
  /** Releases the file. */
  readonly close: boolean;
}

/** Number of changed rows after which the log is copied: a few megabytes of log. */
const rowsBetween = 1_000;
/** Maximum wait for the thread (P3); it takes that long only if it has died. */
const closeWaitMs = 2_000;

export interface Checkpointer {
  /** Called after each COMMIT with the number of rows changed on the connection so far. */
  committed(totalChanges: number): void;
  /** Must be called before the writer's own connection is closed, which then copies and removes the log. */
  close(): void;
}

let worker: Worker | null = null;

/** Creates the checkpointer of one store file; none of its calls fails. */
export function createCheckpointer(path: string): Checkpointer {
  let copiedAt = 0;
  let isUsed = false;
  const open = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return {
    committed: (totalChanges) => {
      if (totalChanges - copiedAt < rowsBetween) return;
      copiedAt = totalChanges;
      isUsed = true;
      order({ path, open, close: false });
    },
    close: () => {
      if (!isUsed) return;
      order({ path, open, close: true });
      const endMs = performance.now() + closeWaitMs;
      for (let left = Atomics.load(open, 0); left > 0; left = Atomics.load(open, 0)) {
        if (Atomics.wait(open, 0, left, endMs - performance.now()) === "timed-out") return;
      }
    },
  };
}

function order(message: CheckpointOrder): void {
  worker ??= startWorker();
  Atomics.add(message.open, 0, 1);
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
