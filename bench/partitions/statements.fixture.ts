// Reads the definitions of tables and the statements that the stores for Cassandra send, as far as these use the language.

import type { CqlParam } from "../../storage/cassandra/session.ts";

export interface Table {
  readonly name: string;
  readonly statics: ReadonlySet<string>;
  readonly partition: readonly string[];
  readonly clustering: readonly string[];
  /** Clustering columns in descending order. */
  readonly descending: ReadonlySet<string>;
  /** After how many seconds every row expires; null if none does on its own. */
  readonly ttl: number | null;
}

/** A value of a statement, once its parameters are known. */
export type Value = (params: readonly CqlParam[]) => CqlParam;

export interface Condition {
  /** Several where tuples are compared. */
  readonly columns: readonly string[];
  readonly operator: string;
  /** As many as columns; of `IN` any number, or one list. */
  readonly values: readonly Value[];
}

export interface Parsed {
  readonly verb: string;
  readonly table: string;
  readonly cells: readonly (readonly [column: string, value: Value])[];
  readonly conditions: readonly Condition[];
  /** The columns that are read. */
  readonly selected: readonly string[];
  readonly limit: Value | null;
  /** After how many seconds the row expires. */
  readonly ttl: Value | null;
}

/** Throws for a text that defines no table. */
export function parseTable(cql: string): Table {
  const [, name, body] = /^CREATE TABLE IF NOT EXISTS (\w+) \(([\s\S]*)\)/.exec(cql) ?? [];
  if (name === undefined || body === undefined) throw new Error(`No table is defined by ${cql}.`);
  const key =
    /PRIMARY KEY \(\(([^)]*)\)(.*?)\)/.exec(body) ??
    /PRIMARY KEY \((\w+)(.*?)\)/.exec(body) ??
    /(\w+) \w+ PRIMARY KEY()/.exec(body);
  const namesIn = (text = ""): readonly string[] => text.match(/\w+/g) ?? [];
  return {
    name,
    statics: new Set([...body.matchAll(/(\w+) \w+ static/g)].map(([, column = ""]) => column)),
    partition: namesIn(key?.[1]),
    clustering: namesIn(key?.[2]),
    descending: new Set([...cql.matchAll(/(\w+) DESC/g)].map(([, column = ""]) => column)),
    ttl: Number(/default_time_to_live = (\d+)/.exec(cql)?.[1] ?? 0) || null,
  };
}

const token =
  /'(?:[^']|'')*'|0x[0-9a-f]*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|-?\d+|[\w.]+|<=|>=|[(),=<>?*]/gi;

/** Throws for a form that no store uses. */
export function parseStatement(cql: string): Parsed {
  return new Reader(cql).statement();
}

class Reader {
  readonly #cql: string;
  readonly #tokens: readonly string[];
  #at = 0;
  #params = 0;

  constructor(cql: string) {
    this.#cql = cql;
    this.#tokens = cql.match(token) ?? [];
  }

  statement(): Parsed {
    const verb = this.#next();
    const statement = { verb, cells: [], conditions: [], selected: [], limit: null, ttl: null };
    if (verb === "INSERT") return { ...statement, ...this.#insert() };
    if (verb === "UPDATE") {
      const table = this.#next();
      const ttl = this.#using();
      const cells = this.#cells();
      return { ...statement, table, ttl, cells, conditions: this.#where() };
    }
    const selected = this.#selected();
    const table = this.#next();
    this.#using();
    const conditions = this.#where();
    let limit: Value | null = null;
    if (this.#skips("PER", "PARTITION", "LIMIT") || this.#skips("LIMIT")) limit = this.#value();
    return { ...statement, table, selected, conditions, limit };
  }

  #insert(): Pick<Parsed, "table" | "cells" | "ttl"> {
    this.#expect("INTO");
    const table = this.#next();
    const columns = this.#list(() => this.#next());
    this.#expect("VALUES");
    const values = this.#list(() => this.#value());
    this.#skips("IF", "NOT", "EXISTS");
    const cells = columns.map((column, at) => [column, values[at] ?? (() => null)] as const);
    return { table, cells, ttl: this.#using() };
  }

  /** The time to live, if there is one. */
  #using(): Value | null {
    let ttl: Value | null = null;
    if (!this.#skips("USING")) return ttl;
    do {
      const isTtl = this.#next() === "TTL";
      const value = this.#value();
      if (isTtl) ttl = value;
    } while (this.#skips("AND"));
    return ttl;
  }

  #cells(): Parsed["cells"] {
    const cells: [string, Value][] = [];
    this.#expect("SET");
    do {
      const column = this.#next();
      this.#expect("=");
      cells.push([column, this.#value()]);
    } while (this.#skips(","));
    return cells;
  }

  #selected(): readonly string[] {
    const selected: string[] = [];
    for (let each = this.#next(); each !== "FROM"; each = this.#next()) if (each !== ",") selected.push(each);
    return selected;
  }

  /** What follows `IF` is not read: nobody else writes. */
  #where(): readonly Condition[] {
    const conditions: Condition[] = [];
    if (!this.#skips("WHERE")) return conditions;
    do {
      const isTuple = this.#tokens[this.#at] === "(";
      const columns = isTuple ? this.#list(() => this.#next()) : [this.#next()];
      const operator = this.#next();
      const isList = this.#tokens[this.#at] === "(";
      const values = isList ? this.#list(() => this.#value()) : [this.#value()];
      conditions.push({ columns, operator, values });
    } while (this.#skips("AND"));
    return conditions;
  }

  #list<T>(read: () => T): readonly T[] {
    const items: T[] = [];
    this.#expect("(");
    do items.push(read());
    while (this.#skips(","));
    this.#expect(")");
    return items;
  }

  #value(): Value {
    const text = this.#next();
    if (text === "?") {
      const at = this.#params;
      this.#params += 1;
      return (params) => params[at];
    }
    const constant = constantOf(text);
    return () => constant;
  }

  #skips(...words: readonly string[]): boolean {
    const isHere = words.every((word, at) => this.#tokens[this.#at + at] === word);
    if (isHere) this.#at += words.length;
    return isHere;
  }

  #expect(word: string): void {
    if (!this.#skips(word)) throw new Error(`${word} is expected as word ${this.#at} of ${this.#cql}.`);
  }

  #next(): string {
    const text = this.#tokens[this.#at];
    if (text === undefined) throw new Error(`More is expected of ${this.#cql}.`);
    this.#at += 1;
    return text;
  }
}

function constantOf(text: string): CqlParam {
  if (text === "true" || text === "false") return text === "true";
  if (text === "NULL") return null;
  if (text.startsWith("'")) return text.slice(1, -1);
  if (text.startsWith("0x")) return Uint8Array.from(Buffer.from(text.slice(2), "hex"));
  return /^-?\d+$/.test(text) ? Number(text) : text;
}
