// IP addresses and CIDR ranges (RFC 4632, RFC 4291) as numbers.
// It is implemented here because what judges addresses uses neither packages nor the platform: it runs in the simulator as well.
// Random tests compare what it accepts as an address and what it matches with Node's own `net.isIP` and `net.BlockList`.
// It is stricter in one respect: an IPv4-mapped address is treated as the IPv4 address and is in no IPv6 range; a range
// written that way is an IPv4 range, with a prefix of at most 32.

export interface AddressRange {
  readonly network: AddressBits;
  /** The number of leading bits that an address shares with the network. */
  readonly prefix: number;
}

interface AddressBits {
  readonly value: bigint;
  readonly width: 32 | 128;
}

/**
 * The block an address is counted under, for per-client limits: an IPv4 address on its own, an IPv6 address with its
 * whole /64, which is what one customer gets. Anything that is not an address is its own block.
 */
export function addressBlock(address: string): string {
  const bits = parseAddress(address);
  if (bits === null) return address;
  return bits.width === 32 ? `4/${bits.value}` : `6/${bits.value >> 64n}`;
}

/**
 * The network of an address as people are shown it, so that nobody's address is kept: the /24 of an IPv4 address, the /48 of an IPv6
 * address. Null for what is not an address.
 */
export function networkOf(address: string): string | null {
  const bits = parseAddress(address);
  if (bits === null) return null;
  const part = (shift: bigint, mask: bigint): bigint => (bits.value >> shift) & mask;
  return bits.width === 32
    ? `${[24n, 16n, 8n].map((shift) => part(shift, 0xffn)).join(".")}.0/24`
    : `${[112n, 96n, 80n].map((shift) => part(shift, 0xffffn).toString(16)).join(":")}::/48`;
}

/** A CIDR range, or a single address as a range of one; null for anything else. */
export function parseRange(text: string): AddressRange | null {
  const [base = "", prefixText, ...rest] = text.split("/");
  const network = parseAddress(base);
  if (network === null || rest.length > 0) return null;
  if (prefixText === undefined) return { network, prefix: network.width };
  const prefix = /^(0|[1-9][0-9]{0,2})$/.test(prefixText) ? Number(prefixText) : -1;
  return prefix < 0 || prefix > network.width ? null : { network, prefix };
}

/** Whether an address is in a range of its own width. */
export function contains({ network, prefix }: AddressRange, address: AddressBits): boolean {
  if (network.width !== address.width) return false;
  const shift = BigInt(network.width - prefix);
  return network.value >> shift === address.value >> shift;
}

/** Null for anything that is not an address, such as one with a zone or a port. */
export function parseAddress(text: string): AddressBits | null {
  const v4 = parseIpv4(text);
  if (v4 !== null) return { value: v4, width: 32 };
  const v6 = parseIpv6(text);
  if (v6 === null) return null;
  // An IPv4-mapped address (RFC 4291 §2.5.5.2) is the IPv4 address.
  return v6 >> 32n === 0xffffn ? { value: v6 & 0xffffffffn, width: 32 } : { value: v6, width: 128 };
}

/** What leads to no host of the public Internet (IANA's registries of special-purpose addresses). */
const specialRanges = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
  // Only 2000::/3 is given out; of it, what embeds an IPv4 address, documentation and benchmarks are none either.
  "::/3",
  "4000::/2",
  "8000::/1",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
].flatMap((text) => parseRange(text) ?? []);

/** Whether an address can be a host of the public Internet; null for what is not an address. */
export function isPublicAddress(text: string): boolean | null {
  const address = parseAddress(text);
  return address === null ? null : !specialRanges.some((range) => contains(range, address));
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
