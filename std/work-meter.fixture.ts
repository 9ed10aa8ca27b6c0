// Counts the work of each turn of the event loop, and is a clock that moves by it: a pace that it is given to looks at work, so that what
// a test sees does not depend on the machine. For tests.

import { observeWork, type WorkKind, workCosts } from "./work.ts";

const nanosecondsPerMs = 1_000_000;

export interface TurnOfWork {
  /** What its work takes by {@link workCosts}. */
  readonly ms: number;
  readonly counts: Readonly<Partial<Record<WorkKind, number>>>;
  /** The processor time of the thread from its first work on, for calibration. */
  readonly cpuMs: number;
}

const idle: TurnOfWork = { ms: 0, counts: {}, cpuMs: 0 };

export class WorkMeter implements Disposable {
  readonly #endTurn: (run: () => void) => void;
  readonly #cpuMs: () => number;
  #total = 0;
  #begunAt: { readonly total: number; readonly cpuMs: number } | null = null;
  #counts: Partial<Record<WorkKind, number>> = {};
  #longest = idle;
  #dearest = idle;

  /** `nextTurn` runs something in the next turn of the event loop; `cpuMs` is the processor time of this thread. */
  constructor(nextTurn: (run: () => void) => void, cpuMs: () => number = () => 0) {
    this.#endTurn = nextTurn;
    this.#cpuMs = cpuMs;
    observeWork(this.#note);
  }

  /** For a pace: how much work was done so far, as time. */
  readonly nowMs = (): number => this.#total / nanosecondsPerMs;

  /** The turns of most work, and of most processor time, since the last call. */
  take(): { readonly longest: TurnOfWork; readonly dearest: TurnOfWork } {
    const found = { longest: this.#longest, dearest: this.#dearest };
    this.#longest = idle;
    this.#dearest = idle;
    return found;
  }

  [Symbol.dispose](): void {
    observeWork(null);
  }

  readonly #note = (kind: WorkKind, times: number): void => {
    if (this.#begunAt === null) {
      this.#begunAt = { total: this.#total, cpuMs: this.#cpuMs() };
      this.#endTurn(this.#end);
    }
    this.#total += workCosts[kind] * times;
    this.#counts[kind] = (this.#counts[kind] ?? 0) + times;
  };

  readonly #end = (): void => {
    const begun = this.#begunAt ?? { total: this.#total, cpuMs: 0 };
    const ms = (this.#total - begun.total) / nanosecondsPerMs;
    const turn = { ms, counts: this.#counts, cpuMs: this.#cpuMs() - begun.cpuMs };
    this.#begunAt = null;
    this.#counts = {};
    if (turn.ms > this.#longest.ms) this.#longest = turn;
    if (turn.cpuMs > this.#dearest.cpuMs) this.#dearest = turn;
  };
}
