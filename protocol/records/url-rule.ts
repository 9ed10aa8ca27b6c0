// The malware and phishing check (specification, «Publish behaviour» 5): hosts are compared with a list maintained by the
// service. Every deployment also flags the few hosts below, so that a business can provoke the refusal in its tests.

import { parseHttpsUrl } from "./https-url.ts";

/** Hosts reserved or operated for testing such checks. */
export const flaggedTestHosts = [
  "malware.test",
  "phishing.test",
  "malware.testing.google.test",
  "testsafebrowsing.appspot.com",
  "malware.wicar.org",
] as const;

const hostInText = /(?:https?:\/\/|\bwww\.)([a-z0-9-]+(?:\.[a-z0-9-]+)+)/gi;

export type HostList = ReadonlySet<string>;

/** The hosts to flag: those on the list and the test hosts. */
export function flaggedHosts(blockedHosts: readonly string[]): HostList {
  return new Set([...flaggedTestHosts, ...blockedHosts.map((host) => host.toLowerCase())]);
}

/** The listed host that an address leads to, directly or as a subdomain; null when there is none. */
export function flaggedHostOfUrl(url: string, hosts: HostList): string | null {
  const host = parseHttpsUrl(url)?.host;
  return host === undefined ? null : listedParent(host, hosts);
}

/** The first listed host among the addresses written in a text; null when there is none. */
export function flaggedHostInText(text: string, hosts: HostList): string | null {
  if (!text.includes("://") && !/www\./i.test(text)) return null;
  for (const match of text.matchAll(hostInText)) {
    const host = match[0].toLowerCase().startsWith("www.") ? match[0] : match[1];
    const listed = listedParent((host ?? "").toLowerCase(), hosts);
    if (listed !== null) return listed;
  }
  return null;
}

function listedParent(host: string, hosts: HostList): string | null {
  for (let at = 0; at >= 0; at = host.indexOf(".", at) + 1 || -1) {
    const parent = host.slice(at);
    if (hosts.has(parent)) return parent;
  }
  return null;
}
