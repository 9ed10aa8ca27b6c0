// Names of companies and brands, for finding them in texts. A look at a text takes as long as the text is, however many
// names there are: a word begins a name or it does not, and then a few lengths of names are looked up.
//   X1. What is found is right: every length is looked up among the names themselves.
//   X2. Heads only say where to look. They outlive their names, so that a name is taken out without a search.

export interface NameIndex {
  /** Names that are in it now. */
  readonly size: number;
  /** Puts folded words in, once more if they are there. Words behind the 24th are cut off. */
  add(name: readonly string[]): void;
  /** Takes them out once. */
  remove(name: readonly string[]): void;
  /** Calls back with every name that stands in folded words, by its place, until it is answered true; answers whether it was. */
  some(words: readonly string[], found: (match: NameMatch) => boolean): boolean;
}

export interface NameMatch {
  readonly start: number;
  readonly end: number;
  /** The last word has an s more than the name's: a plural or a possessive. */
  readonly isInflected: boolean;
}

const nameWordsMax = 24;
/** Marks of a word: it is a name; it begins a name of two words; it begins a longer one. */
const [isName, beginsTwo, beginsMore] = [1, 2, 4];

/** An index of these names, each as its folded words. */
export function createNameIndex(names: Iterable<readonly string[]> = []): NameIndex {
  /** Names by their words, with how often each was put in. */
  const counts = new Map<string, number>();
  const firsts = new Map<string, number>();
  /** By the first two words of longer names: bit n is set where one has n words. */
  const lengths = new Map<string, number>();
  const matchOf = createMatcher({ counts, firsts, lengths });
  const index: NameIndex = {
    get size() {
      return counts.size;
    },
    add: (name) => {
      const cut = name.slice(0, nameWordsMax);
      const [first, second] = cut;
      if (first === undefined) return;
      const key = cut.join(" ");
      counts.set(key, (counts.get(key) ?? 0) + 1);
      const mark = cut.length === 1 ? isName : cut.length === 2 ? beginsTwo : beginsMore;
      firsts.set(first, (firsts.get(first) ?? 0) | mark);
      if (mark !== beginsMore) return;
      const pair = `${first} ${second}`;
      lengths.set(pair, (lengths.get(pair) ?? 0) | (1 << cut.length));
    },
    remove: (name) => {
      const key = name.slice(0, nameWordsMax).join(" ");
      const count = counts.get(key) ?? 0;
      if (count > 1) counts.set(key, count - 1);
      else counts.delete(key);
    },
    some: (words, found) => {
      if (counts.size === 0) return false;
      for (let start = 0; start < words.length; start += 1) if (matchOf(words, start, found)) return true;
      return false;
    },
  };
  for (const name of names) index.add(name);
  return index;
}

interface Tables {
  readonly counts: ReadonlyMap<string, number>;
  readonly firsts: ReadonlyMap<string, number>;
  readonly lengths: ReadonlyMap<string, number>;
}

type Matcher = (words: readonly string[], start: number, found: (match: NameMatch) => boolean) => boolean;

/** Looks for the names that begin at one word. */
function createMatcher({ counts, firsts, lengths }: Tables): Matcher {
  const isAt = (
    words: readonly string[],
    [start, end]: readonly [number, number],
    found: Parameters<Matcher>[2],
  ): boolean => {
    const key = end - start === 1 ? (words[start] as string) : words.slice(start, end).join(" ");
    if (counts.has(key)) return found({ start, end, isInflected: false });
    return key.endsWith("s") && counts.has(key.slice(0, -1)) && found({ start, end, isInflected: true });
  };
  return (words, start, found) => {
    const first = words[start] as string;
    const marks = firsts.get(first);
    if (marks === undefined) {
      if (!first.endsWith("s")) return false;
      const singular = firsts.get(first.slice(0, -1)) ?? 0;
      return (singular & isName) !== 0 && isAt(words, [start, start + 1], found);
    }
    if (isAt(words, [start, start + 1], found)) return true;
    if (marks === isName || start + 1 >= words.length) return false;
    if ((marks & beginsTwo) !== 0 && isAt(words, [start, start + 2], found)) return true;
    if ((marks & beginsMore) === 0) return false;
    const ofLengths = lengths.get(`${first} ${words[start + 1]}`) ?? 0;
    for (let length = 3; length <= nameWordsMax && ofLengths >> length !== 0; length += 1) {
      const isLength = ((ofLengths >> length) & 1) === 1 && start + length <= words.length;
      if (isLength && isAt(words, [start, start + length], found)) return true;
    }
    return false;
  };
}
