// The endpoints of a business file on a page for people: whether they may be used, and what is known of their domains.

import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";
import { code, type Html, table, time, verdict } from "./page.ts";

type Endpoints = NonNullable<VerifyPageAnswer["endpoints"]>;
type Domain = NonNullable<Endpoints["domains"]>[number];

const suspendedWords = "Control of one of their domains was confirmed before, and is no longer.";

/** Blocks of HTML. */
export function endpointBlocks({
  status,
  items,
  domains = [],
  domains_confirmed_at,
}: Endpoints): readonly string[] {
  // The record was judged before it was published.
  const addresses = items as readonly {
    readonly kind: string;
    readonly url: string;
    readonly description?: string;
  }[];
  if (addresses.length === 0) return [];
  return [
    "<h2>Checkout, order, booking and API addresses</h2>",
    status === "authorised"
      ? "<p>The business authorises these addresses.</p>"
      : verdict("bad", "Use none of these addresses: they are suspended", suspendedWords),
    // Not links: what they lead to is the business's.
    table(
      addresses.map(({ kind, url, description }) => [
        description === undefined ? kind : `${kind}: ${description}`,
        code(url),
      ]),
    ),
    "<h2>Control of their domains</h2>",
    table([
      ...domains.map((each) => [each.domain, domainWords(each)] as const),
      ["All confirmed at", time(domains_confirmed_at, "Not all of them were ever confirmed.")],
    ]),
  ];
}

function domainWords({ status, since, confirmed_at: confirmedAt }: Domain): Html {
  const last = confirmedAt === null ? " Never confirmed." : ` Last confirmed ${time(confirmedAt).html}.`;
  const from = since === null ? "" : ` since ${time(since).html}`;
  return { html: `<strong>${status}</strong>${from}.${last}` };
}
