// Requests to a worker thread, matched with their answers by number.
//   K1. Every call settles: with the thread's answer, or with {@link WorkerEnded} if the thread ended without one, or could not be
//       started.
//   K2. The first call starts the thread, and so does the first call after it has ended.
//   K3. A thread that owes an answer keeps the process alive; an idle one does not.
//   K4. The cause of its end is reported once it has ended, after all answers that it still gave.
//   K5. A thread that is not kept is ended by {@link endUnusedThreads} once nothing was asked of it between two calls of that; so what
//       it holds in memory is given back. It is kept where the thread has a state of its own.

/** The part of a thread's interface that is used here (`Worker` of node:worker_threads provides it). */
export interface WorkerThread {
  postMessage(message: unknown): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<unknown>;
  on(event: string, listener: (value: unknown) => void): unknown;
  once(event: string, listener: (value: unknown) => void): unknown;
}

export interface Numbered {
  readonly id: number;
}

/** The thread ended without answering; `cause` is null if the reason is unknown. */
export class WorkerEnded extends Error {
  override readonly name = "WorkerEnded";
}

/** Those that have a thread and may be without one (K5). */
const endable = new Set<{ endIfUnused(): void }>();

/** Ends all threads of this process that were not used since the last call (K5). */
export function endUnusedThreads(): void {
  for (const each of [...endable]) each.endIfUnused();
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: WorkerEnded) => void;
}

export class WorkerCalls<Order extends Numbered, Answer extends Numbered> {
  readonly #name: string;
  readonly #start: () => WorkerThread;
  readonly #isKept: boolean;
  #thread: WorkerThread | null = null;
  #orders = 0;
  /** Their number at the last look (K5). */
  #ordersSeen = 0;
  readonly #waiting = new Map<number, Waiting<Answer>>();

  /** `name` says what the thread does; messages use it. */
  constructor(name: string, start: () => WorkerThread, { isKept }: { readonly isKept: boolean }) {
    this.#name = name;
    this.#start = start;
    this.#isKept = isKept;
  }

  /** The thread, while there is one. */
  get thread(): WorkerThread | null {
    return this.#thread;
  }

  /** Posts the order that `orderOf` makes from its number, before this method returns. */
  call(orderOf: (id: number) => Order): Promise<Answer> {
    try {
      this.#thread ??= this.#watch(this.#start());
    } catch (error) {
      return Promise.reject(this.#ended("could not be started", error));
    }
    if (this.#waiting.size === 0) this.#thread.ref();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#orders += 1;
    this.#waiting.set(this.#orders, { resolve, reject });
    this.#thread.postMessage(orderOf(this.#orders));
    return promise;
  }

  endIfUnused(): void {
    const isUsed = this.#waiting.size > 0 || this.#orders !== this.#ordersSeen;
    this.#ordersSeen = this.#orders;
    if (isUsed) return;
    endable.delete(this);
    void this.#thread?.terminate();
    this.#thread = null;
  }

  #watch(thread: WorkerThread): WorkerThread {
    if (!this.#isKept) endable.add(this);
    let cause: unknown = null;
    thread.on("message", (answer) => this.#take(thread, answer as Answer));
    thread.once("error", (error) => {
      cause = error;
    });
    thread.once("messageerror", (error) => {
      cause = error;
      void thread.terminate();
    });
    // This event comes last of all, after the answers that were posted.
    thread.once("exit", () => {
      if (this.#thread === thread) this.#failAll(cause);
    });
    return thread;
  }

  #take(thread: WorkerThread, answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (waiting === undefined) return;
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) thread.unref();
    waiting.resolve(answer);
  }

  #failAll(cause: unknown): void {
    const lost = [...this.#waiting.values()];
    this.#thread = null;
    endable.delete(this);
    this.#waiting.clear();
    const error = this.#ended("ended", cause);
    for (const each of lost) each.reject(error);
  }

  #ended(what: string, cause: unknown): WorkerEnded {
    const why = cause === null ? "" : `: ${cause instanceof Error ? cause.message : String(cause)}`;
    return new WorkerEnded(`the ${this.#name} thread ${what}${why}`, { cause });
  }
}
