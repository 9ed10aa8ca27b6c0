// The endpoints of a business file on a page for people: whether they may be used, and what is known of their domains.

import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";
import { table } from "./page.ts";

type Endpoints = NonNullable<VerifyPageAnswer["endpoints"]>;

const statusWords: Readonly<Record<Endpoints["status"], string>> = {
  authorised: "The business authorises these addresses.",
  suspended:
    "<strong>Use none of these addresses.</strong> Control of a domain was confirmed before, and is no longer.",
};

/** Blocks of HTML. */
export function endpointBlocks({ status, items, domains = [] }: Endpoints): readonly string[] {
  // The record was judged before it was published.
  const addresses = items as readonly { readonly kind: string; readonly url: string }[];
  if (addresses.length === 0) return [];
  return [
    "<h2>Checkout, order, booking and API addresses</h2>",
    `<p>${statusWords[status]}</p>`,
    table(addresses.map(({ kind, url }) => [kind, url])),
    "<h2>Control of their domains</h2>",
    table(domains.map((each) => [each.domain, domainWords(each)])),
  ];
}

function domainWords({
  status,
  since,
  confirmed_at: confirmedAt,
}: NonNullable<Endpoints["domains"]>[number]): string {
  const last = confirmedAt === null ? "Never confirmed" : `Last confirmed at ${confirmedAt}`;
  return status === "suspended" ? `Lost at ${since ?? "an unknown time"}. ${last}.` : `${last}.`;
}
