// Source allow-lists of mandates: CIDR ranges (RFC 4632, RFC 4291) and AS numbers. An AS number needs a routing
// table that a node alone does not have, so it never matches here: the list is honoured only from inside it.

/** True when the address lies in one of the CIDR ranges. Malformed ranges and addresses never match. */
export function addressAllowed(address: string, allowList: readonly string[]): boolean {
  const bits = parseAddress(address);
  if (bits === null) return false;
  return allowList.some((range) => contains(range, bits));
}

/** What one subscriber usually has: an IPv4 address, or the /64 of an IPv6 address. The text itself where it is no address. */
export function networkOf(address: string): string {
  const bits = parseAddress(address);
  if (bits === null) return address;
  return bits.width === 32 ? `4/${bits.value}` : `6/${bits.value >> 64n}`;
}

interface AddressBits {
  readonly value: bigint;
  readonly width: 32 | 128;
}

function contains(range: string, address: AddressBits): boolean {
  const [base = "", prefixText, ...rest] = range.split("/");
  const network = parseAddress(base);
  if (network === null || network.width !== address.width || rest.length > 0) return false;
  const prefix =
    prefixText === undefined
      ? network.width
      : /^(0|[1-9][0-9]{0,2})$/.test(prefixText)
        ? Number(prefixText)
        : -1;
  if (prefix < 0 || prefix > network.width) return false;
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
  const head = parseGroups(halves[0] ?? "");
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? "") : [];
  if (head === null || tail === null) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...head, ...Array.from({ length: missing }, () => 0n), ...tail];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

function parseGroups(text: string): bigint[] | null {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const v4 = index === parts.length - 1 ? parseIpv4(part) : null;
    if (v4 !== null) groups.push(v4 >> 16n, v4 & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`));
    else return null;
  }
  return groups;
}
