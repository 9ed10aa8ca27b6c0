// What only the service knows about a sealing key: whether it is live now, and who holds it. Verifiers judge the key as
// it was at sealing, and are never informed about persons.

import type { KeyFacts } from "../actors/messages/business.ts";
import { bindsBusiness } from "../actors/messages/person-role.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { windowFault } from "../verifier/key-window.ts";

/** A revoked key takes part in nothing new, whatever it sealed before; nor does one that is not valid now. */
export function judgeLive(key: KeyFacts, nowMs: number): Result<void, "key_not_valid" | "key_compromised"> {
  if (key.revoked_at !== null || key.compromised_from !== null)
    return refuse("key_not_valid", "The seal's key was revoked.");
  return windowFault(key, formatTimestamp(nowMs)) ?? ok(undefined);
}

/** Like {@link judgeLive}, for a seal that binds the whole business: a mandate or an AI policy. */
export function mayBind(
  key: KeyFacts,
  nowMs: number,
): Result<void, "key_not_valid" | "key_compromised" | "role_not_allowed"> {
  const live = judgeLive(key, nowMs);
  if (!live.ok || bindsBusiness(key)) return live;
  return refuse("role_not_allowed", "Only an owner or admin may seal mandates and AI policies.");
}
