// The instants that bound a key's validity, and what they mean for something signed at a given time.

import { type Refusal, refuse } from "../protocol/result.ts";

export interface KeyWindow {
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly revoked_at?: string | null;
  readonly compromised_from: string | null;
}

/**
 * Null when the key was valid at `at` (a timestamp). `by` is the instant by which the signature is known to have been
 * made, if that is earlier: the start of validity is judged by `at`, the end by `by`. From `compromised_from` on,
 * nothing is valid (`key_compromised`); before `valid_from`, and from `valid_until` or `revoked_at` on, the key is not
 * valid (`key_not_valid`).
 */
export function windowFault(
  key: KeyWindow,
  at: string,
  by = at,
): Refusal<"key_compromised" | "key_not_valid"> | null {
  // Timestamps have a fixed width, so comparing them as text orders them in time.
  if (key.compromised_from !== null && by >= key.compromised_from) {
    return refuse("key_compromised", `The key is compromised from ${key.compromised_from} on.`);
  }
  if (at < key.valid_from) return refuse("key_not_valid", `The key is valid from ${key.valid_from} on.`);
  const end = earliest(key.valid_until, key.revoked_at ?? null);
  return end !== null && by >= end ? refuse("key_not_valid", `The key was valid until ${end}.`) : null;
}

/** The earlier of two timestamps, where null means never. */
export function earliest(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
