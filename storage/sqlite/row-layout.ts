// How the rows of a collection are stored in SQLite, as derived from the collection's definition. `row_entry` holds the
// rows themselves. Everything else is derived from them and rebuilt when a definition or the analysis changes:
//   row_<c>      one line per row: what filters compare for equality
//   words_<c>    one line per row: its analysed text, each text between spaces, and its keys
//   listing_<c>  one line per row and country: what sorts and ranges compare, with an index for each sort key
//   text_<c>     FTS5 over the analysed text; terms map one to one to tokens, because the tokenizer only splits at spaces
//   key_<c>      FTS5 over keys (row-writer.ts)
//   spelling_<c> the terms of rows that can be spellings of a misspelt word, and perhaps some that no row has any more

import { collections } from "../../collections/collections.ts";
import type { CollectionDefinition, FilterField } from "../../collections/definition.ts";
import { analysisVersion } from "../../collections/text-analysis.ts";
import { type CollectionName, isCollectionName } from "../../protocol/identifiers.ts";
import { madeOnce } from "../../std/bounded-map.ts";

export interface FieldColumn {
  readonly field: FilterField;
  /** Quoted column name. */
  readonly column: string;
}

export interface CollectionLayout {
  readonly collection: CollectionName;
  readonly row: string;
  readonly words: string;
  readonly listing: string;
  readonly text: string;
  readonly key: string;
  /** Occurrences of terms in `text`. */
  readonly vocabulary: string;
  readonly spellings: string;
  /** Columns of `row`: fields compared for equality, and points. */
  readonly rowColumns: readonly FieldColumn[];
  /** Columns of `listing`: numbers, and fields that differ by country. */
  readonly listingColumns: readonly FieldColumn[];
  /** Text column `t<i>` of text field i, in `words` and in `text`. */
  readonly textFields: readonly string[];
  /** The key mark of each field; fields without a mark are not looked up by keys. */
  readonly keyMarks: ReadonlyMap<string, string>;
  /** Statements that create the derived tables; any difference means a different layout. */
  readonly create: string;
  readonly drop: string;
}

const layoutOfDefinition = madeOnce(makeLayout);

/** The layout of a collection. Throws for an unknown name, which is a bug: ports are called with known collections. */
export function layoutOf(collection: string): CollectionLayout {
  if (!isCollectionName(collection)) throw new Error(`There is no collection ${collection}`);
  return layoutOfDefinition(collections[collection]);
}

function makeLayout(definition: CollectionDefinition): CollectionLayout {
  const { name, fields, textFields } = definition;
  const stored = fields.filter((field) => field.type !== "country" && field.isOnRows);
  const isListed = (field: FilterField) => field.countryStem !== null || isNumeric(field);
  const layout = {
    collection: name,
    row: `row_${name}`,
    words: `words_${name}`,
    listing: `listing_${name}`,
    text: `text_${name}`,
    key: `key_${name}`,
    vocabulary: `vocabulary_${name}`,
    spellings: `spelling_${name}`,
    rowColumns: stored.filter((field) => !isListed(field)).map(columnOf),
    listingColumns: stored.filter(isListed).map(columnOf),
    textFields,
    keyMarks: new Map(
      stored.filter(hasKeys).map((field, index) => [field.name, String.fromCharCode(97 + index)]),
    ),
  };
  return { ...layout, create: createOf(layout, definition), drop: dropOf(layout) };
}

/** Whether ranges and sorts apply to the field. */
function isNumeric({ type }: FilterField): boolean {
  return type === "money" || type === "timestamp" || type === "integer";
}

/** A value that differs by country has no keys: its rows are reached through the listing. */
function hasKeys({ type, countryStem }: FilterField): boolean {
  return (type === "keyword" || type === "boolean" || type === "geopoint") && countryStem === null;
}

function columnOf(field: FilterField): FieldColumn {
  return { field, column: `"${field.name}"` };
}

function createOf(
  layout: Omit<CollectionLayout, "create" | "drop">,
  definition: CollectionDefinition,
): string {
  const { row, words, listing, text, key, rowColumns, listingColumns, textFields } = layout;
  const texts = textFields.map((_, index) => `t${index}`);
  const declared = (columns: readonly FieldColumn[]) =>
    columns.map(({ field, column }) => `${column} ${typeOf(field)}`);
  const indexes = listingColumns
    .filter(({ field }) => definition.sortKeys.includes(field.name))
    .map(
      ({ field, column }) => `CREATE INDEX ${sortIndex(layout, field)} ON ${listing} (country, ${column});`,
    );
  return [
    `CREATE TABLE ${row} (${["rid INTEGER PRIMARY KEY", "record_id TEXT NOT NULL", "business_uuid TEXT NOT NULL", "countries TEXT NOT NULL", ...declared(rowColumns)].join(", ")});`,
    `CREATE TABLE ${words} (rid INTEGER PRIMARY KEY, keys TEXT NOT NULL, ${texts.map((each) => `${each} TEXT`).join(", ")});`,
    `CREATE TABLE ${listing} (country TEXT NOT NULL, rid INTEGER NOT NULL, ${declared(listingColumns).join(", ")}, PRIMARY KEY (country, rid)) WITHOUT ROWID;`,
    ...indexes,
    `CREATE VIRTUAL TABLE ${text} USING fts5(${texts.join(", ")}, content='', contentless_delete=1, tokenize='ascii');`,
    `CREATE VIRTUAL TABLE ${key} USING fts5(k, content='', contentless_delete=1, detail=none, tokenize='ascii');`,
    `CREATE VIRTUAL TABLE ${layout.vocabulary} USING fts5vocab(${text}, instance);`,
    `CREATE TABLE ${layout.spellings} (term TEXT PRIMARY KEY) WITHOUT ROWID;`,
    `-- analysis ${analysisVersion}`,
  ].join("\n");
}

function typeOf(field: FilterField): string {
  return isNumeric(field) || field.type === "boolean" ? "NUMERIC" : "TEXT";
}

/** The index for walking the rows of a country in the order of a sort key. */
export function sortIndex(layout: Pick<CollectionLayout, "listing">, field: FilterField): string {
  return `${layout.listing}_${field.name}`;
}

function dropOf(layout: Omit<CollectionLayout, "create" | "drop">): string {
  const { row, words, listing, text, key, vocabulary, spellings } = layout;
  return [vocabulary, row, words, listing, text, key, spellings]
    .map((table) => `DROP TABLE IF EXISTS ${table};`)
    .join("\n");
}

// Separates several values of a field in one column: each is enclosed in separators, so that `instr` can find it.

const separator = "\u001f";

/** The text of a column that holds several values. */
export function encodeValues(values: readonly string[]): string {
  return `${separator}${values.map(escapeValue).join(separator)}${separator}`;
}

/** The substring that {@link encodeValues} contains if and only if it holds the value. */
export function encodedValue(value: string): string {
  return `${separator}${escapeValue(value)}${separator}`;
}

function escapeValue(value: string): string {
  if (!value.includes("\u001e") && !value.includes(separator)) return value;
  return value.replaceAll("\u001e", "\u001e0").replaceAll(separator, "\u001e1");
}
