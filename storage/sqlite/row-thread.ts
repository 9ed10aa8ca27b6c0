// The writing of the row index in a thread of its own: what is to be applied is posted there and answered when it is there.
//   W1. The thread has the only connection that writes to the file. An apply is answered after the COMMIT that holds it,
//       in the order of the COMMITs; what waits together shares one (database.ts).
//   W2. When the thread ends, whatever it had not answered is rejected with `unknown`, and the next apply starts another.
//       The ended one has let go of the file by then: an open transaction was undone.
//   W3. An apply under way keeps the process alive; a thread that has nothing to do does not.
//   W4. When `close` returned, all that was posted is committed and the thread has let go of the file: it may be moved,
//       deleted or made anew. Answers still come afterwards. The wait is bounded; only a thread that was ended from outside
//       or hangs is not ready by then.
//   W5. At most {@link postedRowsMax} rows, or one apply, are posted and not answered: they are in memory twice. Further
//       applies wait here; how many there are is bounded by whoever waits for each of them (actors/push/process-chunk.ts).

import { Worker } from "node:worker_threads";
import { StoreError } from "../actor-store.ts";
import type { RowChange } from "../row-index.ts";
import type { SqliteOptions } from "./database.ts";

/** What the thread is started with. */
export interface RowThreadData {
  readonly path: string;
  readonly options: Omit<SqliteOptions, "onCommit">;
  /** One shared 32-bit integer: 1 until the thread has let go of the file. */
  readonly holding: Int32Array<SharedArrayBuffer>;
}

export type RowOrder =
  | { readonly kind: "apply"; readonly id: number; readonly changes: readonly RowChange[] }
  | { readonly kind: "close" };

export interface ThreadApplied {
  /** Places of the changes that were stale. */
  readonly stale: readonly number[];
  /** JSON of the `RowNote`s: one text is cheaper to hand over than many objects, and seldom read. */
  readonly notes: string;
}

export type RowAnswer =
  | { readonly id: number; readonly applied: ThreadApplied }
  /** `effect` is null for what is no failure of the store. */
  | { readonly id: number; readonly effect: StoreError["effect"] | null; readonly error: unknown };

const postedRowsMax = 4_000;
/** How long the thread is waited for (W4). */
const closeWaitMs = 10_000;
/** V8's own choice grows to a multiple of what the rows of a few chunks take. */
const youngMegabytes = 8;

interface Waiting {
  readonly changes: readonly RowChange[];
  readonly resolve: (applied: ThreadApplied) => void;
  readonly reject: (error: unknown) => void;
}

export type StartRowThread = (data: RowThreadData) => Worker;

export class RowThread {
  readonly #data: RowThreadData;
  readonly #start: StartRowThread;
  #worker: Worker | null = null;
  #isClosed = false;
  #orders = 0;
  #postedRows = 0;
  readonly #posted = new Map<number, Waiting>();
  #queue: Waiting[] = [];

  constructor(file: Pick<RowThreadData, "path" | "options">, start: StartRowThread = startRowThread) {
    const holding = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.#data = { path: file.path, options: file.options, holding };
    this.#start = start;
  }

  /** Rejects with {@link StoreError}, or with what the writing itself threw. */
  apply(changes: readonly RowChange[]): Promise<ThreadApplied> {
    if (this.#isClosed) return Promise.reject(new StoreError("not_applied", "the row index is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<ThreadApplied>();
    this.#queue.push({ changes, resolve, reject });
    this.#postQueued(postedRowsMax);
    return promise;
  }

  close(): void {
    this.#isClosed = true;
    this.#postQueued(Number.POSITIVE_INFINITY);
    const worker = this.#worker;
    if (worker === null) return;
    worker.postMessage({ kind: "close" } satisfies RowOrder);
    if (Atomics.wait(this.#data.holding, 0, 1, closeWaitMs) === "timed-out") void worker.terminate();
  }

  #postQueued(rowsMax: number): void {
    let posted = 0;
    for (const waiting of this.#queue) {
      const rows = waiting.changes.length;
      if (this.#postedRows > 0 && this.#postedRows + rows > rowsMax) break;
      this.#worker ??= this.#startWorker();
      // A thread that was idle keeps the process alive again (W3).
      if (this.#posted.size === 0) this.#worker.ref();
      this.#orders += 1;
      this.#posted.set(this.#orders, waiting);
      this.#postedRows += rows;
      posted += 1;
      const order: RowOrder = { kind: "apply", id: this.#orders, changes: waiting.changes };
      this.#worker.postMessage(order);
    }
    this.#queue = this.#queue.slice(posted);
  }

  #startWorker(): Worker {
    Atomics.store(this.#data.holding, 0, 1);
    const worker = this.#start(this.#data);
    let cause: unknown = null;
    worker.on("message", (answer: RowAnswer) => this.#take(worker, answer));
    worker.once("error", (error) => {
      cause = error;
    });
    worker.once("messageerror", (error) => {
      cause = error;
      void worker.terminate();
    });
    // Comes last of all, after the answers that were posted, when the thread's connection is gone.
    worker.once("exit", () => this.#failAll(cause));
    return worker;
  }

  #take(worker: Worker, answer: RowAnswer): void {
    const waiting = this.#posted.get(answer.id);
    if (waiting === undefined) return;
    this.#posted.delete(answer.id);
    this.#postedRows -= waiting.changes.length;
    this.#postQueued(postedRowsMax);
    if (this.#posted.size === 0) worker.unref();
    if ("applied" in answer) waiting.resolve(answer.applied);
    else if (answer.effect === null) waiting.reject(answer.error);
    else waiting.reject(new StoreError(answer.effect, messageOf(answer.error), { cause: answer.error }));
  }

  #failAll(cause: unknown): void {
    const lost = [...this.#posted.values(), ...this.#queue];
    this.#worker = null;
    this.#posted.clear();
    this.#postedRows = 0;
    this.#queue = [];
    const why = cause === null ? "" : `: ${messageOf(cause)}`;
    const error = new StoreError("unknown", `the writing thread ended${why}`, { cause });
    for (const waiting of lost) waiting.reject(error);
  }
}

function startRowThread(workerData: RowThreadData): Worker {
  return new Worker(new URL("./row-worker.ts", import.meta.url), {
    workerData,
    name: "rows",
    resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
