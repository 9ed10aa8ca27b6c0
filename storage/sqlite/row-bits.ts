// Sets of row numbers as bitmaps: number n is bit n % 32 of word floor(n / 32). Missing words are zero.

export type Bits = Uint32Array<ArrayBuffer>;

export function hasBit(bits: Bits, number: number): boolean {
  return (((bits[number >>> 5] ?? 0) >>> (number & 31)) & 1) === 1;
}

/** The set with or without a number; a different array if it had to grow. */
export function withBit(bits: Bits, number: number, isIn: boolean): Bits {
  const word = number >>> 5;
  let changed = bits;
  if (word >= bits.length) {
    if (!isIn) return bits;
    changed = new Uint32Array(Math.max(word + 1, bits.length * 2, 32));
    changed.set(bits);
  }
  const mask = 1 << (number & 31);
  changed[word] = isIn ? (changed[word] ?? 0) | mask : (changed[word] ?? 0) & ~mask;
  return changed;
}

/** Numbers that are in every one of the sets, of which there is at least one. */
export function intersect(sets: readonly Bits[]): Bits {
  const words = Math.min(...sets.map((bits) => bits.length));
  const [first, ...others] = sets;
  const common = new Uint32Array(words);
  if (first === undefined) return common;
  common.set(first.subarray(0, words));
  for (const bits of others)
    for (let word = 0; word < words; word += 1) common[word] = (common[word] ?? 0) & (bits[word] ?? 0);
  return common;
}

/** Numbers that are in one of two sets or in both. */
export function unite(a: Bits, b: Bits): Bits {
  const [longer, shorter] = a.length < b.length ? [b, a] : [a, b];
  const all = longer.slice();
  for (let word = 0; word < shorter.length; word += 1) all[word] = (all[word] ?? 0) | (shorter[word] ?? 0);
  return all;
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word += 1) {
    let rest = bits[word] ?? 0;
    for (; rest !== 0; rest &= rest - 1) count += 1;
  }
  return count;
}

/** The numbers in ascending order; `count` is how many there are. */
export function numbersOf(bits: Bits, count: number): Int32Array {
  const numbers = new Int32Array(count);
  let length = 0;
  for (let word = 0; word < bits.length; word += 1) {
    for (let rest = bits[word] ?? 0; rest !== 0; rest &= rest - 1) {
      numbers[length] = word * 32 + (31 - Math.clz32(rest & -rest));
      length += 1;
    }
  }
  return numbers;
}
