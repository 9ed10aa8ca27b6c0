// Entitlements: whether the service lets this AI company use it at an instant, by nothing but pinned anchors and the key set.
//   EN1. Whatever is wrong with one is `entitlement_invalid`; only a genuine one can be `entitlement_expired`, so that
//        nobody takes a forged one to a renewal.
//   EN2. It says whose keys these were, and not that its bearer holds one: a request that such a key signed shows that.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Entitlement, openEntitlement } from "../protocol/entitlement.ts";
import { refuse, type Verdict } from "../protocol/result.ts";
import { verifyStated } from "./service-statements.ts";
import { sandboxFault, type Trust } from "./trust.ts";

/** What an entitlement is checked against; omitted members are not compared. */
export interface EntitlementSubject {
  /** The instant (a timestamp) at which it has to be valid. */
  readonly at: string;
  /** The key that signed what came with it. */
  readonly keyId?: string;
  readonly aiCompanyUuid?: string;
}

/**
 * Verifies an entitlement, as the answer of `GET /v1/entitlement` or only the envelope in it: signed by a statement key that
 * was valid when it was issued, in the environment of the anchors, valid at `at`, of this company and key.
 * `entitlement_expired` from `valid_until` on, and `entitlement_invalid` for anything else; the detail says why.
 */
export function verifyEntitlement(
  trust: Trust,
  value: JsonValue,
  { at, keyId, aiCompanyUuid }: EntitlementSubject,
): Verdict<Entitlement> {
  const stated = verifyStated(trust, value, {
    open: openEntitlement,
    at: ({ valid_from }) => valid_from,
    beside: ["v", "sandbox"],
  });
  if (!stated.ok) return refuse("entitlement_invalid", `${stated.code}: ${stated.detail}`, stated.pointer);
  const { ai_company_uuid: uuid, key_ids: keyIds, valid_from: from, valid_until: until } = stated.value;
  const misplaced = sandboxFault(trust.anchors, stated.value.sandbox);
  if (misplaced !== null) return refuse("entitlement_invalid", `${misplaced.code}: ${misplaced.detail}`);
  if (aiCompanyUuid !== undefined && aiCompanyUuid !== uuid)
    return refuse("entitlement_invalid", `The entitlement is of company ${uuid}.`, "/ai_company_uuid");
  if (keyId !== undefined && !keyIds.includes(keyId))
    return refuse("entitlement_invalid", `The entitlement does not name key ${keyId}.`, "/key_ids");
  // Timestamps have a fixed width, so comparing them as text orders them in time.
  if (at < from)
    return refuse("entitlement_invalid", `The entitlement is valid from ${from} on.`, "/valid_from");
  return at < until
    ? stated
    : refuse("entitlement_expired", `The entitlement was valid until ${until}.`, "/valid_until");
}
