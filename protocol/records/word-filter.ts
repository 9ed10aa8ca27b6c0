// A Bloom filter: shows for most texts, in one pass over their characters, that they contain none of a set of words, so that
// nothing has to be folded, split into words or looked up. It may answer «perhaps» for any text, but «none» only when there
// is none.
//   Y1. The words of a text are those of `foldedWords`. A text with letters outside ASCII always gives «perhaps».
//   Y2. A word with one s more than a word of the set counts as that word, because names are matched that way.
//   Y3. Words are never removed: a filter that outlives some only answers «perhaps» more often.
//   Y4. A text without such words is reported as broken if a mark is between two letters, or if three letters stand alone in a row:
//       it may have to be read again without those marks and spaces.

export interface WordFilter {
  add(word: string): void;
  /** Whether a word of the set may have this hash, as computed by {@link hashOf}. */
  may(hash: number): boolean;
}

/** Bits per word, of which two are set: about one word in a thousand outside the set is a false positive. */
const bitsOfWord = 64;
const bitsMin = 4_096;

/** Creates a filter of these words. */
export function createWordFilter(words: Iterable<string> = []): WordFilter {
  const hashes = new Set<number>();
  let bits = new Uint32Array(bitsMin / 32);
  let mask = bitsMin - 1;
  const set = (hash: number): void => {
    for (const each of [hash, again(hash)]) {
      const at = each & mask;
      bits[at >>> 5] = (bits[at >>> 5] as number) | (1 << (at & 31));
    }
  };
  const isSet = (hash: number): boolean => {
    const at = hash & mask;
    return ((bits[at >>> 5] as number) & (1 << (at & 31))) !== 0;
  };
  const grow = (): void => {
    mask = mask * 2 + 1;
    bits = new Uint32Array((mask + 1) / 32);
    for (const hash of hashes) set(hash);
  };
  const filter: WordFilter = {
    add: (word) => {
      const hash = hashOf(word);
      hashes.add(hash);
      if (hashes.size * bitsOfWord > mask + 1) grow();
      set(hash);
    },
    may: (hash) => isSet(hash) && isSet(again(hash)),
  };
  for (const word of words) filter.add(word);
  return filter;
}

/** What each ASCII character folds to within a word; 0 for a character that separates words. */
const folded = new Uint8Array(128);
for (const letter of "abcdefghijklmnopqrstuvwxyz0123456789") {
  folded[letter.charCodeAt(0)] = letter.charCodeAt(0);
  folded[letter.toUpperCase().charCodeAt(0)] = letter.charCodeAt(0);
}
/** ASCII marks that break a word when they follow one of its letters. */
const breaks = new Uint8Array(128);
for (const mark of "-_*.|~^") breaks[mark.charCodeAt(0)] = 1;
const apostrophe = 39;
const digit9 = 57;

function isLetter(code: number): boolean {
  return code < 128 ? (folded[code] as number) > digit9 : code > 127;
}
const letterS = 115;
const seed = 0x811c9dc5;

/** One step of FNV-1a; filters use its low bits. */
function next(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193);
}

/** Mixes the high bits into the low ones, which the steps alone never do. */
function end(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The second hash, for the second bit. */
function again(hash: number): number {
  const mixed = Math.imul(hash, 0x9e3779b1);
  return mixed ^ (mixed >>> 16);
}

function hashOf(word: string): number {
  let hash = seed;
  for (let at = 0; at < word.length; at += 1) hash = next(hash, word.charCodeAt(at));
  return end(hash);
}

/** Whether a text can contain a word of the sets: `broken` means only if words that marks break are read as whole (Y4). */
export type WordsFound = "none" | "perhaps" | "broken";

/** Returns `perhaps` unless no word of the text is in any of the sets (Y1, Y2). */
export function scanWords(text: string, filters: readonly WordFilter[]): WordsFound {
  let [hash, before, last] = [seed, seed, 0];
  let [start, single, isBroken] = [0, 0, false];
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (code > 127) return "perhaps";
    const letter = folded[code] as number;
    if (letter !== 0) {
      before = hash;
      hash = next(hash, letter);
      last = letter;
    } else {
      if (last !== 0 && code !== apostrophe) {
        for (const filter of filters)
          if (filter.may(end(hash)) || (last === letterS && filter.may(end(before)))) return "perhaps";
        single = at - start === 1 ? single + 1 : 0;
        isBroken ||= single > 2 || (breaks[code] === 1 && last > digit9 && isLetter(text.charCodeAt(at + 1)));
        hash = seed;
        last = 0;
      }
      start = at + 1;
    }
  }
  return isBroken ? "broken" : "none";
}

/** Returns false when no word of the text is in any of the sets (Y1, Y2). */
export function mayHaveWords(text: string, filters: readonly WordFilter[]): boolean {
  return scanWords(text, filters) === "perhaps";
}
