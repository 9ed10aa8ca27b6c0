// The probe of domains over DNS and HTTPS: the conformance of the port, and servers that do what they like.

import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { challengeName, challengeUrl, domainChallenge } from "../../protocol/keys/certificate.ts";
import { domainProbeConformance } from "../../transport/domain-probe.conformance.ts";
import { domainsInMemory } from "../../transport/domain-probe.fixture.ts";
import { createDomainProbe, type DomainProbeOptions } from "./domain-probe.ts";
import { type DomainServers, startDomainServers, switching } from "./domain-servers.fixture.ts";

const domain = "shop.example";
const text = domainChallenge("00000000-0000-4000-8000-000000000001", domain);
const limits = { wholeMs: 600, questionMs: 120 };

domainProbeConformance("in memory", async () => {
  const domains = domainsInMemory();
  return { probe: domains, domains };
});

domainProbeConformance("DNS and HTTPS", async () => {
  const servers = await startDomainServers([domain]);
  onTestFinished(() => servers[Symbol.asyncDispose]());
  return { probe: createDomainProbe({ ...servers.options, limits }), domains: servers };
});

describe("a domain's servers", () => {
  let servers: DomainServers;
  beforeEach(async () => {
    servers = await startDomainServers([domain]);
    servers.file(domain, text);
  });
  afterEach(() => servers[Symbol.asyncDispose]());
  const ask = (changes: Partial<DomainProbeOptions> = {}, of = domain) =>
    createDomainProbe({ ...servers.options, limits, ...changes }).probe(of, text);
  const answer = (status: number, headers: Record<string, string> = {}, body = text): void => {
    servers.answer = (_request, response) => void response.writeHead(status, headers).end(body);
  };

  it("are asked for the published names", async () => {
    expect(await ask()).toEqual({ kind: "confirmed", by: "file" });
    expect(servers.dns.asked).toContain(challengeName(domain));
    expect(servers.fetched).toEqual([challengeUrl(domain)]);
  });

  it("P4: lead nowhere by a redirect, not even to themselves", async () => {
    answer(302, { location: challengeUrl(domain) });
    expect(await ask()).toMatchObject({ kind: "absent", detail: expect.stringContaining("status 302") });
    expect(servers.fetched).toHaveLength(1);
  });

  it.each([
    [404, "absent"],
    [403, "absent"],
    [204, "absent"],
    [429, "unanswered"],
    [500, "unanswered"],
    [503, "unanswered"],
  ])("that answer with %i are %s", async (status, kind) => {
    answer(status, {}, "");
    expect((await ask()).kind).toBe(kind);
  });

  it("P3: send no more than a file may have", async () => {
    answer(200, {}, `${"x".repeat(20_000)}\n${text}\n`);
    expect(await ask()).toMatchObject({ kind: "absent", detail: expect.stringContaining("too long") });
  });

  it("P3: hold nobody who asks for longer than a probe may take", async () => {
    servers.answer = (_request, response) => void response.writeHead(200).write("x");
    const begun = performance.now();
    expect((await ask()).kind).toBe("unanswered");
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it("C4: that switch protocols, or send many interim answers, are unanswered", async () => {
    servers.answer = (_request, { socket }) => void socket?.end(switching);
    expect((await ask()).kind).toBe("unanswered");
    servers.answer = (_request, response) => {
      for (let sent = 0; sent < 9; sent += 1) response.writeProcessing();
      response.writeHead(200).end(text);
    };
    expect((await ask()).kind).toBe("unanswered");
  });

  it("P1: need a certificate that is valid for the domain", async () => {
    servers.file("other.example", text);
    expect(await ask({}, "other.example")).toMatchObject({
      kind: "absent",
      detail: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
    });
    const { local } = (await startOther()).options;
    expect(await ask({ local: { ...local, port: servers.options.local.port } })).toMatchObject({
      kind: "absent",
    });
  });

  async function startOther(): Promise<DomainServers> {
    const other = await startDomainServers([domain]);
    onTestFinished(() => other[Symbol.asyncDispose]());
    return other;
  }

  it("P4, C2: are not connected to at addresses that are not public", async () => {
    const { local: _none, ...real } = { ...servers.options, limits };
    for (const address of ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "0.0.0.0"]) {
      servers.dns.a.set(domain, [address]);
      expect(await createDomainProbe(real).probe(domain, text)).toMatchObject({
        kind: "absent",
        detail: expect.stringContaining("no public address"),
      });
    }
    expect(servers.fetched).toEqual([]);
  });

  it.each(["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "192.0.2.1"])(
    "C2: are no address in place of a name, such as %s",
    async (literal) => {
      expect(await ask({}, literal)).toMatchObject({
        detail: expect.stringContaining("file: the domain has no public address"),
      });
      expect(servers.fetched).toEqual([]);
    },
  );

  it("P2: that nobody finds for a fault of DNS are unanswered", async () => {
    servers.dns.failing.add(challengeName(domain));
    servers.file(domain, null);
    expect((await ask()).kind).toBe("unanswered");
    servers.dns.failing.clear();
    servers.dns.failing.add(domain);
    expect((await ask()).kind).toBe("unanswered");
    servers.dns.failing.clear();
    expect((await ask()).kind).toBe("absent");
  });

  it("P2: are unanswered where the resolver is away", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const { port } = closed.address() as { port: number };
    closed.close();
    expect((await ask({ resolvers: [`127.0.0.1:${port}`] })).kind).toBe("unanswered");
  });

  it("P2: that refuse connections do not have the file", async () => {
    const { local } = servers.options;
    expect((await ask({ local: { ...local, port: 1 } })).kind).toBe("absent");
  });

  it("that no TXT name can be made for have none", async () => {
    const long = `${"a".repeat(60)}.${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.example`;
    expect(await ask({}, long)).toMatchObject({ kind: "absent" });
  });
});
