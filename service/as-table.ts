// Which autonomous system an address belongs to, by the operator's table of prefixes (RFC 4632, RFC 6793).
//   A1. The longest prefix that contains an address decides; a prefix may belong to several systems.
//   A2. Memory is 12 bytes for each prefix, in one pair of arrays for each length, which are sorted by network; prefixes
//       longer than /64 of IPv6, which no routing table has, are kept apart.

import { type AddressRange, parseAddress } from "../std/ip-address.ts";

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
