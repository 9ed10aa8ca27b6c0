// Relevance (`_text_match`): how well a row matches a text, computed from the row and the query alone.
//   relevance = sum over the query's words of the best of the word's terms that the row has
//   term      = bonus(how the term is related to the word) + sum over the searched fields of
//               impact(times the term occurs, terms in the text)
// The bonus decides first: the word as it is written, then its singular or plural, then a misspelling. The impact is Okapi
// BM25's saturation (k1 = 1.2, b = 0.75) against a text of {@link lengthUsual} terms, in whole steps of 1/127. It does not
// depend on other rows: every matching row contains every word, so a term's rarity would say little, and statistics over all
// rows differ between engines, regions and replicas, and shift a row's rank when rows that the caller may not see come and
// go. Integers add up without rounding, so every engine gets the same sum and the same ties.

import type { QueryWord } from "../storage/row-index.ts";

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
