// Text analysis: turns text into the terms that are indexed and searched, identically at both times and on every engine.
//   1. Fold: apply NFKC and lower case, and remove diacritics and invisible characters (protocol/records/fold-text.ts).
//   2. Split into words, which are runs of letters, digits and marks; an apostrophe inside a word is dropped.
//   3. Turn scripts written without spaces into overlapping pairs of characters.
// A term contains no white space and is well-formed, so terms joined by spaces split back into the same terms. Words are
// indexed as they are written: singular and plural (english-plurals.ts) and misspellings (misspelling.ts) are forms that a
// query looks for, so that an exact match can be told from a looser one.

import { foldText } from "../protocol/records/fold-text.ts";
import type { QueryWord } from "../storage/row-index.ts";
import { numberForms } from "./english-plurals.ts";

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
