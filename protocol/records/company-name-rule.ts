// When words of a text name a company that the service certified. Many companies are called like things («Orange SA»,
// «Garden Furniture Ltd»), and a shop that writes of garden furniture names nobody. What tells a name from the words it
// is made of is how it is written, so whoever means the words can always write them so. A certified name, without its
// legal form, is named
//   N1. where a legal form follows it, whichever: «orange ltd», «Orange SA»; a form that may be another word («as», «se»,
//       «limited») counts in its own spelling behind capitals only;
//   N2. where it has three words or more of four letters or more, however it is written;
//   N3. where it has two words or more, and the first and the last of them begin with a capital;
//   N4. where it is one word that is written with a capital which its place does not explain: not at the beginning of a
//       sentence, not in a title or in a sentence of capitals, and not in a language that gives capitals to every noun.
//       A capital inside a word («eBay») counts everywhere. Without capitals in its script, it has six characters or more;
//   N5. where a member that is a name (a brand) is that name and nothing else.
// Words that are part of a longer name that the business may say name only that one.

import { nameLettersMin } from "./content-lists.ts";
import type { TextRole } from "./fields.ts";
import { type WrittenText, type WrittenWord, writtenText } from "./fold-text.ts";
import { legalFormAt, mayBeLegalForm, wordsWithoutLegalForm } from "./legal-form.ts";
import type { NameIndex, NameMatch } from "./name-index.ts";

export interface NamingText {
  readonly text: string;
  readonly role: TextRole;
  /** Code of the language that the record says it is written in. */
  readonly language: string;
}

/** Whether a match lies within a name that the business may say. */
export type IsFree = (match: NameMatch) => boolean;

const longWordLength = 4;
const longWordsMin = 3;
const uncasedLengthMin = 6;
/** German and Luxembourgish. */
const capitalNouns = new Set(["de", "lb"]);

/** Folded words by which a certified company is looked for: none of a name too short, or without a letter («24/7 Ltd»). */
export function companyWords(legalName: string): readonly string[] {
  const words = wordsWithoutLegalForm(legalName);
  const joined = words.join("");
  return joined.length >= nameLettersMin && /\p{L}/u.test(joined) ? words : [];
}

/**
 * The first words of a text that name a company of the index, as they are written; null where there are none. `words` are
 * the folded words of the text. Most texts have no word of a certified name: only where they do is looked at how they are
 * written.
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
    // Of a company there is only one: «Apples» are none of Apple Ltd's, «Apple's» are.
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

/** Characters behind a name in which its legal form is looked for. */
const formReach = 60;

/** Written with a capital, or in a script that has none. */
function isCapital(word: string): boolean {
  return startsLarge.test(word) || /\p{Lu}/u.test(word) || !hasCase(word);
}

function hasCase(word: string): boolean {
  return /\p{Lu}|\p{Lt}|\p{Ll}/u.test(word);
}

interface Sentence {
  /** Of its first word. */
  readonly first: number;
  /** Its words, but the first one, that begin with a small letter, and with a capital. */
  small: number;
  large: number;
}

const startsSmall = /^\p{Ll}/u;
const startsLarge = /^(?:\p{Lu}|\p{Lt})/u;
/** What stands between two words of one sentence; a hyphen joins, a dash begins something. */
const withinSentence = /^(?:[^\S\n]|[,"'“”„«»‘’(&+/]|(?<!\s)-(?!\s))*$/u;

/** The sentence of every word. */
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

/** A word that has a capital and is not the first of its sentence, where most others begin with small letters. */
function isCapitalInRunningText({ first, small, large }: Sentence, at: number): boolean {
  return at !== first && small > large - 1;
}
