// Which host a node's certificate belongs to: the name or address at which the node is reached.

import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** The host of `host:port`; an IPv6 host is returned without its brackets. */
export function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

/** Whether the certificate names the host as a subject alternative name (RFC 6125 §6.4; RFC 5280 §4.2.1.6). */
export function namesHost(certificate: X509Certificate, host: string): boolean {
  if (isIP(host) !== 0) return certificate.checkIP(host) !== undefined;
  return host !== "" && certificate.checkHost(host, { subject: "never" }) !== undefined;
}
