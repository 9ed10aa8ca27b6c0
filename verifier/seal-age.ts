// How old a seal is when its key ended afterwards. A thief can write anything into `sealed_at`: once a key is declared
// compromised, only what the service received before that moment is known to come from the business.

import { type Refusal, refuse } from "../protocol/result.ts";
import { earliest, type KeyWindow } from "./key-window.ts";

/** What is known about when the service received a seal. */
export interface SealAge {
  /** The time stated by a sidecar that counts; null without one. */
  readonly stated: string | null;
  /** The time in the service's own records, null if it has none; absent if the service was not asked. */
  readonly received?: { readonly at: string | null } | undefined;
}

/**
 * Null when the key has not ended, or the seal was received before the end. Otherwise a seal of a compromised key is
 * `key_compromised`. A seal of a key that was only revoked, with no claim that it was ever in other hands, is
 * `key_not_valid`, and only if the service was asked and never received it: it receives nothing from a key that is not in
 * force, and its clocks may differ by more than the moment between a receipt and a revocation.
 */
export function ageFault(
  key: KeyWindow,
  { stated, received }: SealAge,
): Refusal<"key_compromised" | "key_not_valid"> | null {
  const at = earliest(stated, received?.at ?? null);
  const isNotBefore = (end: string | null): end is string => end !== null && (at === null || at >= end);
  const why =
    at === null ? "nothing shows that the seal was received before" : `the seal was received at ${at}`;
  const { compromised_from: compromised, revoked_at: revoked = null } = key;
  if (isNotBefore(compromised))
    return refuse("key_compromised", `The key is compromised from ${compromised} on, and ${why}.`);
  return received !== undefined && at === null && revoked !== null
    ? refuse("key_not_valid", `The key was revoked at ${revoked}, and ${why}.`)
    : null;
}
