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

/**
 * What happens by itself at a moment: the work goes on, what failed is tried again, it fails, its time is over, or it counts as
 * stalled from then on, which changes nothing but who looks at it.
 */
export type Next = "goes_on" | "tries_again" | "fails" | "ends" | "stalls";

export interface Wait {
  /** Stable: what it waits for, as a code. `nothing` where it has come to rest for good, and `calls` where it only answers. */
  readonly code: string;
  /** One or two sentences for a person. */
  readonly words: string;
  /** What happens next by itself, and when in Unix milliseconds; null where nothing does. */
  readonly next: { readonly what: Next; readonly atMs: number } | null;
  readonly attention: { readonly reason: AttentionReason; readonly sinceMs: number | null } | null;
}

/**
 * The explanations of one kind: one for each state in which its machine can rest, by the state's path. Null for a region of the machine
 * that waits for nothing, beside those that do. It is a method's type, so that a kind's explanations take the context that its own
 * machine keeps.
 */
export type Waits<C> = Readonly<Record<string, { of(view: WaitView<C>): Wait | null }["of"]>>;

export const quiet = (): null => null;

export function wait(code: string, words: string, more: Partial<Wait> = {}): Wait {
  return { code, words, next: null, attention: null, ...more };
}

/** Null where the moment is not known. */
export function at(what: Next, ms: number | null): Wait["next"] {
  return ms === null ? null : { what, atMs: ms };
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
