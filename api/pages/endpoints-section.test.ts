import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { expect, it } from "vitest";
import type { DomainFacts, DomainStatus } from "../../actors/messages/domains.ts";
import { english } from "../../web/texts/catalogue.ts";
import { endpointsSection } from "./public-pages.ts";

const facts = (domain: string, status: DomainStatus, confirmed_at: string | null): DomainFacts => ({
  domain,
  status,
  since: "2026-01-02T00:00:00.000Z",
  confirmed_at,
});
const earlier = "2026-01-03T00:00:00.000Z";

it("the standing of endpoints is said to people, with everything that is not ours escaped", () => {
  const items = [{ kind: "checkout", url: "https://a.example/?a=1&b=2" }];
  const domains = [facts("a.example", "suspended", earlier), facts("b.example", "unconfirmed", null)];
  const section = { items, domains, domains_confirmed_at: null };
  const htmlOf = (endpoints: Parameters<typeof endpointsSection>[0]) =>
    renderToString(h("p", null, endpointsSection(endpoints, english.record.endpoints)));
  const suspended = htmlOf({ ...section, status: "suspended" });
  expect(suspended).toContain("<strong>Use none of these addresses: they are suspended</strong>");
  expect(suspended).toContain("https://a.example/?a=1&amp;b=2");
  expect(suspended).toMatch(
    new RegExp(
      `<strong>suspended</strong> since <time datetime="2026-01-02T00:00:00.000Z">[^<]+</time>. Last confirmed <time datetime="${earlier}">`,
    ),
  );
  expect(suspended).toMatch(/<dt>b.example<\/dt><dd><strong>unconfirmed<\/strong>.*Never confirmed\./);
  const authorised = htmlOf({ ...section, status: "authorised" });
  expect(authorised).toContain("The business authorises these addresses.");
  expect(authorised).not.toContain("Use none");
  const unconfirmed = htmlOf({ ...section, status: "unconfirmed" });
  expect(unconfirmed).toContain("It is not confirmed that these addresses are the business's");
  expect(unconfirmed).not.toContain("authorises");
  expect(htmlOf({ ...section, items: [], status: "authorised" })).toBe("<p></p>");
});
