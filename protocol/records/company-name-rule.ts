// Decides when words in a text name a company that the service certified, or a brand that an operator confirmed as one's. Many companies are named after ordinary things
// («Orange SA», «Garden Furniture Ltd»), and a shop that writes about garden furniture names nobody. What distinguishes a
// name from the words it consists of is how it is written, so anyone who means the words can always write them accordingly.
// A certified name, without its legal form, is named
//   N1. where any legal form follows it: «orange ltd», «Orange SA»; a form that may be another word («as», «se», «limited»)
//       counts only in its own spelling and after capitals;
//   N2. where it has three or more words of at least four letters, however it is written;
//   N3. where it has two or more words, and the first and last of them start with a capital;
//   N4. where it is one word written with a capital that its position does not explain: not at the start of a sentence, not
//       in a title or in a sentence of capitals, and not in a language that capitalises every noun. A capital inside a word
//       («eBay») counts everywhere. If its script has no capitals, the name must have at least six characters;
//   N5. where a member that is a name (a brand) consists of that name and nothing else.
// Words that are part of a longer name that the business may use refer only to that name.

import { nameLettersMin } from "./content-lists.ts";
import { isEverydayName } from "./everyday-words.ts";
import type { TextRole } from "./fields.ts";
import { type WrittenText, type WrittenWord, writtenText } from "./fold-text.ts";
import { legalFormAt, mayBeLegalForm, wordsWithoutLegalForm } from "./legal-form.ts";
import type { NameIndex, NameMatch } from "./name-index.ts";

export interface NamingText {
  readonly text: string;
  readonly role: TextRole;
  /** Code of the language in which the record says it is written. */
  readonly language: string;
}

/** Whether a match lies within a name that the business may use. */
export type IsFree = (match: NameMatch) => boolean;

const longWordLength = 4;
const longWordsMin = 3;
const uncasedLengthMin = 6;
/** German and Luxembourgish. */
const capitalNouns = new Set(["de", "lb"]);

/**
 * The folded words used to look for a certified company; empty for a name that is too short or has no letter («24/7 Ltd»).
 */
export function companyWords(legalName: string): readonly string[] {
  const words = wordsWithoutLegalForm(legalName);
  const joined = words.join("");
  return joined.length >= nameLettersMin && /\p{L}/u.test(joined) ? words : [];
}

/** The folded words used to look for a brand that somebody owns; empty for a name that is also an everyday word. */
export function brandWords(name: string): readonly string[] {
  return isEverydayName(name) ? [] : companyWords(name);
}

/**
 * The first words of a text that name a company in the index, as written; null when there are none. `words` are the folded
 * words of the text. Most texts contain no word of a certified name; how words are written is examined only for those that
 * do.
 */
export function findCompany(
  naming: NamingText,
  words: readonly string[],
  names: NameIndex,
  isFreeIn: (words: readonly string[]) => IsFree,
): string | null {
  if (!names.some(words, () => true)) return null;
  const written = writtenText(naming.text, words);
  const folded = written.words.map((word) => word.folded);
  const isNamed = createNaming(written, naming);
  let named: string | null = null;
  let isFree: IsFree | null = null;
  names.some(folded, (match) => {
    if (!isNamed(match)) return false;
    isFree ??= isFreeIn(folded);
    if (isFree(match)) return false;
    named = written.text.slice(written.words[match.start]?.start, written.words[match.end - 1]?.end);
    return true;
  });
  return named;
}

function createNaming(written: WrittenText, { role, language }: NamingText): (match: NameMatch) => boolean {
  let sentences: readonly Sentence[] | null = null;
  return ({ start, end, isInflected }) => {
    const { written: first } = written.words[start] as WrittenWord;
    const last = written.words[end - 1] as WrittenWord;
    // A company has no plural: «Apples» does not mean Apple Ltd, «Apple's» does.
    if (isInflected && !/['\u2019\u02bc]+s$/i.test(last.written)) return false;
    const isAll = start === 0 && end === written.words.length;
    if (role === "name" && isAll) return true;
    const hasCapitals = isCapital(first) && isCapital(last.written);
    const form = formBehind(written, end);
    if (form === "plain" || (form === "capitals" && hasCapitals)) return true;
    if (end - start > 1) return hasCapitals || longWords(written, start, end) >= longWordsMin;
    if (!hasCapitals) return false;
    if (!hasCase(first)) return first.length >= uncasedLengthMin;
    if (/\p{Ll}\p{Lu}/u.test(first)) return true;
    if (capitalNouns.has(language)) return false;
    sentences ??= sentencesOf(written);
    return isCapitalInRunningText(sentences[start] as Sentence, start);
  };
}

function longWords({ words }: WrittenText, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at += 1) if ((words[at]?.folded.length ?? 0) >= longWordLength) count += 1;
  return count;
}

function formBehind({ text, words }: WrittenText, end: number): ReturnType<typeof legalFormAt> {
  const word = words[end];
  const last = words[end - 1];
  return word !== undefined && last !== undefined && mayBeLegalForm(word.folded)
    ? legalFormAt(text.slice(last.end, last.end + formReach))
    : null;
}

/** Number of characters after a name in which its legal form is looked for. */
const formReach = 60;

/** Whether a word has a capital, or is in a script that has none. */
function isCapital(word: string): boolean {
  return startsLarge.test(word) || /\p{Lu}/u.test(word) || !hasCase(word);
}

function hasCase(word: string): boolean {
  return /\p{Lu}|\p{Lt}|\p{Ll}/u.test(word);
}

interface Sentence {
  /** Index of its first word. */
  readonly first: number;
  /** How many of its words, not counting the first, start with a small letter or with a capital. */
  small: number;
  large: number;
}

const startsSmall = /^\p{Ll}/u;
const startsLarge = /^(?:\p{Lu}|\p{Lt})/u;
/** What may stand between two words of one sentence; a hyphen joins, a dash starts something new. */
const withinSentence = /^(?:[^\S\n]|[,"'“”„«»‘’(&+/]|(?<!\s)-(?!\s))*$/u;

/** The sentence to which each word belongs. */
function sentencesOf({ text, words }: WrittenText): readonly Sentence[] {
  let sentence: Sentence = { first: 0, small: 0, large: 0 };
  return words.map(({ written, start }, index) => {
    const isFirst = index === 0 || !withinSentence.test(text.slice(words[index - 1]?.end, start));
    if (isFirst) sentence = { first: index, small: 0, large: 0 };
    else if (startsSmall.test(written)) sentence.small += 1;
    else if (startsLarge.test(written)) sentence.large += 1;
    return sentence;
  });
}

/** Whether a capitalised word is not the first of its sentence and most other words there start with small letters. */
function isCapitalInRunningText({ first, small, large }: Sentence, at: number): boolean {
  return at !== first && small > large - 1;
}
