// Requests that a worker thread answers, each by its number.
//   K1. Every call settles: with the thread's answer, or with {@link WorkerEnded} when the thread ended without one.
//   K2. The thread is started by the first call, and again by the first one after it ended.
//   K3. A thread that owes an answer keeps the process alive; one that has nothing to do does not.
//   K4. What ended it is told of once it has ended, after all answers that it still gave.

/** What is used of a thread (`Worker` of node:worker_threads has it). */
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

/** The thread ended and did not answer; `cause` is null where nothing is known of why. */
export class WorkerEnded extends Error {
  override readonly name = "WorkerEnded";
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: WorkerEnded) => void;
}

export class WorkerCalls<Order extends Numbered, Answer extends Numbered> {
  readonly #name: string;
  readonly #start: () => WorkerThread;
  #thread: WorkerThread | null = null;
  #orders = 0;
  readonly #waiting = new Map<number, Waiting<Answer>>();

  /** `name` is what the thread does, for messages. */
  constructor(name: string, start: () => WorkerThread) {
    this.#name = name;
    this.#start = start;
  }

  /** The thread, while there is one. */
  get thread(): WorkerThread | null {
    return this.#thread;
  }

  /** Posts the order that `orderOf` makes with its number, before this returns. */
  call(orderOf: (id: number) => Order): Promise<Answer> {
    this.#thread ??= this.#watch(this.#start());
    if (this.#waiting.size === 0) this.#thread.ref();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#orders += 1;
    this.#waiting.set(this.#orders, { resolve, reject });
    this.#thread.postMessage(orderOf(this.#orders));
    return promise;
  }

  #watch(thread: WorkerThread): WorkerThread {
    let cause: unknown = null;
    thread.on("message", (answer) => this.#take(thread, answer as Answer));
    thread.once("error", (error) => {
      cause = error;
    });
    thread.once("messageerror", (error) => {
      cause = error;
      void thread.terminate();
    });
    // Comes last of all, after the answers that were posted.
    thread.once("exit", () => this.#failAll(cause));
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
    this.#waiting.clear();
    const why = cause === null ? "" : `: ${cause instanceof Error ? cause.message : String(cause)}`;
    const error = new WorkerEnded(`the ${this.#name} thread ended${why}`, { cause });
    for (const each of lost) each.reject(error);
  }
}
