// Reads columns of tables that only we write: a value whose type differs from the column's declaration is damage.

import type { SQLOutputValue } from "node:sqlite";

export type Row = Readonly<Record<string, SQLOutputValue>>;

export function textOf(value: SQLOutputValue | undefined): string {
  if (typeof value === "string") return value;
  throw new TypeError(`a column is not text but ${typeof value}`);
}

export function bytesOf(value: SQLOutputValue | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`a column is not bytes but ${typeof value}`);
}

export function numberOf(value: SQLOutputValue | undefined): number {
  if (typeof value === "number") return value;
  throw new TypeError(`a column is not a number but ${typeof value}`);
}

export function numberOrNull(value: SQLOutputValue | undefined): number | null {
  return value === null ? null : numberOf(value);
}

/**
 * The numbers that SQLite wrote with `json_group_array`: for very many, this takes a tenth of the time of one row each.
 */
export function numbersIn(text: SQLOutputValue | undefined): readonly number[] {
  return JSON.parse(textOf(text)) as readonly number[];
}
