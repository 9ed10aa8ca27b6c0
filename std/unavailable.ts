/** What is told of something that cannot be done now: the plain members of {@link Unavailable}, as they cross between nodes. */
export interface UnavailableFacts<Reason extends string = string> {
  /** Whether what was asked for has happened: certainly not, or nobody can say. */
  readonly effect: "not_applied" | "unknown";
  /** A word for programs; which words there are, those who throw it say. */
  readonly reason: Reason;
  readonly retryAfterSeconds: number;
}

/** Something cannot be done now, and may be later: the same request may be made again. */
export class Unavailable<Reason extends string = string> extends Error implements UnavailableFacts<Reason> {
  readonly effect: UnavailableFacts["effect"];
  readonly reason: Reason;
  readonly retryAfterSeconds: number;

  constructor(message: string, facts: UnavailableFacts<Reason>, options?: ErrorOptions) {
    super(message, options);
    this.name = "Unavailable";
    this.effect = facts.effect;
    this.reason = facts.reason;
    this.retryAfterSeconds = facts.retryAfterSeconds;
  }
}

/** The facts of an {@link Unavailable}, or of a plain value that has its members; null for anything else. */
export function unavailableFacts(value: unknown): UnavailableFacts | null {
  const { effect, reason, retryAfterSeconds } = Object(value) as Partial<Record<string, unknown>>;
  if (typeof reason !== "string" || (effect !== "not_applied" && effect !== "unknown")) return null;
  // Who does not say when is asked again soon.
  const isTime = typeof retryAfterSeconds === "number" && retryAfterSeconds >= 0;
  return { effect, reason, retryAfterSeconds: isTime ? retryAfterSeconds : 1 };
}
