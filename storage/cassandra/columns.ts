// Reads columns of tables that only we write: a value whose type differs from the column's declaration is damage.

import type { CqlRow } from "./session.ts";

type Column = CqlRow[string] | undefined;

export function textOf(value: Column): string {
  if (typeof value === "string") return value;
  throw new TypeError(`a column is not text but ${typeof value}`);
}

/** Returns a plain view, because the driver returns a Buffer. */
export function bytesOf(value: Column): Uint8Array {
  if (value instanceof Uint8Array) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`a column is not bytes but ${typeof value}`);
}

export function numberOf(value: Column): number {
  if (typeof value === "number") return value;
  throw new TypeError(`a column is not a number but ${typeof value}`);
}

export function numberOrNull(value: Column): number | null {
  return value === null ? null : numberOf(value);
}
