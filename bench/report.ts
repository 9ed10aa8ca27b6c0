// The benchmark's result: one row per figure, as a table for people and as JSON.

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
  const rows = [headings, ...figures.map(cellsOf)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0, column))
      .join("  ")
      .trimEnd(),
  );
  lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  const notes = figures
    .filter(({ note }) => note !== "")
    .map(({ section, name, note }) => `${section}, ${name}: ${note}`);
  return [...lines, "", ...notes, ""].join("\n");
}

function cellsOf(figure: Figure): readonly string[] {
  const met = isMet(figure);
  return [
    figure.section,
    figure.name,
    amount(figure.ours, figure.unit),
    figure.floor === null ? "" : amount(figure.floor, figure.unit),
    figure.ratio === null ? "" : figure.ratio.toFixed(2),
    goalText(figure),
    met === null ? "" : met ? "yes" : "NO",
  ];
}

function goalText({ goal, ratio, unit }: Figure): string {
  if (goal === null) return "";
  const limit = (value: number): string => (ratio === null ? amount(value, unit) : String(value));
  return [
    goal.atLeast === undefined ? "" : `≥ ${limit(goal.atLeast)}`,
    goal.atMost === undefined ? "" : `≤ ${limit(goal.atMost)}`,
  ]
    .filter((text) => text !== "")
    .join(", ");
}

/** Aligns numbers right and words left. */
function padded(cell: string, width: number, column: number): string {
  return column >= 2 && column <= 4 ? cell.padStart(width) : cell.padEnd(width);
}

function amount(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${text} ${unit}`;
}
