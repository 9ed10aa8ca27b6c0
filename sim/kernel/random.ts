// Seeded randomness, forked by purpose: the draws of one purpose never shift those of another, so that turning a fault on
// or off leaves the workload of a seed unchanged.

/** Small fast counter generator (sfc32, C. Doty-Humphrey) with 128 bits of state; it passes PractRand. */
export class Random {
  readonly #key: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  private constructor(key: number, salt: number) {
    this.#key = key;
    this.#a = key;
    this.#b = salt;
    this.#c = Math.imul(key ^ salt, 0x9e3779b1) >>> 0;
    for (let round = 0; round < 12; round += 1) this.next();
  }

  static of(seed: number): Random {
    return new Random(mix(seed >>> 0, 0x51ed270b), mix(Math.floor(seed / 0x1_0000_0000) >>> 0, 0x2545f491));
  }

  /** A separate generator for `purpose`, which does not depend on how much was drawn from this one. */
  fork(purpose: string): Random {
    let key = this.#key;
    for (let index = 0; index < purpose.length; index += 1) key = mix(key, purpose.charCodeAt(index));
    return new Random(key, mix(key, 0x68bc21eb));
  }

  /** The next 32 bits. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }

  /** A number at least 0 and below 1. */
  float(): number {
    return this.next() / 0x1_0000_0000;
  }

  below(max: number): number {
    return Math.floor(this.float() * max);
  }

  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.float() < probability;
  }

  /** Mostly near `min`, occasionally up to `max`: the distribution of latencies. */
  skewed(min: number, max: number): number {
    const x = this.float();
    return min + Math.floor(x * x * x * (max - min + 1));
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.below(list.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  /** A name, drawn with its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const names = Object.keys(weights) as K[];
    let left = this.float() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      left -= weights[name];
      if (left < 0) return name;
    }
    return names[names.length - 1] as K;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let index = 0; index < length; index += 1) bytes[index] = this.next() & 0xff;
    return bytes;
  }

  hex(length: number): string {
    let text = "";
    while (text.length < length) text += this.next().toString(16).padStart(8, "0");
    return text.slice(0, length);
  }

  uuid(): string {
    const hex = this.hex(32);
    const variant = "89ab"[this.below(4)];
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}

/** Murmur's finalizer over both values, so that similar keys give unrelated generators. */
function mix(key: number, value: number): number {
  let mixed = (key ^ Math.imul(value + 0x9e3779b9, 0x85ebca6b)) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
