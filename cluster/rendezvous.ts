// Rendezvous hashing: every member has a weight for every key, and the heaviest gets it (Thaler and Ravishankar, 1998). Nodes
// agree without communicating; a new member takes only the keys that it wins, and those of a removed member are spread evenly.
//   Z1. The answer depends only on the key and the set of addresses, and not on their order or on incarnations, so a
//       node that restarts has the same actors again.
//   Z2. The hash is not secret: a client that chooses keys chooses nodes. Only the distribution of load depends on it.

/** The part of a member that determines its weight. */
export interface Weighed {
  readonly address: string;
}

/** The member that has `key`; null if there are no members. */
export function placeOn<M extends Weighed>(key: string, members: readonly M[]): M | null {
  let best: M | null = null;
  let bestWeight: Weight = { high: -1, low: 0 };
  for (const member of members) {
    const weight = weightOf(key, member.address);
    if (
      best === null ||
      isHeavier(weight, bestWeight) ||
      (isSame(weight, bestWeight) && member.address < best.address)
    ) {
      best = member;
      bestWeight = weight;
    }
  }
  return best;
}

/** 64 bits in two unsigned halves. */
interface Weight {
  readonly high: number;
  readonly low: number;
}

function isHeavier(a: Weight, b: Weight): boolean {
  return a.high !== b.high ? a.high > b.high : a.low > b.low;
}

function isSame(a: Weight, b: Weight): boolean {
  return a.high === b.high && a.low === b.low;
}

/** Two lanes of multiply-and-rotate over the UTF-16 units, crossed and finished with MurmurHash3's avalanche. */
function weightOf(key: string, address: string): Weight {
  let a = 0x9e3779b9 ^ key.length;
  let b = 0x85ebca6b ^ address.length;
  for (const text of [key, address]) {
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      a = Math.imul(a ^ unit, 0xcc9e2d51);
      a = (a << 15) | (a >>> 17);
      b = Math.imul(b ^ unit, 0x1b873593) + a;
      b = (b << 13) | (b >>> 19);
    }
  }
  return { high: avalanche(a ^ Math.imul(b, 0x27d4eb2f)), low: avalanche(b + Math.imul(a, 0x165667b1)) };
}

function avalanche(bits: number): number {
  let mixed = bits ^ (bits >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
