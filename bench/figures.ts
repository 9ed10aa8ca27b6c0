// The figures of the benchmark: how they are taken in rounds, and how they are reported. The two sides of a comparison are measured
// in turn, several times, so that other load on the machine affects both. A figure is the median of its rounds, and its ratio
// the median of each round's own ratio.

import { availableParallelism, cpus, totalmem } from "node:os";
import type { Noise } from "./noise.ts";

export interface Measured {
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

export interface Figure extends Measured {
  readonly section: string;
  /** What others did on the machine during the section; null where that is unknown. */
  readonly noise: Noise | null;
}

export interface Goal {
  readonly atLeast?: number;
  readonly atMost?: number;
}

export type Compared = Readonly<Record<"ours" | "floor" | "ratio", number>>;

/** A figure of what was compared with a floor, or of a number that has none. */
export function figure(
  name: string,
  unit: string,
  measured: Compared | number,
  goal: Goal | null,
  note: string,
): Measured {
  const { ours, floor, ratio } =
    typeof measured === "number" ? { ours: measured, floor: null, ratio: null } : measured;
  return { name, unit, ours, floor, ratio, goal, note };
}

export type Rounds<Ours, Floor = Ours> = readonly { readonly ours: Ours; readonly floor: Floor }[];

export interface Sides<Ours, Floor = Ours> {
  readonly ours: (round: number) => Promise<Ours>;
  readonly floor: (round: number) => Promise<Floor>;
}

/** Takes `count` rounds, alternating between ours first and the floor first, after `warming` that follow the last in number. */
export async function takeRounds<Ours, Floor>(
  count: number,
  sides: Sides<Ours, Floor>,
  warming = 0,
): Promise<Rounds<Ours, Floor>> {
  const rounds: { ours: Ours; floor: Floor }[] = [];
  for (let at = -warming; at < count; at += 1) {
    const round = at < 0 ? count + warming + at : at;
    const early = round % 2 === 0 ? null : { floor: await sides.floor(round) };
    const ours = await sides.ours(round);
    rounds.push({ ours, ...(early ?? { floor: await sides.floor(round) }) });
  }
  return rounds.slice(warming);
}

export function compare(rounds: Rounds<number>): Compared {
  const medianOf = (of: (round: Rounds<number>[number]) => number): number => median(rounds.map(of));
  return {
    ours: medianOf(({ ours }) => ours),
    floor: medianOf(({ floor }) => floor),
    ratio: medianOf(({ ours, floor }) => ours / floor),
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

export function middleHalf<Side>(rounds: Rounds<Side>, of: (side: Side) => number, digits = 2): string {
  const ratios = rounds.map(({ ours, floor }) => of(ours) / of(floor));
  return `${quantile(ratios, 0.25).toFixed(digits)} to ${quantile(ratios, 0.75).toFixed(digits)}`;
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

export function isMet({ goal, ratio, ours }: Measured): boolean | null {
  const value = ratio ?? ours;
  return goal && value >= (goal.atLeast ?? -Infinity) && value <= (goal.atMost ?? Infinity);
}

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

/** `other` is what stands beside ours. */
export function reportTable(figures: readonly Figure[], other: "floor" | "peer" = "floor"): string {
  const headings = ["section", "figure", "ours", other, "ratio", "goal", "met"];
  const notes = figures
    .filter(({ note }) => note !== "")
    .map(({ section, name, note }) => `${section}, ${name}: ${note}`);
  const table = tableOf([headings, ...figures.map(cellsOf)], (column) => column >= 2 && column <= 4);
  return [...table, "", ...notes, ""].join("\n");
}

/** Lines of a table with a rule below its headings; numbers are aligned right. */
export function tableOf(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean,
): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number): string => {
    const width = widths[column] ?? 0;
    return isNumber(column) ? text.padStart(width) : text.padEnd(width);
  };
  const lines = rows.map((row) => row.map(cell).join("  ").trimEnd());
  return lines.toSpliced(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
}

function cellsOf(figure: Figure): readonly string[] {
  const { section, name, unit, ours, floor, ratio, goal } = figure;
  const limit = (sign: string, value: number | undefined): readonly string[] =>
    value === undefined ? [] : [`${sign} ${ratio === null ? amount(value, unit) : value}`];
  const met = isMet(figure);
  return [
    section,
    name,
    amount(ours, unit),
    floor === null ? "" : amount(floor, unit),
    ratio?.toFixed(2) ?? "",
    [...limit("≥", goal?.atLeast), ...limit("≤", goal?.atMost)].join(", "),
    met === null ? "" : met ? "yes" : "NO",
  ];
}

function amount(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text} ${unit}`;
}
