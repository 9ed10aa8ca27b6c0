// How old a seal is, where its key ended afterwards. Whoever took a key writes what they like into `sealed_at`: once a key
// is said to be compromised, only what the service received before that moment is known to be the business's.

import { type Refusal, refuse } from "../protocol/result.ts";
import { earliest, type KeyWindow } from "./key-window.ts";

/** What is known of when the service received a seal. */
export interface SealAge {
  /** As a sidecar that counts states it; null without one. */
  readonly stated: string | null;
  /** As the service itself has it on record, null where it has nothing; absent where it was not asked. */
  readonly received?: { readonly at: string | null } | undefined;
}

/**
 * Null when the key did not end after the sealing, or the seal was received before. Of a key that is said to be compromised
 * everything else is `key_compromised`. Of one that was only revoked, which nobody says was ever in other hands, it is
 * `key_not_valid`, and only where the service was asked.
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
  return received !== undefined && isNotBefore(revoked)
    ? refuse("key_not_valid", `The key was revoked at ${revoked}, and ${why}.`)
    : null;
}
