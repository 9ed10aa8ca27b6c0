// The figures of an operation, and how near the kept ones they have to be.

import type { Counted, Operation } from "./operations.fixture.ts";
import type { Mark } from "./tally.fixture.ts";

/** Of one operation. What is counted is said in tally.fixture.ts. */
export interface Figures {
  readonly promises: number;
  /** Allocated on the heap, in thousands of bytes, by the interpreter. */
  readonly heap: number;
  readonly commits: number;
  readonly flushes: number;
  readonly pages: number;
  readonly statementsBeside: number;
  readonly statements: Readonly<Record<string, number>>;
}

/**
 * A push is processed in several threads. Whether their answers come in one turn of the event loop or in two is a matter of time,
 * and what comes in one turn shares commits.
 */
const pushes: readonly Operation[] = ["pushOne", "pushThousand"];
/** The statements of the commits that note what other actors have acknowledged. */
const noting = ["UPDATE actor_head", "DELETE actor_row"];

/** The greatest part of the kept figure by which another one may differ from it. */
function toleranceOf(operation: Operation, name: string): number {
  // Memory is taken in pieces larger than most operations need, and a process that waits for others looks around meanwhile.
  if (name === "heap") return 0.3;
  // Whether a row splits a page follows from its id, which is drawn: of the few pages of a small operation that is a good part.
  if (name === "pages") return pushes.includes(operation) ? 0.08 : 0.15;
  // A commit more costs a push five promises, and an answer of a thread that comes a turn later eight; that of a search two.
  if (name === "promises" && (operation === "search" || pushes.includes(operation))) return 0.03;
  if (!pushes.includes(operation)) return 0;
  return name === "commits" || name === "flushes" || noting.includes(name) ? 0.2 : 0;
}

export function figuresOf(operation: Operation, { inRow, alone, nothing }: Counted): Figures {
  // The least that a push does is what it has to do. Of the others most do the same, and a few also clean up.
  const typical = pushes.includes(operation) ? least : median;
  const of = (pick: (mark: Mark) => number, over = typical): number =>
    over(steps(alone, pick)) - least(steps(nothing, pick));
  const kinds = Object.keys(alone.at(-1)?.statements ?? {}).sort();
  const statements = kinds.map((kind) => [kind, of((mark) => mark.statements[kind] ?? 0)] as const);
  const heapOf = ({ heap }: Mark): number => heap;
  const heap = inRow.times === 0 ? of(heapOf) : least(steps(inRow.marks, heapOf)) / inRow.times;
  return {
    promises: of(({ promises }) => promises),
    heap: Math.round(heap / 1_000),
    // A receipt may miss the commit of its nonce by a moment.
    commits: of(({ commits }) => commits, least),
    flushes: of(({ flushes }) => flushes, least),
    pages: Math.round(of(({ pages }) => pages, usualMean) * 10) / 10,
    statementsBeside: of((mark) => mark.statementsBeside),
    statements: Object.fromEntries(statements.filter(([, count]) => count > 0)),
  };
}

/** The figures that are not what is kept, by the members of {@link Figures} or the kinds of statements. */
export function differences(operation: Operation, kept: Partial<Figures>, now: Figures) {
  const [before, after] = [flat(kept), flat(now)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((name) => ({ name, kept: before.get(name) ?? 0, now: after.get(name) ?? 0 }))
    .filter((each) => Math.abs(each.now - each.kept) > toleranceOf(operation, each.name) * each.kept);
}

/** The figures to keep: one that is near enough to what is kept stays, so that a change shows what it changed. */
export function keepNear(operation: Operation, kept: Partial<Figures>, now: Figures): Figures {
  const changed = new Set(differences(operation, kept, now).map(({ name }) => name));
  const before = flat(kept);
  const keep = (values: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        changed.has(name) ? value : (before.get(name) ?? value),
      ]),
    );
  const { statements, ...others } = now;
  return { ...(keep(others) as typeof others), statements: keep(statements) };
}

function flat({ statements = {}, ...others }: Partial<Figures>): ReadonlyMap<string, number> {
  return new Map([...Object.entries(others), ...Object.entries(statements)]);
}

function steps(marks: readonly Mark[], pick: (mark: Mark) => number): readonly number[] {
  const values = marks.map(pick);
  return values.slice(1).map((value, at) => value - (values[at] ?? 0));
}

function least(values: readonly number[]): number {
  return Math.min(...values);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Without the dearest twentieth, in which what a node writes by the clock may be. */
function usualMean(values: readonly number[]): number {
  const usual = values.toSorted((a, b) => a - b).slice(0, Math.ceil(values.length * 0.95));
  return usual.reduce((sum, value) => sum + value, 0) / usual.length;
}
