// Reads the row index in dedicated threads, so that no search stops the main thread, however many rows it looks at. Each thread has
// its own connection, and its own copy of what is in memory about texts (row-reader.ts).
//   R1. What is posted to a thread is carried out in that order. So a search that is asked for after `applied` has returned finds what
//       was applied, and what is in memory about texts is noted in the order of the commits.
//   R2. A thread is told of the texts of applies from its first search with a text on: what it loads then contains all that was
//       answered before.
//   R3. When a thread ends, all that it had not answered is rejected with `IndexUnavailable`, and the next call starts another one,
//       which has loaded nothing yet.
//   R4. A search under way keeps the process alive; an idle thread does not.
//   R5. When `close` returns, everything posted is carried out and the threads have released the file. The wait is bounded; only a
//       thread that hangs is ended before that.
//   R6. Of several threads, that one is asked which has the least to do, the first of equals: so a second thread fills its memory
//       only where the first is not enough.

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { WorkerCalls, type WorkerEnded } from "../../std/worker-calls.ts";
import { indexUnavailable, type RowChange, type RowHit, type RowQuery } from "../row-index.ts";

export interface RowReadData {
  readonly path: string;
  /** One shared 32-bit integer: 1 until the thread has released the file. */
  readonly holding: Int32Array<SharedArrayBuffer>;
}

/** JSON in UTF-8 of the `RowNote`s of an apply, which no thread has to copy. */
export type PackedNotes = Uint8Array<SharedArrayBuffer>;

export type RowReadOrder =
  | { readonly kind: "search"; readonly id: number; readonly query: RowQuery }
  | { readonly kind: "count"; readonly id: number; readonly collection: string }
  | {
      readonly kind: "applied";
      /** Number of changes by collection. */
      readonly changes: ReadonlyMap<string, number>;
      /** Null where no text of these collections is in memory. */
      readonly notes: PackedNotes | null;
    }
  | { readonly kind: "forget" }
  | { readonly kind: "close" };

type NumberedOrder = Extract<RowReadOrder, { readonly id: number }>;

export type RowReadAnswer =
  | { readonly id: number; readonly hits: readonly RowHit[] }
  | { readonly id: number; readonly count: number }
  | { readonly id: number; readonly error: unknown };

export type StartRowReadThread = (data: RowReadData) => Worker;

/** More threads would each fill their own memory, and the main thread could not keep them busy. */
const threadsMax = 2;
/** Maximum wait for a thread (R5). */
const closeWaitMs = 10_000;
/** V8's default would grow to a multiple of what a search takes. */
const youngMegabytes = 8;

/** The main thread and what writes share the cores with those that read. */
export function rowReadThreads(cores: number = availableParallelism()): number {
  return Math.max(1, Math.min(threadsMax, cores - 1));
}

export class RowReadThreads {
  readonly #threads: readonly RowReadThread[];
  #isClosed = false;

  constructor(path: string, start: StartRowReadThread = startRowReadThread, count = rowReadThreads()) {
    this.#threads = Array.from({ length: count }, () => new RowReadThread(path, start));
  }

  /** Posted before this returns. Rejects with `IndexUnavailable`, or with what the search itself threw. */
  search(query: RowQuery): Promise<readonly RowHit[]> {
    return this.#ask((thread) => thread.search(query));
  }

  /** Number of rows of a collection that a search could return; rejects as a search does. */
  count(collection: string): Promise<number> {
    return this.#ask((thread) => thread.count(collection));
  }

  /** To be called once the changes are committed, in the order of the commits (R1). */
  applied(changes: readonly RowChange[], notes: PackedNotes): void {
    const counts = new Map<string, number>();
    for (const { collection } of changes) counts.set(collection, (counts.get(collection) ?? 0) + 1);
    for (const thread of this.#threads) thread.applied(counts, notes);
  }

  /** Nothing that is in memory about texts is believed any more. */
  forgetTexts(): void {
    for (const thread of this.#threads) thread.post({ kind: "forget" });
  }

  close(): void {
    this.#isClosed = true;
    for (const thread of this.#threads) thread.post({ kind: "close" });
    for (const thread of this.#threads) thread.awaitEnd();
  }

  #ask<T>(ask: (thread: RowReadThread) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(indexUnavailable("unreachable", "the row index is closed"));
    return ask(this.#threads.reduce((least, each) => (each.waiting < least.waiting ? each : least)));
  }
}

class RowReadThread {
  readonly #calls: WorkerCalls<NumberedOrder, RowReadAnswer>;
  readonly #holding = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  /** Collections of which the thread may have texts in memory (R2). */
  readonly #texts = new Set<string>();
  waiting = 0;

  constructor(path: string, start: StartRowReadThread) {
    const startHolding = (): Worker => {
      Atomics.store(this.#holding, 0, 1);
      return start({ path, holding: this.#holding });
    };
    this.#calls = new WorkerCalls("searching", startHolding, { isKept: true });
  }

  search(query: RowQuery): Promise<readonly RowHit[]> {
    const found = this.#call((id) => ({ kind: "search", id, query }), hitsIn);
    if (query.text !== undefined) this.#texts.add(query.collection);
    return found;
  }

  count(collection: string): Promise<number> {
    return this.#call((id) => ({ kind: "count", id, collection }), countIn);
  }

  applied(changes: ReadonlyMap<string, number>, notes: PackedNotes): void {
    const isNoted = changes.keys().some((collection) => this.#texts.has(collection));
    this.post({ kind: "applied", changes, notes: isNoted ? notes : null });
  }

  /** A thread that is not there needs to be told nothing. */
  post(order: RowReadOrder): void {
    this.#calls.thread?.postMessage(order);
  }

  awaitEnd(): void {
    const { thread } = this.#calls;
    if (thread === null) return;
    if (Atomics.wait(this.#holding, 0, 1, closeWaitMs) === "timed-out") void thread.terminate();
  }

  /** Posted before this returns. */
  #call<T>(orderOf: (id: number) => NumberedOrder, take: (answer: RowReadAnswer) => T): Promise<T> {
    this.waiting += 1;
    return this.#calls.call(orderOf).then(
      (answer) => {
        this.waiting -= 1;
        return take(answer);
      },
      (ended: WorkerEnded) => {
        this.waiting -= 1;
        throw indexUnavailable("unreachable", ended.message, { cause: ended });
      },
    );
  }
}

function hitsIn(answer: RowReadAnswer): readonly RowHit[] {
  if ("hits" in answer) return answer.hits;
  throw errorIn(answer);
}

function countIn(answer: RowReadAnswer): number {
  if ("count" in answer) return answer.count;
  throw errorIn(answer);
}

function errorIn(answer: RowReadAnswer): unknown {
  return "error" in answer ? answer.error : new Error("A thread answered what it was not asked.");
}

function startRowReadThread(workerData: RowReadData): Worker {
  return new Worker(new URL("./row-read-worker.ts", import.meta.url), {
    workerData,
    name: "searches",
    resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
  });
}
