// The domains of a business's endpoints at the portal: what is to be published, what the looks found, and a look that people ask for.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DnsServer, startDnsServer } from "../../node/domains/dns-server.fixture.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { challengeName, domainChallenge } from "../../protocol/keys/certificate.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import {
  approvedAt,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  setRoleAt,
  unescaped,
  writeRecord,
} from "./business.fixture.ts";

const domain = "harrier.example";
let movedMs = 0;
let dns: DnsServer;
let portal: PortalNode;
beforeAll(async () => {
  dns = await startDnsServer();
  const env = { SVC_DOMAIN_CHECKS: "yes", SVC_DOMAIN_RESOLVERS: dns.address };
  portal = await openPortalNode(env, 0, { clock: { now: () => Date.now() + movedMs } });
}, 120_000);
afterAll(async () => {
  await portal?.[Symbol.asyncDispose]();
  await dns?.[Symbol.asyncDispose]();
});

const pageOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/domains`);
const factIn = (html: string, name: string) =>
  unescaped(new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`).exec(html)?.[1]?.replaceAll(/<[^>]*>/g, "") ?? "");
const until = (owned: Owned, words: string) =>
  expect
    .poll(async () => factIn((await pageOf(owned)).html, "Last look"), { timeout: 20_000, interval: 250 })
    .toContain(words);

/** A business whose file names an endpoint at the domain, which was looked at once. */
async function newEndpoint(name: string): Promise<Owned> {
  const owned = await newBusinessAt(portal, name);
  const { brands_owned: _, ...file } = sampleRecords.business_files;
  const words = await writeRecord(owned, "business_files", file);
  expect((await owned.owner.answer(words.form("/records/seal"))).html).toContain("Published");
  await until(owned, "the line is in neither place. TXT record:");
  return owned;
}

describe("the domains of a business", () => {
  it("are shown with what is to be published, and looked at again when people ask", async () => {
    const owned = await newEndpoint("Harrier Ltd");
    const challenge = domainChallenge(owned.uuid, domain);
    const { html } = await pageOf(owned);
    expect(["TXT record", "File", "Line"].map((name) => factIn(html, name))).toEqual([
      `_svc-challenge.${domain}`,
      `https://${domain}/.well-known/svc-domain.txt`,
      challenge,
    ]);
    expect(factIn(html, "State")).toContain("not confirmed since");
    dns.txt.set(challengeName(domain), [challenge]);
    movedMs += 61_000;
    const asked = await owned.owner.send((await pageOf(owned)).form("/domains/look"));
    expect([asked.status, asked.html.includes("Look again soon")]).toEqual([200, true]);
    await until(owned, "the line was found.");
    expect(factIn((await pageOf(owned)).html, "State")).toMatch(/^confirmed since/);
    expect((await owned.owner.get("/account")).html).toContain("had domains looked at");
  });

  it("are none without an endpoint", async () => {
    const { html } = await pageOf(await newBusinessAt(portal, "None Ltd"));
    expect([html.includes("names an endpoint"), html.includes("/domains/look")]).toEqual([true, false]);
  });
});

it("nobody of another business sees them, and no viewer has them looked at", async () => {
  const [mine, theirs] = [await newEndpoint("Mine Ltd"), await newEndpoint("Theirs Ltd")];
  const form = (await pageOf(mine)).form("/domains/look");
  const company = await approvedAt(portal, await companyAppliedAt(portal, "Answers Ltd"));
  expect((await pageOf({ ...theirs, owner: mine.owner })).status).toBe(404);
  expect((await mine.owner.send(form, { uuid: theirs.uuid })).status).toBe(404);
  expect((await pageOf(company)).status).toBe(404);
  expect((await pageOf({ ...mine, owner: new Visitor(portal.url) })).html).toContain("Sign in");
  await setRoleAt(portal, mine, "developer");
  expect((await mine.owner.send(form)).status).toBe(200);
  await setRoleAt(portal, mine, "viewer");
  expect((await mine.owner.send(form)).status).toBe(403);
  const { html, status } = await pageOf(mine);
  expect([status, html.includes("/domains/look"), html.includes(domain)]).toEqual([200, false, true]);
});
