// GET /v1/entitlement: what the service states about the AI company that asks.

import { envelopeShape } from "../dsse.ts";
import { entitlementMembers } from "../entitlement.ts";
import { described, namedObject, type Of } from "../shape.ts";

export const entitlementAnswer = namedObject("Entitlement", {
  ...entitlementMembers,
  statement: described(
    envelopeShape,
    "Payload type entitlement v1, over `v` and all of the above, and `sandbox` in a sandbox. Only this counts: show this, or the whole answer.",
  ),
});
export type EntitlementAnswer = Of<typeof entitlementAnswer>;
