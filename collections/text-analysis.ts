// Text analysis: turns text into the terms that are indexed and searched, identically at both times and on every engine.
//   1. Fold: apply NFKC and lower case, and remove diacritics and invisible characters (protocol/records/fold-text.ts).
//   2. Split into words, which are runs of letters, digits and marks; an apostrophe inside a word is dropped.
//   3. Turn scripts written without spaces into overlapping pairs of characters.
// A term contains no white space and is well-formed, so terms joined by spaces split back into the same terms. Words are
// indexed as they are written: singular and plural and misspellings are forms that a
// query looks for, so that an exact match can be told from a looser one.

import { foldText } from "../protocol/records/fold-text.ts";
import type { QueryText, QueryWord } from "../storage/row-index.ts";

/** Incremented with every change to the analysis below: an index that was analysed otherwise is rebuilt from its rows. */
export const analysisVersion = 1;

/** Longer words are truncated, both when indexing and when searching. */
const termLengthMax = 64;

const apostrophes = /['\u2019\u02bc]/g;
const words = /[\p{L}\p{N}\p{M}]+/gu;
const notAscii = /\P{ASCII}/u;
const unspaced =
  /[\p{Script_Extensions=Han}\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script_Extensions=Thai}\p{Script_Extensions=Lao}\p{Script_Extensions=Khmer}\p{Script_Extensions=Myanmar}]+/gu;

/** The terms of a text, in order and with repetitions. */
export function analyse(text: string): readonly string[] {
  const found = foldText(text).replace(apostrophes, "").match(words);
  if (found === null) return [];
  const terms: string[] = [];
  for (const word of found) {
    if (notAscii.test(word)) addForeign(terms, word);
    else terms.push(cut(word));
  }
  return terms;
}

/** The distinct words of a query with their other forms, in order of first occurrence. */
export function queryWords(q: string): readonly QueryWord[] {
  return [...new Set(analyse(q))].map((exact) => ({ exact, forms: numberForms(exact) }));
}

function addForeign(terms: string[], word: string): void {
  let rest = 0;
  for (const match of word.matchAll(unspaced)) {
    if (match.index > rest) terms.push(cut(word.slice(rest, match.index)));
    addPairs(terms, match[0]);
    rest = match.index + match[0].length;
  }
  if (rest < word.length) terms.push(cut(word.slice(rest)));
}

/** Adds a single-character run as one term, and a longer run as its overlapping pairs. */
function addPairs(terms: string[], run: string): void {
  const characters = [...run];
  if (characters.length === 1) terms.push(run);
  for (let index = 1; index < characters.length; index += 1) {
    terms.push(`${characters[index - 1]}${characters[index]}`);
  }
}

function cut(word: string): string {
  if (word.length <= termLengthMax) return word;
  const head = word.slice(0, termLengthMax);
  return head.isWellFormed() ? head : head.slice(0, -1);
}

// Singular and plural of English words, by rules of spelling and a short list of irregular words. They apply whatever the
// language of the text, since a query does not state one: another language's plurals in -s are found as well.
// Two words are forms of each other in both directions, because singulars are defined by the plurals that they have. The
// rules may name words that do not exist, which no row contains. Verbs are left alone: to a shopper, bedding is not a bed.

const lettersMin = 3;
const plainWord = /^[a-z]+$/;

const irregularPlurals: ReadonlyMap<string, string> = new Map([
  ["child", "children"],
  ["foot", "feet"],
  ["goose", "geese"],
  ["lens", "lenses"],
  ["man", "men"],
  ["mouse", "mice"],
  ["person", "people"],
  ["quiz", "quizzes"],
  ["tooth", "teeth"],
  ["woman", "women"],
]);
const irregularSingulars: ReadonlyMap<string, string> = new Map(
  [...irregularPlurals].map(([singular, plural]) => [plural, singular]),
);
/** Words in -s that are not plurals of a shorter word. */
const invariable: ReadonlySet<string> = new Set(["always", "news", "perhaps", "series", "species"]);

/** A word in another -s is a plural already. */
const sibilant = /(?:ss|us|is|as|os|sh|ch|x|z)$/;
/** `shelf`, `leaf`, `loaf`, `scarf`, `thief`, `hoof`; `knife`, `wife`, `life`. Not `roof` and `cafe`. */
const softened = /(?:(?:l|ea|oa|ar|ie|[^r]oo)f|(?:kn|w|l)ife)$/;
/** `basis`, `thesis`, `crisis`, `diagnosis`, `analysis`, `axis`. */
const greekIs = /(?:[aeioy]s|ax)is$/;
const consonantY = /[^aeiou]y$/;

/**
 * The other forms of a folded word: its plurals if it can be a singular, its singulars if it can be a plural, and their
 * other plurals, so that `salarys` finds `salaries`.
 */
export function numberForms(word: string): readonly string[] {
  if (!plainWord.test(word)) return [];
  const singulars = singularsOf(word);
  const forms = new Set([...singulars, ...pluralsOf(word), ...singulars.flatMap(pluralsOf)]);
  forms.delete(word);
  return [...forms];
}

function singularsOf(word: string): readonly string[] {
  const irregular = irregularSingulars.get(word);
  if (irregular !== undefined) return [irregular];
  if (!word.endsWith("s")) return [];
  const candidates = [word.slice(0, -1)];
  if (word.endsWith("es")) candidates.push(word.slice(0, -2), `${word.slice(0, -2)}is`);
  if (word.endsWith("ies")) candidates.push(`${word.slice(0, -3)}y`);
  if (word.endsWith("ves")) candidates.push(`${word.slice(0, -3)}f`, `${word.slice(0, -3)}fe`);
  return candidates.filter((singular) => pluralsOf(singular).includes(word));
}

function pluralsOf(word: string): readonly string[] {
  if (word.length < lettersMin || invariable.has(word)) return [];
  const irregular = irregularPlurals.get(word);
  const plurals = irregular === undefined ? regularPlurals(word) : [irregular];
  // Of every word, also a possessive without its apostrophe: `womens`.
  if (!word.endsWith("s")) plurals.push(`${word}s`);
  return plurals.filter((plural) => !invariable.has(plural));
}

/** The plurals that are not just the word with an -s. */
function regularPlurals(word: string): string[] {
  if (consonantY.test(word)) return [`${word.slice(0, -1)}ies`];
  if (greekIs.test(word)) return [`${word.slice(0, -2)}es`];
  if (sibilant.test(word) || (word.endsWith("o") && word.length > lettersMin)) return [`${word}es`];
  if (softened.test(word)) return [word.replace(/fe?$/, "ves")];
  return [];
}

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

const misspeltLettersMin = 5;
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
const wholeWords = alphabets.map(
  (letters) => new RegExp(`^[${letters}]{${misspeltLettersMin},${lettersMax}}$`, "u"),
);
const spelling = new RegExp(
  alphabets.map((letters) => `^[${letters}]{${misspeltLettersMin - 1},${lettersMax + 1}}$`).join("|"),
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

// Relevance (`_text_match`): how well a row matches a text, computed from the row and the query alone.
//   relevance = sum over the query's words of the best of the word's terms that the row has
//   term      = bonus(how the term is related to the word) + sum over the searched fields of
//               impact(times the term occurs, terms in the text)
// The bonus decides first: the word as it is written, then its singular or plural, then a misspelling. The impact is Okapi
// BM25's saturation (k1 = 1.2, b = 0.75) against a text of {@link lengthUsual} terms, in whole steps of 1/127. It does not
// depend on other rows: every matching row contains every word, so a term's rarity would say little, and statistics over all
// rows differ between engines, regions and replicas, and shift a row's rank when rows that the caller may not see come and
// go. Integers add up without rounding, so every engine gets the same sum and the same ties.

/** Incremented with every change to the impacts: an index that holds others is rebuilt. */
export const relevanceVersion = 1;

const k1 = 1.2;
const b = 0.75;
/** Number of terms in a text that is neither short nor long. */
const lengthUsual = 16;

/** Greatest impact; the sum over four fields still fits in nine bits, and is less than {@link bonusStep}. */
export const impactMax = 127;
/** Values above this, for frequency or length, make no difference. */
const frequencyMax = 255;
const lengthMax = 65_535;

/** Impact of a term on the relevance of one text: 1 to {@link impactMax}, or 0 for a term that does not occur. */
export function termImpact(frequency: number, length: number): number {
  if (frequency === 0) return 0;
  const times = Math.min(frequency, frequencyMax);
  const norm = k1 * (1 - b + (b * Math.min(length, lengthMax)) / lengthUsual);
  return Math.max(1, Math.round((impactMax * times) / (times + norm)));
}

/** More than the impacts of a term in four fields add up to. */
const bonusStep = 512;

/** A term that a word matches, and what it adds to the relevance beside its impacts. */
export interface WordTerm {
  readonly term: string;
  readonly bonus: number;
}

/** The terms of a word, the best first. */
export function wordTerms({ exact, forms, spellings = [] }: QueryWord): readonly WordTerm[] {
  return [
    { term: exact, bonus: 2 * bonusStep },
    ...forms.map((term) => ({ term, bonus: bonusStep })),
    ...spellings.map((term) => ({ term, bonus: 0 })),
  ];
}
