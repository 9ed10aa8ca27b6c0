// Relevance (`_text_match`): how well a row matches a text, from the row and the query alone.
//   relevance = sum over the query's terms and the searched fields of impact(times the term occurs, terms in the text)
// The impact is Okapi BM25's saturation (k1 = 1.2, b = 0.75) against a text of {@link lengthUsual} terms, in whole steps of
// 1/127. There is nothing in it of other rows: every row found has every term, so a term's rarity would say little, and
// statistics of all rows differ between engines, regions and copies, and move a row's rank when rows come and go that the
// caller may not see. Whole numbers are added without rounding, so every engine comes to the same sum and the same ties.

/** Raised by every change of what follows: an index that holds impacts of an earlier version is made again. */
export const relevanceVersion = 1;

const k1 = 1.2;
const b = 0.75;
/** Terms of a text that is neither short nor long. */
const lengthUsual = 16;

/** Greatest impact; that of four fields together still is a number of nine bits. */
export const impactMax = 127;
/** More of either changes nothing. */
const frequencyMax = 255;
const lengthMax = 65_535;

/** Impact of a term on the relevance of one text: 1 to {@link impactMax}; 0 for a term that does not occur. */
export function termImpact(frequency: number, length: number): number {
  if (frequency === 0) return 0;
  const times = Math.min(frequency, frequencyMax);
  const norm = k1 * (1 - b + (b * Math.min(length, lengthMax)) / lengthUsual);
  return Math.max(1, Math.round((impactMax * times) / (times + norm)));
}
