/**
 * Facts about an operation that is temporarily impossible: the plain members of {@link Unavailable}, as they cross between
 * nodes.
 */
export interface UnavailableFacts<Reason extends string = string> {
  /** Whether the requested effect has happened: certainly not, or nobody can say. */
  readonly effect: "not_applied" | "unknown";
  /** A machine-readable word; the code that throws it defines the possible values. */
  readonly reason: Reason;
  readonly retryAfterSeconds: number;
}

/** Something cannot be done now but may be possible later: the same request may be retried. */
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
  // If no time is given, the caller retries soon.
  const isTime = typeof retryAfterSeconds === "number" && retryAfterSeconds >= 0;
  return { effect, reason, retryAfterSeconds: isTime ? retryAfterSeconds : 1 };
}
