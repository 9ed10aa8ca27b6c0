// The instants that bound a key, and what they say about something signed at a given one.

import { type Refusal, refuse } from "../protocol/result.ts";

export interface KeyWindow {
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly revoked_at?: string | null;
  readonly compromised_from: string | null;
}

/**
 * Null when the key stood at `at` (a timestamp); `by` is the instant by which the signature is known to have been made,
 * where that is earlier: what began is judged by the former, what ended by the latter. From `compromised_from` on nothing stands (`key_compromised`); before
 * `valid_from`, and from `valid_until` or `revoked_at` on, the key was not valid (`key_not_valid`).
 */
export function windowFault(
  key: KeyWindow,
  at: string,
  by = at,
): Refusal<"key_compromised" | "key_not_valid"> | null {
  // Timestamps are of one fixed width, so their text orders as their instants do.
  if (key.compromised_from !== null && by >= key.compromised_from) {
    return refuse("key_compromised", `The key is compromised from ${key.compromised_from} on.`);
  }
  if (at < key.valid_from) return refuse("key_not_valid", `The key is valid from ${key.valid_from} on.`);
  const end = earliest(key.valid_until, key.revoked_at ?? null);
  return end !== null && by >= end ? refuse("key_not_valid", `The key was valid until ${end}.`) : null;
}

/** The earlier of two timestamps, where null is never. */
export function earliest(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}
