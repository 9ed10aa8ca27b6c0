// Checkpoints off the event loop. A COMMIT that finds the log long would copy it into the file before returning, and
// everybody would wait; a dedicated thread copies it before that happens.
//   P1. It only copies what is already committed: without it, or if it fails, only time is lost.
//   P2. One thread serves all files of the process, and does not keep the process alive.
//   P3. Once `close` has returned, the thread does not touch the file: it may be moved, deleted or recreated. The thread
//       therefore opens it for one copy at a time, and only after it has found that the file is not closed; a late thread
//       would otherwise create an empty file of that name, or remove the log of whatever file has it by then.

import { Worker } from "node:worker_threads";

/** Who may touch a file: nobody does, the thread does, or the thread no longer may. */
export const fileState = { idle: 0, copying: 1, closed: 2 } as const;

export interface CheckpointOrder {
  readonly path: string;
  /** The file's {@link fileState}: one shared 32-bit integer, set by compare-and-set on both sides. */
  readonly state: Int32Array<SharedArrayBuffer>;
}

/** Number of changed rows after which the log is copied: a few megabytes of log. */
const rowsBetween = 1_000;
/** Maximum wait for a copy under way (P3); it takes that long only if the thread has died. */
const closeWaitMs = 30_000;

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
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return {
    committed: (totalChanges) => {
      if (totalChanges - copiedAt < rowsBetween) return;
      copiedAt = totalChanges;
      worker ??= startWorker();
      worker.postMessage({ path, state } satisfies CheckpointOrder);
    },
    close: () => {
      const { idle, copying, closed } = fileState;
      const endMs = performance.now() + closeWaitMs;
      while (Atomics.compareExchange(state, 0, idle, closed) === copying) {
        if (Atomics.wait(state, 0, copying, endMs - performance.now()) === "timed-out") return;
      }
    },
  };
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
