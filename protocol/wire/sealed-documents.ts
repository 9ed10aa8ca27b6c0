// What persons of a business seal about the business itself, as its system delivers it: mandates, and requests for custody statements.

import { envelopeShape } from "../dsse.ts";
import { mandateDaysMax } from "../limits.ts";
import { mandateScope } from "../mandate.ts";
import { anyText, described, keyId, listOf, named, type Of, object, timestamp } from "../shape.ts";

/** The body of POST /v1/mandates. */
export const sealedMandateRequest = named(
  "SealedMandate",
  object({
    mandate: described(
      envelopeShape,
      `A mandate (\`GET /v1/payloads/mandate/1\`) of at most ${mandateDaysMax} days, sealed by the passkey of an owner or admin.`,
    ),
  }),
);

const validity = { valid_from: timestamp, valid_until: timestamp };

export const acceptedMandate = named(
  "AcceptedMandate",
  object({
    mandate_id: anyText,
    key_id: described(keyId, "The integration key that may publish under it."),
    valid_from: timestamp,
    valid_until: timestamp,
    beside: described(
      listOf(named("BesideMandate", object({ mandate_id: anyText, scope: mandateScope, ...validity }))),
      "The other mandates of the key that have neither ended nor been revoked, the newest first: it replaces none of them.",
    ),
  }),
);
export type AcceptedMandate = Of<typeof acceptedMandate>;

/** The body of POST /v1/key-custody. */
export const sealedCustodyRequest = named(
  "SealedCustodyRequest",
  object({
    request: described(
      envelopeShape,
      "A request for a custody statement (`GET /v1/payloads/custody-request/1`), sealed by the passkey of an owner or admin.",
    ),
  }),
);
