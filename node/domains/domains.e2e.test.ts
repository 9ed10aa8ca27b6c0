// Control of the domains of endpoints over HTTP: a node, and the DNS and HTTPS servers of the domains.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newCaller, type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { domainChallenge } from "../../protocol/keys/certificate.ts";
import type { DomainsAnswer } from "../../protocol/wire/push.ts";
import type { VerifyPageAnswer } from "../../protocol/wire/verification.ts";
import type { TestBusiness } from "../../stories/publishing/publishing.fixture.ts";
import { publishAlone, removeOver, sealRemoval } from "../../stories/publishing/removal.fixture.ts";
import { type AttackNode, newBusiness, openAttackNode } from "../../stories/retrieval/attack.fixture.ts";
import { verifyWorking } from "../../verifier/trust.ts";
import { createDomainProbe } from "./domain-probe.ts";
import { type DomainServers, startDomainServers } from "./domain-servers.fixture.ts";

const domain = "harrier.example";
const settings = {
  SVC_SAMPLES: "no",
  SVC_DOMAIN_CHECKS: "yes",
  SVC_DOMAIN_INTERVAL_SECONDS: "1",
  SVC_DOMAIN_GRACE_SECONDS: "1",
};

let servers: DomainServers;
let node: AttackNode;
let business: TestBusiness;
let company: TestCaller;
let recordId: string;
let challenge: string;

beforeAll(async () => {
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  servers = await startDomainServers([domain]);
  node = await openAttackNode({ domainProbe: createDomainProbe(servers.options) });
  const { services } = node.running;
  business = await newBusiness(node);
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000001");
  recordId = await publishAlone(services, business, "business_files");
  challenge = domainChallenge(business.party.uuid, domain);
});
afterAll(async () => {
  await node.close();
  await servers[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

async function ownDomains(): Promise<DomainsAnswer["domains"]> {
  const caller = { key: business.signingKey, grant: "" };
  const path = "/v1/domains";
  const answer = await send(node.running.urls.business_url, caller, { path, tag: "svc-business-read" });
  expect(answer.status).toBe(200);
  return (answer.json as unknown as DomainsAnswer).domains;
}

const until = (status: string) =>
  vi.waitFor(async () => expect(await ownDomains()).toMatchObject([{ domain, status }]), {
    timeout: 20_000,
    interval: 100,
  });

const fetched = (): Promise<ReceivedAnswer> =>
  send(node.running.urls.base_url, company, { path: `/v1/records/${recordId}` });

/** The verification page that the source line of a fetch leads to. */
async function verifyPage(headers: Readonly<Record<string, string>> = {}): Promise<ReceivedAnswer> {
  const { provenance } = (await fetched()).json as unknown as {
    readonly provenance: { readonly source_line: string };
  };
  const url = new URL(/verify=(\S+)$/.exec(provenance.source_line)?.[1] ?? "");
  return send(node.running.urls.verify_url, null, { path: `${url.pathname}${url.search}`, headers });
}

type Endpoints = NonNullable<VerifyPageAnswer["endpoints"]>;

async function endpoints(): Promise<Endpoints> {
  const page = (await verifyPage()).json as unknown as VerifyPageAnswer;
  const at = { use: "statement", region: null, at: page.checked_at } as const;
  expect(verifyWorking(node.running.services.trust(), page.statement, at)).toMatchObject({ ok: true });
  if (page.endpoints === null) throw new Error("The business file is served.");
  return page.endpoints;
}

describe("the domain of a business's endpoints", () => {
  it("is unconfirmed until its owner publishes the challenge, which the business can read", async () => {
    expect(await ownDomains()).toMatchObject([
      {
        domain,
        status: "unconfirmed",
        confirmed_at: null,
        challenge,
        txt_name: "_svc-challenge.harrier.example",
        file_url: "https://harrier.example/.well-known/svc-domain.txt",
      },
    ]);
    expect(await endpoints()).toMatchObject({
      status: "unconfirmed",
      domains_confirmed_at: null,
      domains: [{ domain, status: "unconfirmed", confirmed_at: null }],
    });
    const html = await verifyPage({ accept: "text/html" });
    expect(html.text).toContain("Never confirmed.");
    expect((await fetched()).json).toMatchObject({ endpoints: { status: "unconfirmed" } });
  });

  it("is confirmed by a TXT record, and again and again, with the time shown", async () => {
    servers.txt(domain, [challenge]);
    await until("confirmed");
    const [first] = (await endpoints()).domains;
    expect(first).toEqual({
      domain,
      status: "confirmed",
      since: first?.since,
      confirmed_at: expect.any(String),
    });
    await vi.waitFor(
      async () => {
        const { domains, domains_confirmed_at: last, status } = await endpoints();
        expect(status).toBe("authorised");
        expect(domains).toEqual([{ ...first, confirmed_at: last }]);
        expect(Date.parse(last ?? "")).toBeGreaterThan(Date.parse(first?.confirmed_at ?? ""));
      },
      { timeout: 10_000, interval: 200 },
    );
    expect((await verifyPage({ accept: "text/html" })).text).toContain("Last confirmed <time");
    expect((await fetched()).json).toMatchObject({ endpoints: { status: "authorised" } });
  });

  it("is suspended once control is lost for longer than the grace, wherever its endpoints are shown", async () => {
    servers.txt(domain, []);
    await until("suspended");
    const { status, items, domains, domains_confirmed_at: last } = await endpoints();
    expect({ status, domains }).toEqual({
      status: "suspended",
      domains: [{ domain, status: "suspended", since: expect.any(String), confirmed_at: last }],
    });
    expect(Date.parse(domains[0]?.since ?? "")).toBeGreaterThan(Date.parse(last ?? ""));
    expect((await fetched()).json).toMatchObject({ endpoints: { status: "suspended", items } });
    expect((await verifyPage({ accept: "text/html" })).text).toContain("Use none of these addresses:");
    const metrics = await (await fetch(`${node.running.urls.ops_url}/metrics`)).text();
    expect(metrics).toMatch(/^svc_domain_probes_total [1-9]/m);
    const [own] = await ownDomains();
    expect(own?.probed).toMatchObject({ outcome: "absent", detail: expect.stringContaining("TXT record") });
  });

  it("is confirmed again by the file alone, after the node was away", async () => {
    await node.restart(() => servers.file(domain, `${challenge}\n`));
    await until("confirmed");
    expect(await endpoints()).toMatchObject({ status: "authorised" });
    expect((await fetched()).json).toMatchObject({ endpoints: { status: "authorised" } });
    expect((await ownDomains())[0]?.probed).toMatchObject({ outcome: "confirmed", detail: "file" });
  });

  it("is looked at no longer once no served business file names it", async () => {
    const removal = await sealRemoval(business, { record_id: recordId }, business.signingKey, {
      record_type: "business_files",
    });
    const route = { type: "business_files", action: "withdraw" } as const;
    const answer = await removeOver(node.running.urls.business_url, business, route, removal);
    expect(answer.status).toBe(200);
    expect(await ownDomains()).toEqual([]);
    const asked = servers.dns.asked.length;
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    expect(servers.dns.asked.length).toBe(asked);
  });
});
