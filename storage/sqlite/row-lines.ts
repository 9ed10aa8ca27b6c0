import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";

/** The rows of a statement as arrays, in the order of its columns: half the time of objects, where there are many. */
export function linesOf(
  statement: StatementSync,
  ...params: readonly SQLInputValue[]
): Iterable<readonly SQLOutputValue[]> {
  statement.setReturnArrays(true);
  return statement.iterate(...params) as unknown as Iterable<readonly SQLOutputValue[]>;
}

/** As {@link linesOf}, all at once: faster still. */
export function allLinesOf(
  statement: StatementSync,
  ...params: readonly SQLInputValue[]
): readonly (readonly SQLOutputValue[])[] {
  statement.setReturnArrays(true);
  return statement.all(...params) as unknown as readonly (readonly SQLOutputValue[])[];
}
