// Text analysis: turns text into the terms that are indexed and searched, identically at both times and on every engine.
//   1. Fold: apply NFKC and lower case, and remove diacritics and invisible characters (protocol/records/fold-text.ts).
//   2. Split into words, which are runs of letters, digits and marks; an apostrophe inside a word is dropped.
//   3. Turn scripts written without spaces into overlapping pairs of characters.
//   4. Stem: strip English plural endings, whatever the language of the text, since a query does not state one.
// A term contains no white space and is well-formed, so terms joined by spaces split back into the same terms.

import { foldText } from "../protocol/records/fold-text.ts";

/** Incremented with every change to the code below: an index analysed by an earlier version is rebuilt from its rows. */
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
    else terms.push(stem(cut(word)));
  }
  return terms;
}

/** The distinct terms of a query, in order of first occurrence. */
export function queryTerms(q: string): readonly string[] {
  return [...new Set(analyse(q))];
}

function addForeign(terms: string[], word: string): void {
  let rest = 0;
  for (const match of word.matchAll(unspaced)) {
    if (match.index > rest) terms.push(stem(cut(word.slice(rest, match.index))));
    addPairs(terms, match[0]);
    rest = match.index + match[0].length;
  }
  if (rest < word.length) terms.push(stem(cut(word.slice(rest))));
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

const lastLetter = /[a-z]s$|ie$/;
const sibilantPlural = /(?:ss|sh|ch|x|zz)es$/;
const notPlural = /(?:ss|us|is)$/;

/**
 * Reduces an English plural to its singular by rules alone: `-ies` (in words of more than four letters) and `-ie` become
 * `-y`; `-es` is dropped after a sibilant and, in long words, after `o`; otherwise `-s` is dropped. `-ss`, `-us`, `-is` and
 * words of up to three letters stay. Verbs are left alone: to a shopper, bedding is not a bed.
 */
function stem(word: string): string {
  if (word.length < 4 || !lastLetter.test(word)) return word;
  if (word.endsWith("ie")) return `${word.slice(0, -2)}y`;
  if (notPlural.test(word)) return word;
  if (word.endsWith("ies")) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1);
  if (sibilantPlural.test(word) || (word.endsWith("oes") && word.length > 5)) return word.slice(0, -2);
  return word.slice(0, -1);
}
