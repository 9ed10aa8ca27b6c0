// Entitlement: the service's statement that an AI company may use it, for a short time: who the company is, by which keys it
// asks, and under which terms. Anyone who is shown one can check it offline.

import { type Envelope, malformed, openPayload, type PayloadOf, payloadTypes, soleFormat } from "./dsse.ts";
import { parseTimestamp } from "./identifiers.ts";
import type { Verdict } from "./reason-codes.ts";
import {
  described,
  distinct,
  hash,
  keyId,
  literal,
  nullable,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
} from "./shape.ts";
import { agreement } from "./wire/terms.ts";

/** From `valid_from` to `valid_until`; a longer one is malformed. */
export const entitlementLifeMaxMs = 86_400_000;
/** The most keys that one names. */
export const entitlementKeysMax = 100;

/** What an entitlement says. The answer of the service and its statement have the same. */
export const entitlementMembers = {
  ai_company_uuid: uuid,
  legal_name: described(text(256), "As on the company's certificate."),
  cert_id: described(hash, "The certificate in force when the entitlement was issued."),
  key_ids: described(
    distinct(keyId, { min: 1, max: entitlementKeysMax }),
    "The keys of the company that were in force then; the newest, if it has more than can be named, and always the one that asked.",
  ),
  terms: described(
    nullable(object(agreement)),
    "The version of the terms in force then, to which the company agreed; null where the operator publishes none.",
  ),
  billing: described(
    oneOf(["prepaid", "none"]),
    "`prepaid`: answers are paid for in advance, and none is served beyond that. `none`: answers cost nothing.",
  ),
  valid_from: described(timestamp, "When it was issued."),
  valid_until: described(
    timestamp,
    "From here on it says nothing: 24 hours later at most, and not beyond the next version of the terms.",
  ),
};

export const entitlementFormat = soleFormat(
  object({ v: literal(1), ...entitlementMembers, sandbox: optional(literal(true)) }),
);
export type Entitlement = PayloadOf<typeof entitlementFormat>;

/** Opens an entitlement's envelope. It only reads: the signature is not verified. */
export function openEntitlement(envelope: Envelope): Verdict<Entitlement> {
  const parsed = openPayload(envelope, payloadTypes["entitlement.v1"], entitlementFormat);
  if (!parsed.ok) return parsed;
  const { valid_from: from, valid_until: until } = parsed.value;
  const lifeMs = (parseTimestamp(until) ?? 0) - (parseTimestamp(from) ?? 0);
  return lifeMs > 0 && lifeMs <= entitlementLifeMaxMs
    ? parsed
    : malformed("An entitlement must end after it begins, and at most 24 hours later.", "/valid_until");
}
