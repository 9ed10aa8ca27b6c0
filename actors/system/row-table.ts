// A table of keyed rows: its number, and how its values are encoded as the text of a row and decoded again. Kinds access their
// rows through tables only, so there is one place that says what a row looks like.

import { noteWork } from "../../std/work.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { ActorView } from "./definition.ts";

/** How a value is represented in a row. */
export interface RowCodec<V> {
  /** The name shown to people. */
  readonly name: string;
  readonly rt: number;
  readonly encode: (value: V) => string;
  /** Reads what this release and every earlier one wrote. */
  readonly decode: (text: string, row: PartitionRow) => V;
}

/** A value with its key. */
export interface Keyed<V> {
  readonly k: number;
  readonly k2: string;
  readonly value: V;
}

type Rows = Pick<ActorView, "row" | "rowsOf">;

export interface RowTable<V> extends RowCodec<V> {
  /** The value under a text key, and a number if the table has numbers. */
  read(view: Rows, k2: string, k?: number): V | undefined;
  /** All values that were selected, in (k, k2) order. */
  readAll(view: Rows): readonly Keyed<V>[];
  /** Returns the row to put. */
  write(k2: string, value: V, more?: { readonly k?: number; readonly expiresAtMs?: number }): PartitionRow;
  key(k2: string, k?: number): RowKey;
  select(keys: readonly string[]): RowSelection;
  /** Selects a page: up to `limit` rows after a key, or from the first row if none is given. */
  selectPage(limit: number, after?: { readonly k: number; readonly k2: string }): RowSelection;
}

/** A table of rows of one type in an actor's partition. */
export function defineTable<V>(codec: RowCodec<V>): RowTable<V> {
  const { rt, encode } = codec;
  return {
    ...codec,
    read: (view, k2, k = 0) => {
      const row = view.row(rt, k, k2);
      return row && decodeRow(codec, row);
    },
    readAll: (view) => view.rowsOf(rt).map((row) => ({ k: row.k, k2: row.k2, value: decodeRow(codec, row) })),
    write: (k2, value, { k = 0, expiresAtMs } = {}) => {
      const body = encode(value);
      return expiresAtMs === undefined ? { rt, k, k2, body } : { rt, k, k2, body, expiresAtMs };
    },
    key: (k2, k = 0) => ({ rt, k, k2 }),
    select: (keys) => ({ rt, keys }),
    selectPage: (limit, after) => (after === undefined ? { rt, limit } : { rt, after, limit }),
  };
}

/** The last instant that a date can be (ECMA-262, «Time Values and Time Range»). */
const lastInstantMs = 8_640_000_000_000_000;

/** The number of a row that a page has before all rows of earlier instants. */
export function newestFirst(atMs: number): number {
  return lastInstantMs - atMs;
}

/** A table of rows that its actors keep in memory (kept-rows.ts): the value of each is kept with it, and nobody may change it. */
export function defineKeptTable<V>(name: string, rt: number): RowTable<V> {
  const table = defineJsonTable<V>(name, rt);
  const values = new WeakMap<PartitionRow, V>();
  const valueIn = (row: PartitionRow): V => {
    const known = values.get(row);
    if (known !== undefined) return known;
    const value = decodeRow(table, row);
    values.set(row, value);
    return value;
  };
  return {
    ...table,
    read: (view, k2, k = 0) => {
      const row = view.row(rt, k, k2);
      return row && valueIn(row);
    },
    write: (k2, value, more) => {
      const row = table.write(k2, value, more);
      values.set(row, value);
      return row;
    },
  };
}

/** A row that cannot be read is named: an operator looks for it in the store. */
function decodeRow<V>({ name, rt, decode }: RowCodec<V>, row: PartitionRow): V {
  try {
    noteWork("byte", row.body.length);
    return decode(row.body, row);
  } catch (error) {
    const where = `rt ${rt}, k ${row.k}, k2 ${JSON.stringify(row.k2)}`;
    throw new Error(`A row of «${name}» (${where}) cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Defines a table whose rows are the values as JSON text. */
export function defineJsonTable<V>(name: string, rt: number): RowTable<V> {
  return defineTable<V>({
    name,
    rt,
    encode: (value) => JSON.stringify(value),
    // An actor's rows are its own: nobody else writes them (A1), and what is written has this type.
    decode: (text) => JSON.parse(text) as V,
  });
}
