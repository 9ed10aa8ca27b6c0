// Hold decisions: what an owner or admin of a business decided about a held push.

import type { BusinessKeys } from "../protocol/business-keys.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { type HoldDecision, openHoldDecision } from "../protocol/hold-decision.ts";
import { refuse, type Verdict } from "../protocol/result.ts";
import { verifySealer } from "./business-keys.ts";
import { windowFault } from "./key-window.ts";
import type { Trust } from "./trust.ts";

/**
 * Verifies a decision on a hold: it must be sealed by a passkey of the business, under any anchors, that was valid at `at`.
 * What only the service knows (the person's role, whether it accepted the decision) is not judged.
 */
export function verifyHoldDecision(
  trust: Trust,
  keys: BusinessKeys,
  value: JsonValue,
): Verdict<HoldDecision> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const decision = openHoldDecision(envelope.value);
  if (!decision.ok) return decision;
  const sealer = verifySealer(trust, keys, envelope.value, { keyId: null, kinds: ["passkey"] });
  if (!sealer.ok) return sealer;
  const fault = windowFault(sealer.value, decision.value.at);
  if (fault !== null) return fault;
  return decision.value.business_uuid === keys.uuid
    ? decision
    : refuse("out_of_scope", "The decision is another business's.");
}
