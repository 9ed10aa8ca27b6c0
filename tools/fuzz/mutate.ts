// Mutations of an input: of single bytes, of parts, of words of its grammar. They depend only on the given random numbers.

/** Returns an integer at least 0 and below `end`. */
export type Random = (end: number) => number;

const lengthMax = 16_384;
const edges = [
  0x00, 0x01, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xe2, 0xed, 0xf4, 0xff,
];
const encoder = new TextEncoder();

/** The input with one to eight mutations, at most 16 KiB long. */
export function mutate(
  input: Uint8Array,
  from: { readonly others: readonly Uint8Array[]; readonly words: readonly string[] },
  random: Random,
): Uint8Array {
  let changed = input;
  for (let left = 1 + random(8); left > 0; left -= 1) changed = change(changed, from, random);
  return changed.length > lengthMax ? changed.subarray(0, lengthMax) : changed;
}

function change(
  input: Uint8Array,
  { others, words }: Parameters<typeof mutate>[1],
  random: Random,
): Uint8Array {
  const at = random(input.length + 1);
  const length = Math.min(input.length - at, 1 + random(random(4) === 0 ? 256 : 8));
  switch (random(10)) {
    case 0:
    case 1:
      return spliced(input, at, Math.min(1, input.length - at), Uint8Array.of(random(256)));
    case 2:
      return spliced(
        input,
        at,
        Math.min(1, input.length - at),
        Uint8Array.of(edges[random(edges.length)] ?? 0),
      );
    case 3:
      return spliced(input, at, length, new Uint8Array());
    case 4:
      return spliced(input, at, 0, input.subarray(at, at + length));
    case 5: {
      const other = others[random(others.length)] ?? input;
      const start = random(other.length + 1);
      return spliced(input, at, length, other.subarray(start, start + 1 + random(64)));
    }
    case 6:
      return spliced(input, at, 0, repeated(input.subarray(at, at + 1), 1 + random(300)));
    case 7:
      return flipped(input, at, random(8));
    default:
      return spliced(
        input,
        at,
        random(3) === 0 ? length : 0,
        encoder.encode(words[random(words.length)] ?? ""),
      );
  }
}

function spliced(input: Uint8Array, at: number, removed: number, put: Uint8Array): Uint8Array {
  const output = new Uint8Array(input.length - removed + put.length);
  output.set(input.subarray(0, at));
  output.set(put, at);
  output.set(input.subarray(at + removed), at + put.length);
  return output;
}

function repeated(part: Uint8Array, times: number): Uint8Array {
  return new Uint8Array(part.length * times).fill(part[0] ?? 0);
}

function flipped(input: Uint8Array, at: number, bit: number): Uint8Array {
  const output = input.slice();
  if (at < output.length) output[at] = (output[at] ?? 0) ^ (1 << bit);
  return output;
}
