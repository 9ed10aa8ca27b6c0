// Words that are misspelt by one edit: a letter too many, a letter missing, a wrong letter, or two neighbours swapped
// (Damerau's four). Every spelling one edit away is written out from the query word alone; which of them occur is then
// looked up like any term. So the index needs nothing for it, its size and its engine make no difference, and a search
// that finds something as it is written does no work for it.
//   M1. Spellings count only if no row matches the text as it is written: no row that is published in the country, of a
//       business that is not excluded. Filters do not matter for this, or a narrower search could find other rows.
//   M2. Only words of letters of one alphabet, and of {@link lettersMin} to {@link lettersMax} of them, are misspelt: a digit
//       in a size or a model number is never a mistake. The first {@link misspeltWordsMax} such words of a text are.
//   M3. At most {@link spellingsMax} spellings of a word count: the first ones, in the order in which they are written out
//       here, that occur in a searched field of a row of the country.

import type { QueryText, QueryWord } from "../storage/row-index.ts";

const lettersMin = 5;
const lettersMax = 24;
/** Words of one text that may be misspelt. */
export const misspeltWordsMax = 8;
/** Spellings of one word that are searched for. */
export const spellingsMax = 32;

/** The letters of folded words (protocol/records/fold-text.ts). */
const alphabets: readonly string[] = [
  "abcdefghijklmnopqrstuvwxyz",
  "αβγδεζηθικλμνξοπρστυφχψω",
  "абвгдежзиклмнопрстуфхцчшщъыьэюяђєіјљњћџґ",
];
const wholeWords = alphabets.map((letters) => new RegExp(`^[${letters}]{${lettersMin},${lettersMax}}$`, "u"));
const spelling = new RegExp(
  alphabets.map((letters) => `^[${letters}]{${lettersMin - 1},${lettersMax + 1}}$`).join("|"),
  "u",
);

/** Whether a term can be one edit away from a word. */
export function isSpelling(term: string): boolean {
  return spelling.test(term);
}

/** The spellings one edit away from a word; none for a word that is never misspelt (M2). */
export function spellingsOf(word: string): readonly string[] {
  const letters = alphabets[wholeWords.findIndex((whole) => whole.test(word))];
  if (letters === undefined) return [];
  const spellings = new Set<string>();
  const add = (head: number, middle: string, tail: number): void => {
    spellings.add(`${word.slice(0, head)}${middle}${word.slice(tail)}`);
  };
  for (let at = 0; at + 1 < word.length; at += 1) add(at, `${word[at + 1]}${word[at]}`, at + 2);
  for (let at = 0; at < word.length; at += 1) add(at, "", at + 1);
  for (let at = 0; at < word.length; at += 1) for (const letter of letters) add(at, letter, at + 1);
  for (let at = 0; at <= word.length; at += 1) for (const letter of letters) add(at, letter, at);
  spellings.delete(word);
  return [...spellings];
}

/** For each word of a text, the spellings one edit away from it or from its singular or plural; empty lists by M2. */
export function spellingsOfText({ words }: QueryText): readonly (readonly string[])[] {
  let misspelt = 0;
  return words.map((word) => {
    if (misspelt === misspeltWordsMax) return [];
    const spellings = spellingsOfWord(word);
    if (spellings.length > 0) misspelt += 1;
    return spellings;
  });
}

function spellingsOfWord({ exact, forms }: QueryWord): readonly string[] {
  const ofExact = spellingsOf(exact);
  if (ofExact.length === 0) return [];
  const spellings = new Set([...ofExact, ...forms.flatMap(spellingsOf)]);
  for (const written of [exact, ...forms]) spellings.delete(written);
  return [...spellings];
}

/**
 * The text with those of its spellings (`spellingsOfText`) that count (M3). `occurs` says whether a term occurs in a searched field of a row of the
 * country. Null if no row can match: no word has such a spelling, or one has nothing that occurs.
 */
export function withSpellings(
  text: QueryText,
  spellings: readonly (readonly string[])[],
  occurs: (term: string) => boolean,
): QueryText | null {
  let isMore = false;
  const words: QueryWord[] = [];
  for (const [index, word] of text.words.entries()) {
    const found: string[] = [];
    for (const each of spellings[index] ?? []) {
      if (found.length === spellingsMax) break;
      if (occurs(each)) found.push(each);
    }
    if (found.length === 0 && ![word.exact, ...word.forms].some(occurs)) return null;
    isMore ||= found.length > 0;
    words.push({ ...word, spellings: found });
  }
  return isMore ? { ...text, words } : null;
}
