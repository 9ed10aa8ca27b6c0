// The search of the documentation, for the server that makes the index and the script that looks words up in it.

/** Where each entry leads with its title, and the entries that have each word. */
export interface SearchIndex {
  readonly entries: readonly (readonly [href: string, title: string])[];
  readonly words: Readonly<Record<string, readonly number[]>>;
  /** Words that so many entries have that nobody finds anything by them. */
  readonly common: readonly string[];
}

export interface Searched {
  readonly href: string;
  readonly title: string;
  readonly text: string;
}

/** What is found by any of the words in titles and texts. */
export function indexOf(searched: readonly Searched[]): SearchIndex {
  const words = new Map<string, number[]>();
  for (const [at, { title, text }] of searched.entries()) {
    for (const word of new Set(wordsOf(`${title} ${text}`))) {
      const known = words.get(word);
      if (known === undefined) words.set(word, [at]);
      else known.push(at);
    }
  }
  const entries = searched.map(({ href, title }) => [href, title] as const);
  const isCommon = ([, where]: readonly [string, readonly number[]]): boolean =>
    where.length > searched.length / 4;
  const common = [...words].filter(isCommon).map(([word]) => word);
  for (const word of common) words.delete(word);
  return { entries, words: Object.fromEntries(words), common };
}

/** The entries that have a word with each of the beginnings in `query`; those with more of them in the title come first. */
export function lookUp({ entries, words, common }: SearchIndex, query: string): SearchIndex["entries"] {
  const asked = wordsOf(query).filter((each) => !common.includes(each));
  const names = Object.keys(words);
  const having = asked.map(
    (start) => new Set(names.filter((each) => each.startsWith(start)).flatMap((each) => words[each] ?? [])),
  );
  const rank = ([, title]: SearchIndex["entries"][number]): number => {
    const inTitle = wordsOf(title);
    return asked.filter((start) => inTitle.some((each) => each.startsWith(start))).length;
  };
  return entries
    .filter((_entry, at) => asked.length > 0 && having.every((each) => each.has(at)))
    .toSorted((a, b) => rank(b) - rank(a));
}

/** Words of three letters or more. Codes stay whole, so that they are found by their name. */
function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]{3,40}/gu) ?? [];
}
