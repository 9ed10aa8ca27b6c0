// Checkpoints off the event loop. A COMMIT that finds the log long would copy it into the file before it returns, and
// everybody would wait; a thread of its own copies it before that.
//   P1. It only copies what is committed already: without it, or if it fails, nothing but time is lost.
//   P2. One thread serves all files of the process, and keeps no process alive.
//   P3. When `close` returned, the thread has let go of the file: it may be moved, deleted or made anew. A connection
//       left behind would, as the last, remove the log of whatever file has that name by then.

import { Worker } from "node:worker_threads";

export interface CheckpointOrder {
  readonly path: string;
  /** Orders about the file that are not carried out yet: one shared 32-bit integer, counted down by the thread. */
  readonly open: Int32Array<SharedArrayBuffer>;
  /** Lets go of the file. */
  readonly close: boolean;
}

/** Changed rows after which the log is copied: a few megabytes of it. */
const rowsBetween = 1_000;
/** How long the thread is waited for (P3); it is that late only when it died. */
const closeWaitMs = 2_000;

export interface Checkpointer {
  /** Told after each COMMIT with the rows changed on the connection so far. */
  committed(totalChanges: number): void;
  /** To be called before the writer's own connection is closed, which then copies and removes the log. */
  close(): void;
}

let worker: Worker | null = null;

/** A checkpointer of one store file; none of its calls fails. */
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
