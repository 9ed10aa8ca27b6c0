// The partition ledger: a session with a Cassandra that is not there. It keeps the rows of each partition, so the real stores and actors
// find what they wrote, and adds up what a partition of the engine would hold.
//   G1. Nobody else writes, so a condition is always met, and what is written last is newest, whatever its stamp.
//   G2. The bytes of a row are those of its clustering key and values, `rowBytes` and for each value `cellBytes`, uncompressed and without
//       their indexes. Rows of four tables that were measured in Cassandra 5.0.6 are within a fifth of this.
//   G3. A deletion leaves a tombstone until the end of the day, and so does a row that expires. What a deletion removes has no bytes left,
//       so a partition that is removed within the day is not among the fullest.
//   G4. A read passes over the deletions within its bounds, also where its limit would end it sooner.

import { Buffer } from "node:buffer";
import { migrations } from "../../storage/cassandra/migrations.ts";
import type {
  CassandraSession,
  CqlParam,
  CqlResult,
  CqlRow,
  CqlScalar,
  Statement,
} from "../../storage/cassandra/session.ts";
import { type Condition, type Parsed, parseStatement, parseTable, type Table } from "./statements.fixture.ts";

const rowBytes = 16;
const cellBytes = 3;

type Cells = Readonly<Record<string, CqlScalar>>;

interface Row {
  readonly key: readonly CqlScalar[];
  readonly cells: Cells;
  /** In Unix milliseconds. */
  readonly expiresAtMs: number;
  /** Of how many rows it is one. */
  readonly share: number;
  /** The part of the day in which it was first written. */
  readonly phase: number;
}

interface Tombstone {
  readonly key: readonly CqlScalar[];
  readonly share: number;
  readonly phase: number;
}

interface Partition {
  readonly name: string;
  readonly key: Cells;
  statics: Cells;
  readonly rows: Map<string, Row>;
  sorted: readonly Row[] | null;
  readonly tombstones: Map<string, Tombstone>;
  /** By the table of rows in an actor's partition; of every other table one. */
  readonly growths: Map<CqlScalar, Growth>;
}

/** How long rows are added. */
interface Growth {
  /** The first of the parts of the time that wrote any. */
  readonly phase: number;
  /** Minutes of a day. */
  minutes: number;
  /** Whether it goes on the next day. */
  isEndless: boolean;
}

/** A part of the time. The first one is a minute in full; where a later one adds rows to what an earlier one began says how long that grows. */
export interface Phase {
  readonly atMinute: number;
  /** Of how many rows each is one that it adds to what an earlier part began. */
  readonly standsFor: number;
}

/** How long anything grows in the tables of the stores: a round of nonces takes eleven minutes, a staged slot five. */
const growthMinutes = [3, 5, 11, 60, 1_440] as const;
const dayMinutes = 1_440;

export interface Entry {
  readonly table: string;
  /** The values of its partition key. */
  readonly partition: string;
  readonly bytes: number;
  readonly rows: number;
  /** Rows that were deleted or expire. */
  readonly tombstones: number;
  /** Of a day, in which it gets new rows. */
  readonly minutes: number;
  /** Whether most of it stays, and more comes the next day. */
  readonly isEndless: boolean;
}

export interface ReadEntry {
  readonly table: string;
  readonly passedOver: number;
  readonly partition: string;
}

export class PartitionLedger implements CassandraSession {
  readonly keyspace = "ledger";
  readonly localDc: string;
  readonly #tables = new Map<string, Table & { readonly partitions: Map<string, Partition> }>();
  readonly #parsed = new Map<string, Parsed>();
  readonly #reads = new Map<string, ReadEntry>();
  #phases: readonly Phase[] = [{ atMinute: 0, standsFor: 1 }];
  #share = 1;
  readonly #now: () => number;

  constructor(localDc: string, now: () => number) {
    this.localDc = localDc;
    this.#now = now;
    for (const cql of migrations.flat()) {
      const table = parseTable(cql);
      this.#tables.set(table.name, { ...table, partitions: new Map() });
    }
  }

  /** Begins another part of the day. */
  begin(phase: Phase): void {
    this.#phases = [...this.#phases, phase];
  }

  /** Each row that `work` writes is one of so many that are alike. */
  async standingFor(share: number, work: () => Promise<unknown>): Promise<void> {
    this.#share = share;
    await work();
    this.#share = 1;
  }

  /** The fullest partition of each table, and of each kind of actors, the largest first. */
  fullest(): readonly Entry[] {
    const found = new Map<string, Entry>();
    for (const table of this.#tables.values())
      for (const partition of table.partitions.values()) {
        const entry = entryOf(table.name, partition, table);
        const known = found.get(entry.table);
        if (known === undefined || known.bytes < entry.bytes) found.set(entry.table, entry);
      }
    return [...found.values()].sort((a, b) => b.bytes - a.bytes);
  }

  /** The tables that nothing was written to. */
  untouched(): readonly string[] {
    return [...this.#tables.values()]
      .filter(({ partitions }) => partitions.size === 0)
      .map(({ name }) => name);
  }

  /** Of each table the read that passed over most deletions; a table without such a read is left out. */
  reads(): readonly ReadEntry[] {
    return [...this.#reads.values()].sort((a, b) => b.passedOver - a.passedOver);
  }

  async execute(cql: string, params: readonly CqlParam[]): Promise<CqlResult> {
    const parsed = this.#parse(cql);
    const table = this.#tables.get(parsed.table);
    if (table === undefined) throw new Error(`There is no table ${parsed.table}.`);
    if (parsed.verb === "SELECT") return resultOf(this.#read(table, parsed, params));
    this.#write(table, parsed, params);
    return resultOf([]);
  }

  /** Deletions first: they are of what was there before. */
  async batch(statements: readonly Statement[]): Promise<CqlResult> {
    const isDeletion = ({ cql }: Statement): boolean => cql.startsWith("DELETE");
    const ordered = [...statements.filter(isDeletion), ...statements.filter((each) => !isDeletion(each))];
    for (const { cql, params } of ordered) await this.execute(cql, params);
    return resultOf([]);
  }

  async define(): Promise<void> {
    throw new Error("The tables are there.");
  }

  async close(): Promise<void> {}

  #parse(cql: string): Parsed {
    const known = this.#parsed.get(cql);
    if (known !== undefined) return known;
    const parsed = parseStatement(cql);
    this.#parsed.set(cql, parsed);
    return parsed;
  }

  #write(
    table: Table & { readonly partitions: Map<string, Partition> },
    { verb, cells, conditions, ttl }: Parsed,
    params: readonly CqlParam[],
  ): void {
    const named = [
      ...cells,
      ...conditions.map(({ columns: [column = ""], values: [value] }) => [column, value] as const),
    ];
    const values: Record<string, CqlScalar> = {};
    for (const [column, value] of named) {
      const given = value?.(params);
      if (given !== undefined) values[column] = scalarOf(given);
    }
    const partition = this.#partitionOf(table, values);
    if (verb === "DELETE") {
      this.#remove(partition, table, { conditions, params });
      return;
    }
    const { partition: partitionKey, clustering, statics } = table;
    const written = Object.entries(values).filter(
      ([column]) => !partitionKey.includes(column) && !clustering.includes(column),
    );
    partition.statics = {
      ...partition.statics,
      ...Object.fromEntries(written.filter(([column]) => statics.has(column))),
    };
    const own = written.filter(([column]) => !statics.has(column));
    if (clustering.some((column) => !(column in values))) return;
    this.#put(table, partition, {
      key: clustering.map((column) => values[column] ?? null),
      cells: Object.fromEntries(own),
      expiresAtMs:
        this.#now() + 1_000 * (ttl === null ? (table.ttl ?? Number.POSITIVE_INFINITY) : Number(ttl(params))),
      share: this.#share,
      phase: this.#phases.length,
    });
  }

  #put(table: Table, partition: Partition, row: Row): void {
    const name = nameOf(row.key);
    const known = partition.rows.get(name);
    partition.sorted = null;
    if (known === undefined && !partition.tombstones.has(name)) this.#grow(table, partition, row.key);
    partition.tombstones.delete(name);
    const isBegun = [...partition.growths.values()].some(({ phase }) => phase < row.phase);
    const added = isBegun ? { ...row, share: this.#phases.at(-1)?.standsFor ?? 1 } : row;
    const { share, phase } = known ?? added;
    partition.rows.set(name, { ...row, cells: { ...known?.cells, ...row.cells }, share, phase });
  }

  #grow(table: Table, partition: Partition, key: readonly CqlScalar[]): void {
    const part = partOf(table, key);
    const growth = partition.growths.get(part);
    if (growth === undefined) {
      partition.growths.set(part, { phase: this.#phases.length, minutes: 1, isEndless: false });
      return;
    }
    const elapsed = this.#minuteOf(this.#phases.length) - this.#minuteOf(growth.phase);
    if (elapsed === 0) return;
    growth.minutes = Math.max(growth.minutes, growthMinutes.find((each) => each >= elapsed) ?? dayMinutes);
    growth.isEndless ||= elapsed > dayMinutes;
  }

  #minuteOf(phase: number): number {
    return this.#phases[phase - 1]?.atMinute ?? 0;
  }

  #remove(
    partition: Partition,
    table: Table,
    {
      conditions,
      params,
    }: { readonly conditions: readonly Condition[]; readonly params: readonly CqlParam[] },
  ): void {
    const bounds = conditions.filter(({ columns: [column = ""] }) => table.clustering.includes(column));
    const meets = matcher(table, bounds, params);
    const gone =
      bounds.length === table.clustering.length && bounds.every(({ operator }) => operator === "=");
    const key = bounds.map(({ values: [value] }) => scalarOf(value?.(params) ?? null));
    if (gone) partition.rows.delete(nameOf(key));
    else
      for (const rows of [partition.rows, partition.tombstones])
        for (const [name, row] of rows) if (meets(row.key)) rows.delete(name);
    partition.sorted = null;
    if (bounds.length > 0)
      partition.tombstones.set(nameOf(key), { key, share: this.#share, phase: this.#phases.length });
  }

  #read(
    table: Table & { readonly partitions: Map<string, Partition> },
    { conditions, selected, limit }: Parsed,
    params: readonly CqlParam[],
  ): readonly CqlRow[] {
    const found: CqlRow[] = [];
    const most = Number(limit?.(params) ?? Number.POSITIVE_INFINITY);
    const bounds = conditions.filter(({ columns: [column = ""] }) => table.clustering.includes(column));
    const meets = matcher(table, bounds, params);
    const named = bounds.filter(({ operator }) => operator === "=" || operator === "IN");
    const isNamed = named.length === table.clustering.length;
    for (const partition of this.#named(table, conditions, params)) {
      this.#noteRead(table, partition, { meets, isNamed });
      partition.sorted ??= [...partition.rows.values()].sort(orderOf(table));
      let rows = 0;
      for (const row of partition.sorted) {
        if (rows >= most) break;
        if (!meets(row.key) || row.expiresAtMs <= this.#now()) continue;
        rows += 1;
        found.push(selectedOf(selected, table, partition, row));
      }
    }
    return found;
  }

  /** A read that names its rows passes over no more than it names, however many are alike. */
  #noteRead(
    table: Table,
    partition: Partition,
    { meets, isNamed }: { readonly meets: (key: readonly CqlScalar[]) => boolean; readonly isNamed: boolean },
  ): void {
    let passedOver = 0;
    // What was deleted long ago and is still in the way was so all day, or as long as there were such rows.
    const pass = ({ key, share, phase }: Tombstone): void => {
      if (!meets(key)) return;
      const growth = partition.growths.get(partOf(table, key));
      if (isNamed) passedOver += 1;
      else if (phase === this.#phases.length) passedOver += share;
      else if (phase === growth?.phase) passedOver += share * growth.minutes;
    };
    for (const tombstone of partition.tombstones.values()) pass(tombstone);
    for (const row of partition.rows.values()) if (row.expiresAtMs <= this.#now()) pass(row);
    const name = groupOf(table.name, partition);
    if (passedOver > (this.#reads.get(name)?.passedOver ?? 0))
      this.#reads.set(name, { table: name, passedOver, partition: partition.name });
  }

  #named(
    table: Table & { readonly partitions: Map<string, Partition> },
    conditions: readonly Condition[],
    params: readonly CqlParam[],
  ): readonly Partition[] {
    let names: readonly (readonly CqlScalar[])[] = [[]];
    for (const column of table.partition) {
      const condition = conditions.find(({ columns }) => columns.length === 1 && columns[0] === column);
      if (condition === undefined) throw new Error(`A read of ${table.name} goes through all partitions.`);
      const values = condition.values.flatMap((value) => value(params));
      names = names.flatMap((name) => values.map((value) => [...name, scalarOf(value)]));
    }
    return names.flatMap((name) => table.partitions.get(nameOf(name)) ?? []);
  }

  #partitionOf(table: Table & { readonly partitions: Map<string, Partition> }, values: Cells): Partition {
    const key = Object.fromEntries(table.partition.map((column) => [column, values[column] ?? null]));
    const name = nameOf(Object.values(key));
    const known = table.partitions.get(name);
    if (known !== undefined) return known;
    const partition = {
      name,
      key,
      statics: {},
      rows: new Map(),
      sorted: null,
      tombstones: new Map(),
      growths: new Map(),
    };
    table.partitions.set(name, partition);
    return partition;
  }
}

function resultOf(rows: readonly CqlRow[]): CqlResult {
  return { rows, pageState: null, applied: true };
}

function nameOf(key: readonly CqlScalar[]): string {
  return key.join(" ");
}

function scalarOf(value: CqlParam): CqlScalar {
  if (value === undefined || (typeof value === "object" && value !== null && !(value instanceof Uint8Array)))
    throw new Error("A list is stored in no column.");
  return value;
}

/** Whether a clustering key, of which a deletion may name only the beginning, is within all bounds. */
function matcher(
  table: Table,
  bounds: readonly Condition[],
  params: readonly CqlParam[],
): (key: readonly CqlScalar[]) => boolean {
  const tests = bounds.map(({ columns, operator, values }) => {
    const at = columns.map((column) => table.clustering.indexOf(column));
    const given = values.flatMap((value) => value(params)).map(scalarOf);
    if (operator === "IN") {
      const among = new Set(given);
      return (key: readonly CqlScalar[]) => among.has(key[at[0] ?? 0] ?? null);
    }
    return (key: readonly CqlScalar[]) => {
      const order = compareKeys(
        at.map((index) => key[index] ?? null),
        given,
      );
      if (operator === "=") return order === 0;
      if (operator === ">") return order > 0;
      if (operator === ">=") return order >= 0;
      return operator === "<" ? order < 0 : order <= 0;
    };
  });
  return (key) => tests.every((test) => test(key));
}

function compareKeys(a: readonly CqlScalar[], b: readonly CqlScalar[]): number {
  for (const [at, value] of a.entries()) {
    const order = compare(value, b[at] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function compare(a: CqlScalar, b: CqlScalar): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}

function orderOf({ clustering, descending }: Table): (a: Row, b: Row) => number {
  return (a, b) => {
    for (const [at, column] of clustering.entries()) {
      const order = compare(a.key[at] ?? null, b.key[at] ?? null);
      if (order !== 0) return descending.has(column) ? -order : order;
    }
    return 0;
  };
}

function selectedOf(selected: readonly string[], table: Table, partition: Partition, row: Row): CqlRow {
  const all: Record<string, CqlScalar> = { ...partition.key, ...partition.statics, ...row.cells };
  for (const [at, column] of table.clustering.entries()) all[column] = row.key[at] ?? null;
  return Object.fromEntries(selected.map((column) => [column, all[column] ?? null]));
}

/** Actors of all kinds share a table; those with a region in their name are of another sort. */
function groupOf(table: string, { key }: Partition): string {
  const [kind, id] = [key["kind"], key["id"]];
  if (typeof kind !== "string") return table;
  return `${table}: ${kind}${typeof id === "string" && id.includes("@") ? "@region" : ""}`;
}

/** Actors have several tables of rows in one partition. */
function partOf({ clustering }: Table, [first = null]: readonly CqlScalar[]): CqlScalar {
  return clustering[0] === "rt" ? first : null;
}

function entryOf(name: string, partition: Partition, table: Table): Entry {
  let bytes = sizeOf(Object.values(partition.statics));
  let [rows, tombstones, minutes, endless] = [0, 0, 1, 0];
  const add = (
    { key, share, phase }: Tombstone,
    { cells, isRow, isGone }: { cells: readonly CqlScalar[]; isRow: boolean; isGone: boolean },
  ): void => {
    const growth = partition.growths.get(partOf(table, key));
    if (phase !== growth?.phase) return;
    const count = share * growth.minutes;
    const size = count * (rowBytes + sizeOf(key) + sizeOf(cells));
    bytes += size;
    if (isRow) rows += count;
    if (isGone) tombstones += count;
    minutes = Math.max(minutes, growth.minutes);
    if (growth.isEndless && !isGone) endless += size;
  };
  for (const row of partition.rows.values())
    add(row, { cells: Object.values(row.cells), isRow: true, isGone: Number.isFinite(row.expiresAtMs) });
  for (const tombstone of partition.tombstones.values())
    add(tombstone, { cells: [], isRow: false, isGone: true });
  const isEndless = endless > bytes / 2;
  return {
    table: groupOf(name, partition),
    partition: partition.name,
    bytes,
    rows,
    tombstones,
    minutes,
    isEndless,
  };
}

function sizeOf(values: readonly CqlScalar[]): number {
  return values.reduce<number>((sum, value) => sum + cellBytes + bytesIn(value), 0);
}

function bytesIn(value: CqlScalar): number {
  if (value === null) return 0;
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value === "boolean") return 1;
  return typeof value === "number" ? 8 : value.length;
}
