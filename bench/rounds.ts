// Rounds: the two sides of a comparison measured in turn, several times, so that other load on the machine affects both.
// The figure is the median, and the ratio the median of each round's own ratio.

/** The middle value; for an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("there is no median of nothing");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which a `share` (0 to 1) of the sorted values fall. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export interface Compared {
  readonly ours: number;
  readonly floor: number;
  readonly ratio: number;
}

/** Medians over rounds of (ours, floor). */
export function compare(rounds: readonly { readonly ours: number; readonly floor: number }[]): Compared {
  return {
    ours: median(rounds.map((round) => round.ours)),
    floor: median(rounds.map((round) => round.floor)),
    ratio: median(rounds.map((round) => round.ours / round.floor)),
  };
}

/** Takes `count` rounds, alternating between ours first and the floor first. */
export async function takeRounds<Ours, Floor>(
  count: number,
  sides: {
    readonly ours: (round: number) => Promise<Ours>;
    readonly floor: (round: number) => Promise<Floor>;
  },
): Promise<readonly { readonly ours: Ours; readonly floor: Floor }[]> {
  const rounds: { ours: Ours; floor: Floor }[] = [];
  for (let round = 0; round < count; round += 1) {
    if (round % 2 === 0) {
      const ours = await sides.ours(round);
      rounds.push({ ours, floor: await sides.floor(round) });
    } else {
      const floor = await sides.floor(round);
      rounds.push({ ours: await sides.ours(round), floor });
    }
  }
  return rounds;
}
