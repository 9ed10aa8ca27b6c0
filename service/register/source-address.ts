// Source allow-lists of mandates: CIDR ranges (RFC 4632, RFC 4291) and AS numbers. Which system an address belongs to is
// looked up in the operator's table; without one, an AS number admits nobody.
//   X1. X-Forwarded-For is trusted only as far as trusted proxies wrote it: from its right end to the first address that
//       is not a trusted proxy's, which is the caller's. Anything to the left of that could have been forged.
//   X2. A hop that is not an address ends the reading without a source, and a trusted proxy is not a source: in both
//       cases no list admits the request.

import { businessRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Clock } from "../../crypto/port.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { type AddressRange, contains, networkOf, parseAddress, parseRange } from "../../std/ip-address.ts";
import type { Caller } from "../answer.ts";

/**
 * True when the address is in one of the CIDR ranges, or belongs to one of the autonomous systems. Malformed entries and
 * addresses never match.
 */
export function addressAllowed(
  address: string,
  allowList: readonly string[],
  table: AsTable | null = null,
): boolean {
  const bits = parseAddress(address);
  if (bits === null) return false;
  let systems: readonly number[] | null = null;
  return allowList.some((text) => {
    const system = /^AS([1-9][0-9]{0,9})$/.exec(text)?.[1];
    if (system !== undefined) {
      systems ??= table?.systemsOf(address) ?? [];
      return systems.includes(Number(system));
    }
    const range = parseRange(text);
    return range !== null && contains(range, bits);
  });
}

/**
 * The address that a request comes from: `peer`, the address of the connection, unless that is a trusted proxy's; then
 * the address that the proxies give in `forwardedFor` (X1). Null when there is none to judge (X2).
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

/** Some proxies also write the port that the connection came from. */
function withoutPort(hop: string): string {
  const [, v6, v4] = /^(?:\[([^\]]*)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(hop) ?? [];
  return v6 ?? v4 ?? hop;
}

// Which autonomous system an address belongs to, by the operator's table of prefixes (RFC 4632, RFC 6793).
//   A1. The longest prefix that contains an address decides; a prefix may belong to several systems.
//   A2. Memory is 12 bytes for each prefix, in one pair of arrays for each length, which are sorted by network; prefixes
//       longer than /64 of IPv6, which no routing table has, are kept apart.

export interface AsTable {
  readonly prefixes: number;
  /** The numbers of the systems that an address belongs to; empty for an address of no prefix. */
  systemsOf(address: string): readonly number[];
}

export interface AsTableBuilder {
  add(range: AddressRange, system: number): void;
  /** The finished table; nothing may be added after that. */
  finish(): AsTable;
}

/** Number of prefixes for which a length first reserves memory. */
const initialCapacity = 1_024;

/** The prefixes of one length: their leading 64 bits and their systems, at the same index. */
class Bucket {
  #networks = new BigUint64Array(initialCapacity);
  #systems = new Uint32Array(initialCapacity);
  #count = 0;
  #isSorted = true;

  add(network: bigint, system: number): void {
    if (this.#count === this.#networks.length) this.#grow();
    this.#isSorted &&= this.#count === 0 || (this.#networks[this.#count - 1] as bigint) <= network;
    this.#networks[this.#count] = network;
    this.#systems[this.#count] = system;
    this.#count += 1;
  }

  #grow(): void {
    const [networks, systems] = [this.#networks, this.#systems];
    this.#networks = new BigUint64Array(networks.length * 2);
    this.#networks.set(networks);
    this.#systems = new Uint32Array(systems.length * 2);
    this.#systems.set(systems);
  }

  /** Sorts what was not added in order, and gives back the memory that is not needed. */
  finish(): void {
    const [networks, systems] = [
      this.#networks.subarray(0, this.#count),
      this.#systems.subarray(0, this.#count),
    ];
    if (this.#isSorted) {
      [this.#networks, this.#systems] = [networks.slice(), systems.slice()];
      return;
    }
    const order = Uint32Array.from(networks, (_network, index) => index).sort((a, b) =>
      Number(
        BigInt.asIntN(64, (networks[a] as bigint) - (networks[b] as bigint)) < 0n
          ? -1
          : networks[a] === networks[b]
            ? 0
            : 1,
      ),
    );
    this.#networks = BigUint64Array.from(order, (index) => networks[index] as bigint);
    this.#systems = Uint32Array.from(order, (index) => systems[index] as number);
  }

  systemsOf(network: bigint): readonly number[] {
    let [low, high] = [0, this.#count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#networks[middle] as bigint) < network) low = middle + 1;
      else high = middle;
    }
    const found: number[] = [];
    for (let at = low; at < this.#count && this.#networks[at] === network; at += 1)
      found.push(this.#systems[at] as number);
    return found;
  }
}

const longestInBucket = 64;

/** Collects the lines of a table. */
export function buildAsTable(): AsTableBuilder {
  const buckets = new Map<string, Bucket>();
  /** By length and network, for prefixes that are longer than 64 bits. */
  const longer = new Map<string, number[]>();
  const longLengths = new Set<number>();
  let prefixes = 0;
  return {
    add: ({ network: { value, width }, prefix }, system) => {
      prefixes += 1;
      const host = BigInt(width - prefix);
      const network = (value >> host) << host;
      if (prefix > longestInBucket) {
        longLengths.add(prefix);
        longer.set(`${prefix}/${network}`, [...(longer.get(`${prefix}/${network}`) ?? []), system]);
        return;
      }
      const key = `${width}/${prefix}`;
      const bucket = buckets.get(key) ?? new Bucket();
      buckets.set(key, bucket);
      bucket.add(leading(network, width), system);
    },
    finish: () => {
      for (const bucket of buckets.values()) bucket.finish();
      const lengths = [...longLengths].sort((a, b) => b - a);
      return { prefixes, systemsOf: (address) => systemsOf(address, { buckets, longer, lengths }) };
    },
  };
}

function leading(network: bigint, width: 32 | 128): bigint {
  return width === 32 ? network << 32n : network >> 64n;
}

interface Tables {
  readonly buckets: ReadonlyMap<string, Bucket>;
  readonly longer: ReadonlyMap<string, readonly number[]>;
  /** The lengths of `longer`, descending. */
  readonly lengths: readonly number[];
}

function systemsOf(address: string, { buckets, longer, lengths }: Tables): readonly number[] {
  const bits = parseAddress(address);
  if (bits === null) return [];
  const { value, width } = bits;
  const masked = (length: number): bigint => (value >> BigInt(width - length)) << BigInt(width - length);
  if (width === 128)
    for (const length of lengths) {
      const systems = longer.get(`${length}/${masked(length)}`);
      if (systems !== undefined) return systems;
    }
  for (let length = Math.min(width, longestInBucket); length >= 0; length -= 1) {
    const systems = buckets.get(`${width}/${length}`)?.systemsOf(leading(masked(length), width)) ?? [];
    if (systems.length > 0) return systems;
  }
  return [];
}

// From which networks keys sign: the party of a key hears of each, and tells its people of one that is new.
//   KN1. No request waits for it. A network is told once a day by each node that sees it, and again after whatever failed.
//   KN2. Only the network is told, never the address, and only of a request that was genuine: a copy of one tells nothing.
//   KN3. What is remembered here, and what is under way, are bounded.

export interface KeyNetworks {
  note(caller: Pick<Caller, "key">, address: string | null): void;
}

const networksMax = 100_000;
const underWayMax = 64;
const againMs = 86_400_000;

/** Tells a party's actor, without anybody waiting, of a network that one of its keys signed from, once a day for each. */
export function createKeyNetworks({ actors, clock }: Actors & { readonly clock: Clock }): KeyNetworks {
  const toldAtMs = new BoundedMap<string, number>(networksMax);
  let underWay = 0;
  return {
    note: ({ key: { key_id, party_uuid } }, address) => {
      const network = address === null ? null : networkOf(address);
      if (network === null) return;
      const name = `${key_id} ${network}`;
      const nowMs = clock.now();
      const before = toldAtMs.get(name);
      if ((before !== undefined && nowMs - before < againMs) || underWay >= underWayMax) return;
      toldAtMs.set(name, nowMs);
      underWay += 1;
      actors
        .ask(businessRef(party_uuid), { type: "network.seen", key_id, network })
        .catch(() => toldAtMs.set(name, Number.NEGATIVE_INFINITY))
        .finally(() => {
          underWay -= 1;
        });
    },
  };
}
