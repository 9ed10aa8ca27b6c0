// Mandates: the authority under which an integration key made a seal.

import { parseEnvelope } from "../protocol/dsse.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import { windowFault } from "../protocol/keys/signatures.ts";
import { type Mandate, openMandate } from "../protocol/mandate.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { type Refusal, refuse } from "../protocol/result.ts";
import { verifySealer } from "./business-keys.ts";
import type { Trust } from "./trust.ts";

/**
 * A mandate is sealed by a person; only in the sandbox may the service do it for the business, so that trying it out
 * needs no portal.
 */
const mandateSealers = { production: ["passkey"], sandbox: ["passkey", "hosted"] } as const;

/**
 * Verifies a mandate: it must be sealed by a passkey of the business (under sandbox anchors a hosted key is also
 * allowed) that was valid at `valid_from`. A mandate signed by a machine's key is `key_unknown`; one changed after
 * sealing is `signature_invalid`.
 */
export function verifyMandate(trust: Trust, keys: BusinessKeys, value: JsonValue): Verdict<Mandate> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const mandate = openMandate(envelope.value);
  if (!mandate.ok) return mandate;
  const kinds = mandateSealers[trust.anchors.environment];
  const sealer = verifySealer(trust, keys, envelope.value, { keyId: null, kinds });
  if (!sealer.ok) return sealer;
  const fault = windowFault(sealer.value, mandate.value.valid_from);
  if (fault !== null) return fault;
  return mandate.value.business_uuid === keys.uuid
    ? mandate
    : refuse("out_of_scope", "The mandate is another business's.");
}

/** Null unless the mandate was revoked by the instant by which a seal under it was made. */
export function mandateEndFault(revokedAt: string | null, by: string): Refusal<"out_of_scope"> | null {
  return revokedAt !== null && by >= revokedAt
    ? refuse("out_of_scope", `The mandate was revoked at ${revokedAt}.`)
    : null;
}
