// Control of a domain: the domains that a business file's endpoints are at, and what their owner publishes so that anybody can see
// that it authorises the business.
//   D1. The statement names the business and the domain by a hash. It is no secret: nobody can prove anything by knowing it,
//       as it has to be published where only the domain's owner can publish.
//   D2. A business cannot prove a domain with what another business was told to publish, nor one domain with another's.

import { toBase64Url, utf8 } from "./bytes.ts";
import { sha256 } from "./hash.ts";
import { parseHttpsUrl } from "./records/https-url.ts";

/** The label in front of the domain at which its TXT record is. */
const txtLabel = "_svc-challenge";
/** The path of the file. */
const filePath = "/.well-known/svc-domain.txt";

/** What the owner of a domain publishes: a TXT record, or a line of a file. */
export function domainChallenge(businessUuid: string, domain: string): string {
  const digest = sha256(utf8(`svc/domain-control/1\n${businessUuid}\n${domain}`));
  return `svc-domain=${toBase64Url(digest)}`;
}

/** The name of the TXT record. */
export function challengeName(domain: string): string {
  return `${txtLabel}.${domain}`;
}

/** The address of the file. */
export function challengeUrl(domain: string): string {
  return `https://${domain}${filePath}`;
}

/** Whether one of the lines of a file is this text. */
export function hasLine(file: string, text: string): boolean {
  return file.split(/\r\n|[\r\n]/).some((line) => line.trim() === text);
}

/** The domains of the endpoints of a business file, each once and in order: the whole hosts of their addresses. */
export function endpointDomains(record: unknown): readonly string[] {
  const endpoints = (record as { readonly endpoints?: unknown } | null)?.endpoints;
  if (!Array.isArray(endpoints)) return [];
  const domains = (endpoints as readonly { readonly url?: unknown }[]).flatMap((each) => {
    const url = typeof each?.url === "string" ? parseHttpsUrl(each.url) : null;
    return url === null ? [] : [url.host];
  });
  return [...new Set(domains)].sort();
}
