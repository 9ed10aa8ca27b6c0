// The servers of domains on loopback: a DNS server, and an HTTPS server with a certificate for each of them.

import type { RequestListener } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { challengeName, challengeUrl } from "../../protocol/keys/certificate.ts";
import type { PublishedDomains } from "../../transport/domain-probe.conformance.ts";
import { makeCertificate } from "../../transport/ws/certificate.fixture.ts";
import { type DnsServer, startDnsServer } from "./dns-server.fixture.ts";
import type { DomainProbeOptions } from "./domain-probe.ts";

export interface DomainServers extends PublishedDomains, AsyncDisposable {
  readonly dns: DnsServer;
  readonly options: DomainProbeOptions & { readonly local: { readonly port: number; readonly ca: string } };
  /** Requests are answered by this instead; null for the published files. */
  answer: RequestListener | null;
  /** The hosts and paths that were fetched. */
  readonly fetched: string[];
}

/** An answer after which Node's client says neither `response` nor `error`. */
export const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";

export async function startDomainServers(hosts: readonly string[]): Promise<DomainServers> {
  const dns = await startDnsServer();
  const { key, cert } = makeCertificate("domains", hosts);
  const files = new Map<string, string>();
  const silent = new Set<string>();
  const web = createServer({ key, cert }, (request, response) => {
    const { host = "" } = request.headers;
    const name = host.replace(/:\d+$/, "");
    servers.fetched.push(`https://${name}${request.url}`);
    if (servers.answer !== null) return servers.answer(request, response);
    if (silent.has(name)) return;
    const text = `https://${name}${request.url}` === challengeUrl(name) ? files.get(name) : undefined;
    response.writeHead(text === undefined ? 404 : 200).end(text);
  });
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  const local = { port: (web.address() as AddressInfo).port, ca: cert };
  const serve = (domain: string) => void dns.a.set(domain, ["127.0.0.1"]);
  const servers: DomainServers = {
    dns,
    answer: null,
    fetched: [],
    options: { resolvers: [dns.address], local },
    txt: (domain, texts) => void dns.txt.set(challengeName(domain), texts),
    file: (domain, text) => {
      serve(domain);
      if (text === null) files.delete(domain);
      else files.set(domain, text);
    },
    answersTxt: (domain, does) => setIn(dns.silent.txt, challengeName(domain), !does),
    answersFile: (domain, does) => setIn(silent, domain, !does),
    [Symbol.asyncDispose]: async () => {
      await closed(web);
      await dns[Symbol.asyncDispose]();
    },
  };
  return servers;
}

function setIn(names: Set<string>, name: string, isIn: boolean): void {
  if (isIn) names.add(name);
  else names.delete(name);
}

function closed(web: Server): Promise<void> {
  web.closeAllConnections();
  return new Promise((resolve) => web.close(() => resolve()));
}
