// The endpoints of a business file on a page for people: whether they may be used, and what is known of their domains.

import { type ComponentChild, h } from "preact";
import type { Findings } from "../../service/verify-page.ts";
import { code, facts, heading, paragraph, time, verdict } from "../../web/parts.ts";
import type { Texts } from "../../web/texts/catalogue.ts";

type Endpoints = NonNullable<Findings["endpoints"]>;
type Domain = NonNullable<Endpoints["domains"]>[number];
type EndpointTexts = Texts["record"]["endpoints"];

export function endpointsSection(
  { status, items, domains = [], domains_confirmed_at }: Endpoints,
  texts: EndpointTexts,
): readonly ComponentChild[] {
  // The record was judged before it was published.
  const addresses = items as readonly {
    readonly kind: string;
    readonly url: string;
    readonly description?: string;
  }[];
  if (addresses.length === 0) return [];
  return [
    heading(texts.heading),
    status === "authorised" ? paragraph(texts.authorised) : verdict(...texts[status]),
    // Not links: what they lead to is the business's.
    facts(
      addresses.map(({ kind, url, description }) => [
        description === undefined ? kind : `${kind}: ${description}`,
        code(url),
      ]),
    ),
    heading(texts.domains),
    facts([
      ...domains.map((each) => [each.domain, domainWords(each, texts)] as const),
      [texts.all, time(domains_confirmed_at, texts.notAll)],
    ]),
  ];
}

function domainWords({ status, since, confirmed_at }: Domain, texts: EndpointTexts): ComponentChild {
  const from = since === null ? [] : [texts.since, time(since)];
  const last = confirmed_at === null ? [texts.never] : [texts.last, time(confirmed_at), "."];
  return [h("strong", null, status), from, ".", last];
}
