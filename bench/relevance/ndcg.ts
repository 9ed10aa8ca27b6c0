// Normalised discounted cumulative gain of the first ten (Järvelin and Kekäläinen 2002, with the gains 2^grade - 1 of Burges
// et al. 2005): 1 for the best possible order, 0 if nothing relevant is among them.

export const ranksMax = 10;

/** `found` has the grades in the order of the answer, `all` those of everything that could have been found. */
export function ndcg(found: readonly number[], all: readonly number[]): number {
  const ideal = gain(all.toSorted((a, b) => b - a));
  return ideal === 0 ? 1 : gain(found) / ideal;
}

function gain(grades: readonly number[]): number {
  return grades
    .slice(0, ranksMax)
    .reduce((sum, grade, rank) => sum + (2 ** grade - 1) / Math.log2(rank + 2), 0);
}
