// The figures of the benchmark: how they are taken in rounds, and how they are reported. The two sides of a comparison are measured
// in turn, several times, so that other load on the machine affects both. A figure is the median of its rounds, and its ratio
// the median of each round's own ratio.

import { availableParallelism, cpus, totalmem } from "node:os";

export interface Figure {
  readonly section: string;
  readonly name: string;
  readonly unit: string;
  /** Median over the rounds. */
  readonly ours: number;
  /** The same for the floor; null for a figure that has none. */
  readonly floor: number | null;
  /** Median of the rounds' ratios ours ÷ floor: each round measured both, one right after the other. */
  readonly ratio: number | null;
  /** The goal for the ratio or, without one, for the figure; null for a figure that is only reported. */
  readonly goal: Goal | null;
  /** Which threads did the work on both sides, and what else a reader has to know. */
  readonly note: string;
}

export interface Goal {
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Compared {
  readonly ours: number;
  readonly floor: number;
  readonly ratio: number;
}

/** Makes the figures of a section: of what was compared with a floor, or of a number that has none. */
export function figuresOf(section: string) {
  return (
    name: string,
    unit: string,
    measured: Compared | number,
    goal: Goal | null,
    note: string,
  ): Figure => ({
    ...{ section, name, unit, goal, note },
    ...(typeof measured === "number" ? { ours: measured, floor: null, ratio: null } : measured),
  });
}

export type Rounds<Ours, Floor = Ours> = readonly { readonly ours: Ours; readonly floor: Floor }[];

/** How the two sides of a round are measured. */
export interface Sides<Ours, Floor = Ours> {
  readonly ours: (round: number) => Promise<Ours>;
  readonly floor: (round: number) => Promise<Floor>;
}

/** Takes `count` rounds, alternating between ours first and the floor first. */
export async function takeRounds<Ours, Floor>(
  count: number,
  sides: Sides<Ours, Floor>,
): Promise<Rounds<Ours, Floor>> {
  const rounds: { ours: Ours; floor: Floor }[] = [];
  for (let round = 0; round < count; round += 1) {
    const early = round % 2 === 0 ? null : { floor: await sides.floor(round) };
    const ours = await sides.ours(round);
    rounds.push({ ours, ...(early ?? { floor: await sides.floor(round) }) });
  }
  return rounds;
}

/** The same once the round after the last has warmed both sides up. */
export async function warmedUp<Ours, Floor>(
  count: number,
  sides: Sides<Ours, Floor>,
): Promise<Rounds<Ours, Floor>> {
  await sides.ours(count);
  await sides.floor(count);
  return await takeRounds(count, sides);
}

/** Medians over rounds. */
export function compare(rounds: Rounds<number>): Compared {
  return {
    ours: median(rounds.map(({ ours }) => ours)),
    floor: median(rounds.map(({ floor }) => floor)),
    ratio: median(rounds.map(({ ours, floor }) => ours / floor)),
  };
}

/** The same of a value of each side. */
export function compareBy<Side>(rounds: Rounds<Side>, of: (side: Side) => number): Compared {
  return compare(rounds.map(({ ours, floor }) => ({ ours: of(ours), floor: of(floor) })));
}

/** The medians of a value of each side, as text. */
export function sidesText<Side>(rounds: Rounds<Side>, of: (side: Side) => number, digits = 0): string {
  const { ours, floor } = compareBy(rounds, of);
  return `${ours.toFixed(digits)} against ${floor.toFixed(digits)}`;
}

/** The middle value; for an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("there is no median of nothing");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which a `share` (0 to 1) of the values fall. */
export function quantile(values: Iterable<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Where the middle half of the rounds' ratios are. */
export function middleHalf(rounds: Rounds<number>, digits: number): string {
  const ratios = rounds.map(({ ours, floor }) => ours / floor);
  return `${quantile(ratios, 0.25).toFixed(digits)} to ${quantile(ratios, 0.75).toFixed(digits)}`;
}

/** A number as people read it. */
export function count(value: number): string {
  return value.toLocaleString("en");
}

export function isMet({ goal, ratio, ours }: Figure): boolean | null {
  if (goal === null) return null;
  const value = ratio ?? ours;
  return (
    value >= (goal.atLeast ?? Number.NEGATIVE_INFINITY) && value <= (goal.atMost ?? Number.POSITIVE_INFINITY)
  );
}

/** The whole report as JSON text. */
export function reportJson(
  figures: readonly Figure[],
  facts: { readonly quick: boolean; readonly startedAt: string },
): string {
  const machine = {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? "",
    cores: availableParallelism(),
    memory_bytes: totalmem(),
  };
  const rows = figures.map((figure) => ({ ...figure, met: isMet(figure) }));
  return `${JSON.stringify({ started_at: facts.startedAt, quick: facts.quick, machine, figures: rows }, null, 2)}\n`;
}

const headings = ["section", "figure", "ours", "floor", "ratio", "goal", "met"];

/** The table, followed by the note of each figure. */
export function reportTable(figures: readonly Figure[]): string {
  const notes = figures
    .filter(({ note }) => note !== "")
    .map(({ section, name, note }) => `${section}, ${name}: ${note}`);
  const isNumber = (column: number): boolean => column >= 2 && column <= 4;
  return [...tableOf([headings, ...figures.map(cellsOf)], isNumber), "", ...notes, ""].join("\n");
}

/** Lines of a table with a rule below its headings; numbers are aligned right. */
export function tableOf(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean,
): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    widths
      .map((width, column) =>
        isNumber(column) ? (row[column] ?? "").padStart(width) : (row[column] ?? "").padEnd(width),
      )
      .join("  ")
      .trimEnd(),
  );
  return lines.toSpliced(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
}

function cellsOf(figure: Figure): readonly string[] {
  const { section, name, unit, ours, floor, ratio } = figure;
  const met = isMet(figure);
  return [
    ...[section, name, amount(ours, unit)],
    ...[floor === null ? "" : amount(floor, unit), ratio === null ? "" : ratio.toFixed(2)],
    ...[goalText(figure), met === null ? "" : met ? "yes" : "NO"],
  ];
}

function goalText({ goal, ratio, unit }: Figure): string {
  const limit = (sign: string, value: number | undefined): readonly string[] =>
    value === undefined ? [] : [`${sign} ${ratio === null ? amount(value, unit) : value}`];
  return [...limit("≥", goal?.atLeast), ...limit("≤", goal?.atMost)].join(", ");
}

function amount(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text} ${unit}`;
}
