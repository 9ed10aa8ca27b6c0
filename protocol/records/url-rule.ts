// The malware and phishing check (specification, «Publish behaviour» 5): the addresses of a record, and those written in its
// texts, are compared with lists maintained by the operator. Every deployment also flags the few hosts below, so that a
// business can provoke the refusal in its tests.
//   U1. What counts is where an address leads, not how it is written: scheme, port (unless the entry has one), user
//       information, letter case, Unicode, dots at the end and spellings of IP addresses make no difference.
//   U2. An address within an address (`?to=https://…`) and a bare name in a text («visit bad.example») count as well.

import { parseAddress } from "../../std/ip-address.ts";
import { atOnce } from "../../std/work.ts";

/** Hosts reserved or operated for testing such checks. */
export const flaggedTestHosts = [
  "malware.test",
  "phishing.test",
  "malware.testing.google.test",
  "testsafebrowsing.appspot.com",
  "malware.wicar.org",
] as const;

/** A list of blocked addresses in the form in which they are looked up. */
export interface BlockedUrls {
  /** Hosts that are blocked with their subdomains, and IP addresses. */
  readonly hosts: ReadonlySet<string>;
  /** Hosts whose subdomains are blocked and which are not blocked themselves. */
  readonly under: ReadonlySet<string>;
  readonly prefixes: ReadonlyMap<string, readonly Prefix[]>;
}

interface Prefix {
  /** Null for any port. */
  readonly port: string | null;
  /** Begins with a slash. */
  readonly path: string;
}

interface Target {
  readonly host: string;
  readonly port: string;
  /** Path, query and fragment as written. */
  readonly rest: string;
}

/**
 * Reads an entry of a list: `bad.example` (with its subdomains), `*.bad.example` (its subdomains only), an IP address, or an
 * address such as `https://bad.example/path` (this host, and what begins with this path). Returns its canonical form, null
 * for anything else.
 */
export function parseBlocked(entry: string): string | null {
  const isUrl = /^https?:\/\//i.test(entry);
  if (!isUrl && /[/\\?#@]/.test(entry)) return null;
  if (isUrl) {
    const target = readTarget(entry);
    if (target === null || entry.includes("@") || !isBlockable(target.host)) return null;
    const port = /^https?:\/\/(?:\[[^\]]*\]|[^/?#:]*):[0-9]+/i.test(entry) ? `:${target.port}` : "";
    return `${target.host}${port}${pathOf(target.rest)}`;
  }
  const stem = entry.startsWith("*.") ? entry.slice(2) : entry;
  const isV6 = /^[0-9a-f]*:[0-9a-f:.]+$/i.test(stem);
  const host = canonicalHost(isV6 ? `[${stem}]` : stem);
  if (host === null || !isBlockable(host)) return null;
  return stem === entry ? host : /^[[0-9.]+$/.test(host) ? null : `*.${host}`;
}

/** A name of one label would block every host of a top-level domain. */
function isBlockable(host: string): boolean {
  return host.startsWith("[") || (host.includes(".") && /^[a-z0-9._-]+$/.test(host));
}

/** Prepares canonical entries, together with the test hosts. */
export function blockedUrls(entries: readonly string[]): BlockedUrls {
  const known = preparedEntries.get(entries);
  return known ?? atOnce(prepareBlocked(entries));
}

const preparedEntries = new WeakMap<readonly string[], BlockedUrls>();
/** Number of entries that are prepared in one step. */
const entriesPerStep = 2_000;

/** Prepares a long list in steps, between which the caller may do something else; it is found again by the list itself. */
export function* prepareBlocked(entries: readonly string[]): Generator<void, BlockedUrls> {
  const { add, ...blocked } = collectBlocked();
  for (const host of flaggedTestHosts) add(host);
  for (const [at, entry] of entries.entries()) {
    if (at % entriesPerStep === entriesPerStep - 1) yield;
    add(entry);
  }
  preparedEntries.set(entries, blocked);
  return blocked;
}

/** A list to which canonical entries are added one by one. */
export function collectBlocked(): BlockedUrls & { readonly add: (entry: string) => void } {
  const hosts = new Set<string>();
  const under = new Set<string>();
  const prefixes = new Map<string, Prefix[]>();
  const add = (entry: string): void => {
    const slash = entry.indexOf("/");
    if (slash < 0) {
      if (entry.startsWith("*.")) under.add(entry.slice(2));
      else hosts.add(entry);
      return;
    }
    const [, host = "", port = null] = /^(\[[^\]]*\]|[^:]*)(?::([0-9]+))?$/.exec(entry.slice(0, slash)) ?? [];
    const known = prefixes.get(host);
    const prefix = { port, path: entry.slice(slash) };
    if (known === undefined) prefixes.set(host, [prefix]);
    else known.push(prefix);
  };
  return { hosts, under, prefixes, add };
}

/** The blocked host or address that a member leads to: an address, a host or a mailbox; null when there is none. */
export function blockedOfMember(text: string, blocked: readonly BlockedUrls[]): string | null {
  const target = readTarget(text);
  if (target === null) return null;
  return entryFor(target, blocked) ?? nested(target, blocked);
}

/** The first blocked host or address among those written in a text; null when there is none. */
export function blockedInText(text: string, blocked: readonly BlockedUrls[]): string | null {
  if (!telling.test(text) || !candidate.test(text)) return null;
  for (const [token] of text.matchAll(tokens)) {
    if (!candidate.test(token)) continue;
    const scheme = token.search(/https?:/i);
    const target = readTarget((scheme > 0 ? token.slice(scheme) : token).replace(/[.!?:*_~-]+$/, ""));
    const found = target === null ? null : (entryFor(target, blocked) ?? nested(target, blocked));
    if (found !== null) return found;
  }
  return null;
}

function nested({ rest }: Target, blocked: readonly BlockedUrls[]): string | null {
  return inner.test(rest) ? blockedInText(unescaped(rest), blocked) : null;
}

/** What may be an address: a scheme, or a dot between a character and a letter. */
const candidate = /[hH][tT][tT][pP][sS]?:|[.\u3002\uff0e\uff61](?<=[^\s.].)[A-Za-z\u0080-\uffff]/;
const telling = /[:.\u3002\uff0e\uff61]/;
const tokens = /[^\s"'<>«»“”„(),;|]+/g;
/** An address within a path or query, written plainly or percent-encoded. */
const inner = /https?(?::|%3a|%253a)/i;

function unescaped(path: string): string {
  let text = path;
  for (let depth = 0; depth < 2 && text.includes("%"); depth += 1)
    text = text.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
  return text.slice(1).replaceAll(/[?&=#]/g, " ");
}

/** Where an address leads, with or without a scheme, read as leniently as browsers read it. */
function readTarget(written: string): Target | null {
  const scheme = /^https?:[\\/]*|^[\\/]+/i.exec(written)?.[0] ?? "";
  const from = scheme.length;
  let end = from;
  while (end < written.length && !isEndOfAuthority(written.charCodeAt(end))) end += 1;
  const authority = written.slice(
    written.lastIndexOf("@", end - 1) >= from ? written.lastIndexOf("@", end - 1) + 1 : from,
    end,
  );
  const colon = authority.startsWith("[")
    ? authority.indexOf(":", authority.indexOf("]"))
    : authority.indexOf(":");
  const host = canonicalHost(colon < 0 ? authority : authority.slice(0, colon));
  if (host === null) return null;
  const port = colon < 0 ? "" : authority.slice(colon + 1).replace(/^0+(?=.)/, "");
  return {
    host,
    port: port === "" ? (/^http:/i.test(scheme) ? "80" : "443") : port,
    rest: written.slice(end),
  };
}

/** `/`, `\`, `?` and `#`. */
function isEndOfAuthority(code: number): boolean {
  return code === 47 || code === 92 || code === 63 || code === 35;
}

const unreserved = /%(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a]|3[0-9]|2d|2e|5f|7e)/gi;

/** The path, query and fragment without dot segments, needless percent encoding and backslashes (RFC 3986 §6.2.2). */
function pathOf(rest: string): string {
  if (rest === "" || rest === "/") return "/";
  const [, path = "", more = ""] = /^([^?#]*)(.*)$/s.exec(rest) ?? [];
  const plain = path
    .replaceAll("\\", "/")
    .replace(unreserved, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)))
    .replace(/%[0-9a-f]{2}/gi, (escaped) => escaped.toUpperCase());
  const segments: string[] = [];
  const parts = plain.split("/").slice(1);
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part === "..") segments.pop();
    else if (part !== ".") segments.push(part);
    if (isLast && (part === "." || part === "..")) segments.push("");
  }
  return `/${segments.join("/")}${more}`;
}

function entryFor(target: Target, blocked: readonly BlockedUrls[]): string | null {
  for (const each of blocked) {
    const entry = entryIn(target, each);
    if (entry !== null) return entry;
  }
  return null;
}

function entryIn({ host, port, rest }: Target, { hosts, under, prefixes }: BlockedUrls): string | null {
  for (let at = 0; at >= 0; at = host.indexOf(".", at) + 1 || -1) {
    const parent = host.slice(at);
    if (hosts.has(parent)) return parent;
    if (at > 0 && under.has(parent)) return `*.${parent}`;
  }
  const known = prefixes.get(host);
  if (known === undefined) return null;
  const path = pathOf(rest);
  const found = known.find((each) => (each.port ?? port) === port && isUnder(path, each.path));
  return found === undefined ? null : `${host}${found.path}`;
}

/** Whether a path begins with a prefix, and the prefix ends where a part of the path ends. */
function isUnder(path: string, prefix: string): boolean {
  if (!path.startsWith(prefix)) return false;
  return (
    path.length === prefix.length || /[/?#&=]$/.test(prefix) || /[/?#&]/.test(path.charAt(prefix.length))
  );
}

// The one form of a host, however an address writes it, so that a listed host is found in every spelling that leads to it:
//   H1. A name is in lower case, with its labels in ASCII (Punycode, RFC 3492), without a dot at its end.
//   H2. An IPv4 address is four decimal numbers, also where it is written as a single number, in hexadecimal or in octal
//       (URL Standard, «IPv4 parser»); an IPv6 address is its value.

const dots = /[\u3002\uff0e\uff61]/g;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;
const plainName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;
const hostLengthMax = 1_024;

/** The canonical form of a host as it stands in an address, brackets of IPv6 included; null for what is no host. */
export function canonicalHost(written: string): string | null {
  if (written.length === 0 || written.length > hostLengthMax) return null;
  if (written.startsWith("[")) return written.endsWith("]") ? canonicalAddress(written.slice(1, -1)) : null;
  const name = plainName.test(written) ? written : mapped(written);
  if (name === null || name === "") return null;
  return /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/.test(name) ? canonicalIpv4(name) : name;
}

/** Lower case, percent encoding undone, labels in ASCII. */
function mapped(written: string): string | null {
  const name = decoded(written).normalize("NFKC").replace(invisible, "").toLowerCase().replace(dots, ".");
  const labels = name.replace(/\.+$/, "").split(".");
  if (labels.some((label) => label === "" || /[\s/\\?#@:<>[\]%]/.test(label))) return null;
  return labels
    .map((label) => (/^[\u0021-\u007e]*$/.test(label) ? label : `xn--${punycode(label)}`))
    .join(".");
}

function decoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function canonicalAddress(text: string): string | null {
  const bits = parseAddress(text);
  if (bits === null) return null;
  return bits.width === 32 ? dotted(bits.value) : `[${bits.value.toString(16)}]`;
}

function canonicalIpv4(name: string): string | null {
  const parts = name.split(".").map(numberOf);
  const last = parts.at(-1) ?? null;
  if (parts.length > 4 || last === null || parts.slice(0, -1).some((part) => part === null || part > 255n))
    return null;
  const room = 8n * BigInt(5 - parts.length);
  if (last >= 1n << room) return null;
  let value = last;
  for (const [index, part] of parts.slice(0, -1).entries()) value += (part ?? 0n) << BigInt(8 * (3 - index));
  return dotted(value);
}

function numberOf(part: string): bigint | null {
  if (/^0x[0-9a-f]*$/.test(part)) return part === "0x" ? 0n : BigInt(part);
  if (/^0[0-7]*$/.test(part)) return BigInt(`0o${part}`);
  return /^[1-9][0-9]{0,20}$/.test(part) ? BigInt(part) : null;
}

function dotted(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join(".");
}

const [base, tMin, tMax, skew, damp] = [36, 1, 26, 38, 700];

/** The extended part and the ASCII letters of a label (RFC 3492 §6.3), without the prefix. */
export function punycode(label: string): string {
  const points = Array.from(label, (letter) => letter.codePointAt(0) as number);
  const basic = points.filter((point) => point < 128);
  let output = String.fromCharCode(...basic) + (basic.length > 0 ? "-" : "");
  let [code, delta, bias, handled] = [128, 0, 72, basic.length];
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= code));
    delta += (next - code) * (handled + 1);
    code = next;
    for (const point of points) {
      if (point < code) delta += 1;
      if (point !== code) continue;
      output += variableLength(delta, bias);
      bias = adapt(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled += 1;
    }
    delta += 1;
    code += 1;
  }
  return output;
}

function variableLength(delta: number, bias: number): string {
  let [rest, output] = [delta, ""];
  for (let k = base; ; k += base) {
    const threshold = Math.min(tMax, Math.max(tMin, k - bias));
    if (rest < threshold) return output + digit(rest);
    output += digit(threshold + ((rest - threshold) % (base - threshold)));
    rest = Math.floor((rest - threshold) / (base - threshold));
  }
}

function adapt(delta: number, points: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? damp : 2));
  rest += Math.floor(rest / points);
  let k = 0;
  for (; rest > ((base - tMin) * tMax) / 2; k += base) rest = Math.floor(rest / (base - tMin));
  return k + Math.floor(((base - tMin + 1) * rest) / (rest + skew));
}

function digit(value: number): string {
  return String.fromCharCode(value < 26 ? value + 97 : value + 22);
}
