// Whether the service stands behind the endpoints of a business file, from what the register says of their domains.

import type { PartyFacts } from "../actors/messages/business.ts";
import type { DomainFacts } from "../actors/messages/domains.ts";
import { parseUtf8 } from "../protocol/bytes.ts";
import { endpointDomains } from "../protocol/domain-control.ts";
import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";

/**
 * `suspended`: control of one of the domains was confirmed, and is lost. `unconfirmed`: none is lost, and one was never
 * confirmed, so the business may have named somebody else's.
 */
export type EndpointsStatus = Endpoints["status"];
type Endpoints = NonNullable<VerifyPageAnswer["endpoints"]>;

export type ShownDomain = Omit<DomainFacts, "since"> & { readonly since: string | null };

/** The domains of the endpoints in the stored bytes of a business file. */
export function domainsIn(bytes: Uint8Array): readonly string[] {
  return endpointDomains(JSON.parse(parseUtf8(bytes) ?? "null"));
}

/** What is known of each of the domains, in their order. */
export function domainsShown(
  domains: readonly string[],
  party: Pick<PartyFacts, "domains"> | null,
): readonly ShownDomain[] {
  const known = new Map(party?.domains?.map((each) => [each.domain, each]));
  return domains.map((domain) => {
    const never = { domain, status: "unconfirmed", since: null, confirmed_at: null } as const;
    return known.get(domain) ?? never;
  });
}

export function endpointsStatus(shown: readonly Pick<ShownDomain, "status">[]): EndpointsStatus {
  const worst = (["suspended", "unconfirmed"] as const).find((bad) =>
    shown.some(({ status }) => status === bad),
  );
  return worst ?? "authorised";
}

/** Since when control of all of them is confirmed without a later look; null if one was never confirmed, or if there is none. */
export function allConfirmedAt(shown: readonly Pick<ShownDomain, "confirmed_at">[]): string | null {
  const times = shown.flatMap(({ confirmed_at }) => confirmed_at ?? []);
  return times.length === 0 || times.length < shown.length ? null : (times.toSorted()[0] ?? null);
}
