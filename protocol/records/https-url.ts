// Addresses in records. Only what every consumer reads the same way is accepted, since an address that two parsers read
// differently can lead a reader to a host other than the one that was checked.

import type { Form } from "./fields.ts";

export interface HttpsUrl {
  /** In lower case, without port. */
  readonly host: string;
  /** Path, query and fragment as written; empty when there are none. */
  readonly rest: string;
}

const urlLengthMax = 2048;
const hostLengthMax = 253;
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const hostPattern = `(?:${label}\\.)+(?=[A-Za-z])${label}`;
// RFC 3986 §3.3–3.5: pchar, "/", "?" and "#", in the order path, query, fragment.
const pathCharacters = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*";
const queryCharacters = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*";
const urlPattern = `^https://(${hostPattern})(?::[0-9]{1,5})?((?:/${pathCharacters})?(?:\\?${queryCharacters})?(?:#${queryCharacters})?)$`;

const url = new RegExp(urlPattern);
const host = new RegExp(`^${hostPattern}$`);

/**
 * Reads an absolute https address (RFC 3986) with a DNS host name: no user information, no IP address, nothing outside ASCII
 * (other scripts as IDNA and percent-encoded), at most 2048 characters. Returns null for anything else.
 */
export function parseHttpsUrl(text: string): HttpsUrl | null {
  if (text.length > urlLengthMax) return null;
  const match = url.exec(text);
  const name = match?.[1];
  if (name === undefined || name.length > hostLengthMax) return null;
  return { host: name.toLowerCase(), rest: match?.[2] ?? "" };
}

export const httpsUrlForm: Form = {
  name: "https_url",
  pattern: urlPattern,
  max: urlLengthMax,
  accepts: (value) => parseHttpsUrl(value) !== null,
  meaning: "an absolute https address with a domain name, in ASCII",
};

/** A DNS host name of at least two labels, in lower case (RFC 1123 §2.1). */
export const hostForm: Form = {
  name: "host",
  pattern: `^${hostPattern}$`,
  max: hostLengthMax,
  accepts: (value) => value.length <= hostLengthMax && value === value.toLowerCase() && host.test(value),
  meaning: "a host name in lower case, without scheme, port or path",
};
