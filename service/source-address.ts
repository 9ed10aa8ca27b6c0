// Source allow-lists of mandates: CIDR ranges (RFC 4632, RFC 4291) and AS numbers. An AS number needs a routing
// table that a node alone does not have, so it never matches here: the list is honoured only from inside it.
// It is written here, for the service knows neither packages nor the platform: it runs in the simulator too. What it takes
// for an address and what it lets match is held to Node's own `net.isIP` and `net.BlockList` by random tests. The one place
// where it is stricter: an IPv4-mapped address is the IPv4 address and lies in no IPv6 range, and no range is written so.
//   X1. X-Forwarded-For is believed only as far as trusted proxies wrote it: from its right end to the first address
//       that is no trusted proxy's, which is the caller's. What stands left of that anybody may have written.
//   X2. A hop that is no address ends the reading without a source, and a trusted proxy is no source: then no list lets
//       the request in.

export interface AddressRange {
  readonly network: AddressBits;
  /** Leading bits that an address has in common with the network. */
  readonly prefix: number;
}

interface AddressBits {
  readonly value: bigint;
  readonly width: 32 | 128;
}

/** True when the address lies in one of the CIDR ranges. Malformed ranges and addresses never match. */
export function addressAllowed(address: string, allowList: readonly string[]): boolean {
  const bits = parseAddress(address);
  if (bits === null) return false;
  return allowList.some((text) => {
    const range = parseRange(text);
    return range !== null && contains(range, bits);
  });
}

/**
 * The address that a request comes from: `peer`, which is the connection's, unless that is a trusted proxy's; then the
 * address that the proxies say in `forwardedFor` (X1). Null when there is none to judge (X2).
 */
export function sourceOf(
  peer: string | undefined,
  forwardedFor: string | null,
  trusted: readonly AddressRange[],
): string | null {
  const hops = forwardedFor === null ? [] : forwardedFor.split(",");
  for (const hop of [...hops, peer ?? ""].reverse()) {
    const address = withoutPort(hop.trim());
    const bits = parseAddress(address);
    if (bits === null) return null;
    if (!trusted.some((range) => contains(range, bits))) return address;
  }
  return null;
}

/**
 * Whose an address is, for bounds of what each may take up: an IPv4 address by itself, an IPv6 address with all of its /64,
 * which is what one customer gets. What is no address is its own.
 */
export function addressBlock(address: string): string {
  const bits = parseAddress(address);
  if (bits === null) return address;
  return bits.width === 32 ? `4/${bits.value}` : `6/${bits.value >> 64n}`;
}

/** Some proxies write the port that the connection came from as well. */
function withoutPort(hop: string): string {
  const [, v6, v4] = /^(?:\[([^\]]*)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(hop) ?? [];
  return v6 ?? v4 ?? hop;
}

/** A CIDR range, or an address, which is a range of one; null for anything else. */
export function parseRange(text: string): AddressRange | null {
  const [base = "", prefixText, ...rest] = text.split("/");
  const network = parseAddress(base);
  if (network === null || rest.length > 0) return null;
  if (prefixText === undefined) return { network, prefix: network.width };
  const prefix = /^(0|[1-9][0-9]{0,2})$/.test(prefixText) ? Number(prefixText) : -1;
  return prefix < 0 || prefix > network.width ? null : { network, prefix };
}

function contains({ network, prefix }: AddressRange, address: AddressBits): boolean {
  if (network.width !== address.width) return false;
  const shift = BigInt(network.width - prefix);
  return network.value >> shift === address.value >> shift;
}

function parseAddress(text: string): AddressBits | null {
  const v4 = parseIpv4(text);
  if (v4 !== null) return { value: v4, width: 32 };
  const v6 = parseIpv6(text);
  if (v6 === null) return null;
  // An IPv4-mapped address (RFC 4291 §2.5.5.2) is the IPv4 address.
  return v6 >> 32n === 0xffffn ? { value: v6 & 0xffffffffn, width: 32 } : { value: v6, width: 128 };
}

function parseIpv4(text: string): bigint | null {
  const parts = text.split(".");
  if (parts.length !== 4) return null;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part) || Number(part) > 255) return null;
    value = (value << 8n) | BigInt(part);
  }
  return value;
}

function parseIpv6(text: string): bigint | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  // Only the end of an address may be written as an IPv4 address.
  const head = parseGroups(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? "", true) : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0n), ...tail];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

function parseGroups(text: string, isEnd: boolean): bigint[] | null {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const v4 = isEnd && index === parts.length - 1 ? parseIpv4(part) : null;
    if (v4 !== null) groups.push(v4 >> 16n, v4 & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else return null;
  }
  return groups;
}
