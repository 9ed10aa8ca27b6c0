// Why an actor waits, in words: what the explanations of the kinds are made of. They are pure functions of what operators see.

/** What an explanation looks at. The time is not part of it: an explanation is kept until the actor changes. */
export interface WaitView<C = unknown> {
  readonly id: string;
  /** The machine's context. */
  readonly context: C;
  readonly timers: readonly { readonly id: string; readonly dueMs: number; readonly event: string }[];
}

/** What makes an actor worth a look before others. */
export type AttentionReason =
  | "quarantined"
  | "backing_off"
  | "unreadable"
  | "stalled"
  | "held"
  | "outbox_failing"
  | "index_lag"
  | "log_held"
  | "unwitnessed";

export interface Wait {
  /** Stable: what it waits for, as a code. `nothing` where it has come to rest for good, and `calls` where it only answers. */
  readonly code: string;
  /** One or two sentences for a person. */
  readonly words: string;
  /** When it goes on by itself, in Unix milliseconds; null where it does not. */
  readonly untilMs: number | null;
  readonly attention: { readonly reason: AttentionReason; readonly sinceMs: number | null } | null;
}

/**
 * The explanations of one kind: one for each state in which its machine can rest, by the state's path. It is a method's type, so
 * that a kind's explanations take the context that its own machine keeps.
 */
export type Waits<C> = Readonly<Record<string, { of(view: WaitView<C>): Wait }["of"]>>;

export function wait(code: string, words: string, more: Partial<Wait> = {}): Wait {
  return { code, words, untilMs: null, attention: null, ...more };
}

/** It rests, and only answers what it is asked. */
export function calls(words: string): () => Wait {
  return () => wait("calls", words);
}

export function over(words: string): () => Wait {
  return () => wait("nothing", words);
}

/** When the first of its timers whose name contains `part` ends; null if there is none. */
export function timerEnd({ timers }: Pick<WaitView, "timers">, ...parts: readonly string[]): number | null {
  const ends = timers.filter(({ id }) => parts.some((part) => id.includes(part))).map(({ dueMs }) => dueMs);
  return ends.length === 0 ? null : Math.min(...ends);
}

export function atTime(ms: number | null): string {
  return ms === null || !Number.isFinite(ms) ? "an unknown time" : new Date(ms).toISOString();
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
