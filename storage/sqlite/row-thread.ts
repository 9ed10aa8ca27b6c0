// Writes the row index in a dedicated thread: changes are posted to the thread and acknowledged once they are applied.
//   W1. The thread has the only connection that writes to the file. An apply is acknowledged after the COMMIT that
//       contains it, in COMMIT order; applies that are waiting together share one COMMIT (database.ts).
//   W2. When the thread ends, every apply that it had not answered is rejected with `unknown`, and the next apply starts
//       another thread. The ended thread has released the file by then: an open transaction was rolled back.
//   W3. An apply under way keeps the process alive; an idle thread does not.
//   W4. When `close` returns, everything posted is committed and the thread has released the file: it may be moved,
//       deleted or recreated; but for a thread that was just ended because nobody used it (W7), which has nothing to write. Answers
//       still arrive afterwards. The wait is bounded; only a thread that was killed from
//       outside or hangs is not finished by then.
//   W5. At most {@link postedRowsMax} rows, or one apply, are posted and unanswered, because they are in memory twice.
//       Further applies wait here; their number is bounded by the callers, who wait for each of them
//       (actors/push/process-chunk.ts).
//   W6. A COMMIT does not wait for the disk. A loss of power may take the last ones, and leaves those before them: what is missing is
//       applied at the next start (row-index-repair.ts). What is purged is on the disk, because the copy of the log is.
//   W7. A thread that nobody used for a while is ended. It holds nothing then but its connection, and the next apply opens another.

import { Worker } from "node:worker_threads";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { WorkerCalls, type WorkerEnded } from "../../std/worker-calls.ts";
import { StoreError } from "../actor-store.ts";
import type { RowChange } from "../row-index.ts";
import type { SqliteOptions } from "./database.ts";
import type { PackedNotes } from "./row-read-threads.ts";

export interface RowThreadData {
  readonly path: string;
  readonly options: Omit<SqliteOptions, "onCommit">;
  /** One shared 32-bit integer: 1 until the thread has released the file. */
  readonly holding: Int32Array<SharedArrayBuffer>;
}

export type RowOrder =
  | { readonly kind: "apply"; readonly id: number; readonly changes: readonly RowChange[] }
  | { readonly kind: "purge"; readonly id: number; readonly collections: readonly CollectionName[] }
  | { readonly kind: "close" };

export interface ThreadApplied {
  /** Places of the changes that were stale. */
  readonly stale: readonly number[];
  readonly notes: PackedNotes;
}

export type RowAnswer =
  | { readonly id: number; readonly applied: ThreadApplied }
  /** `effect` is null for an error that is not a failure of the store. */
  | { readonly id: number; readonly effect: StoreError["effect"] | null; readonly error: unknown };

const postedRowsMax = 4_000;
/** Maximum wait for the thread (W4). */
const closeWaitMs = 10_000;
/** V8's default would grow to a multiple of what the rows of a few chunks take. */
const youngMegabytes = 8;

interface Waiting {
  readonly changes: readonly RowChange[];
  readonly resolve: (applied: ThreadApplied) => void;
  readonly reject: (error: unknown) => void;
}

type NumberedOrder = Exclude<RowOrder, { kind: "close" }>;

export type StartRowThread = (data: RowThreadData) => Worker;

export class RowThread {
  readonly #data: RowThreadData;
  readonly #calls: WorkerCalls<NumberedOrder, RowAnswer>;
  #isClosed = false;
  #postedRows = 0;
  #queue: Waiting[] = [];

  constructor(file: Pick<RowThreadData, "path" | "options">, start: StartRowThread = startRowThread) {
    const holding = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.#data = { path: file.path, options: file.options, holding };
    const startHolding = (): Worker => {
      Atomics.store(holding, 0, 1);
      return start(this.#data);
    };
    this.#calls = new WorkerCalls("writing", startHolding, { isKept: false });
  }

  /** Rejects with {@link StoreError}, or with what the write itself threw. */
  apply(changes: readonly RowChange[]): Promise<ThreadApplied> {
    if (this.#isClosed) return Promise.reject(new StoreError("not_applied", "the row index is closed"));
    const { promise, resolve, reject } = Promise.withResolvers<ThreadApplied>();
    this.#queue.push({ changes, resolve, reject });
    this.#postQueued(postedRowsMax);
    return promise;
  }

  /** Forgets what was deleted from the files (the port's X7); applies go on meanwhile. */
  async purge(collections: readonly CollectionName[]): Promise<void> {
    if (this.#isClosed) throw new StoreError("not_applied", "the row index is closed");
    const answer = await this.#calls.call((id) => ({ kind: "purge", id, collections }));
    if ("applied" in answer) return;
    throw new StoreError(answer.effect ?? "not_applied", messageOf(answer.error), { cause: answer.error });
  }

  close(): void {
    this.#isClosed = true;
    this.#postQueued(Number.POSITIVE_INFINITY);
    const { thread } = this.#calls;
    if (thread === null) return;
    thread.postMessage({ kind: "close" } satisfies RowOrder);
    if (Atomics.wait(this.#data.holding, 0, 1, closeWaitMs) === "timed-out") void thread.terminate();
  }

  #postQueued(rowsMax: number): void {
    let posted = 0;
    for (const waiting of this.#queue) {
      const { changes } = waiting;
      if (this.#postedRows > 0 && this.#postedRows + changes.length > rowsMax) break;
      this.#postedRows += changes.length;
      posted += 1;
      this.#calls
        .call((id) => ({ kind: "apply", id, changes }))
        .then(
          (answer) => this.#take(waiting, answer),
          (ended: WorkerEnded) => this.#lose(waiting, ended),
        );
    }
    this.#queue = this.#queue.slice(posted);
  }

  #take({ changes, resolve, reject }: Waiting, answer: RowAnswer): void {
    this.#postedRows -= changes.length;
    this.#postQueued(postedRowsMax);
    if ("applied" in answer) resolve(answer.applied);
    else if (answer.effect === null) reject(answer.error);
    else reject(new StoreError(answer.effect, messageOf(answer.error), { cause: answer.error }));
  }

  /** W2. Applies that were waiting for their turn fail together with the first of those that were posted. */
  #lose(waiting: Waiting, { message, cause }: WorkerEnded): void {
    this.#postedRows -= waiting.changes.length;
    const lost = [waiting, ...this.#queue];
    this.#queue = [];
    for (const each of lost) each.reject(new StoreError("unknown", message, { cause }));
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
