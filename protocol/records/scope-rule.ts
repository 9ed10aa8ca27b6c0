// The scope rule (specification, «Publish behaviour» 5): a record speaks only for its own business. Its texts do not tell a
// reader how to treat other sources; that they do not name other companies is checked in company-name-rule.ts. The lexicons
// in directives/ alone determine what is found, so that a refusal can be explained and repeated:
//   S1. Texts are compared as folded words (fold-text.ts); punctuation, case, accents and look-alikes do not matter.
//   S2. A directive is a phrase of one of the languages in directives/, whatever language the record says it is written in.
//   S3. A word that is broken by marks or spaced out («ig-nore», «i g n o r e») is read as the word as well.

import { lexicons } from "./directives/lexicons.ts";
import { createPhraseGrammar } from "./directives/phrase-grammar.ts";
import { findUnspaced, mayBeUnspaced } from "./directives/unspaced-languages.ts";
import { foldedWords, foldText } from "./fold-text.ts";
import { mayHaveWords } from "./word-filter.ts";

const grammar = createPhraseGrammar(lexicons);

/** @internal for tests: codes of the languages in which directives are found. */
export const directiveLanguages: readonly string[] = [...lexicons.map(({ code }) => code), ...["zh", "ja"]];

/** Every directive in a text of ASCII characters has one of these words, unless it is broken (S3). */
export const directiveOpenings = grammar.openings;

/** The first directive in a text, whose folded words are `words`; null when there is none. */
export function findDirective(text: string, words: readonly string[]): string | null {
  return findPhrase(words) ?? (mayBeUnspaced(text, words) ? findUnspaced(foldText(text)) : null);
}

function findPhrase(words: readonly string[]): string | null {
  const found = grammar.find(words);
  return found === null ? null : words.slice(found[0], found[1] + 1).join(" ");
}

/** The first directive in a text with broken words, read as whole words; null when there is none (S3). */
export function findBrokenDirective(text: string): string | null {
  if (!broken.test(text)) return null;
  const whole = text.replace(within, "").replace(spacedOut, (letters) => letters.replaceAll(" ", ""));
  return mayHaveWords(whole, [directiveOpenings]) ? findPhrase(foldedWords(whole)) : null;
}

const mark = "[-_*.·•|~^]";
const broken = new RegExp(`${mark}(?<=\\p{L}.)\\p{L}|(?<!\\p{L})\\p{L} \\p{L} \\p{L}(?!\\p{L})`, "u");
const within = new RegExp(`(?<=\\p{L})${mark}+(?=\\p{L})`, "gu");
const spacedOut = /(?<!\p{L})\p{L}(?: \p{L}){2,}(?!\p{L})/gu;
