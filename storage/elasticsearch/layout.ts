// How the rows of a collection are stored in Elasticsearch, as derived from the collection's definition.
//   countries, filter fields as the definition names them; a field that differs by country has one per country
//   (`price_US`)
//   term.<text field>          terms of the text with their impacts (collections/text-analysis.ts): a `sparse_vector`, whose
//                              term query scores a row by the stored number alone
//   terms                      the same for all text fields together, with their impacts added up
//   id_order                   orders rows that are otherwise equal
//   row, business_uuid, generation, points
//                              what a hit is made of, stored unchanged; `points` are exact, because the engine rounds
// Nothing else of a document is kept: there is no `_source`, and anything that the mapping does not name is ignored.

import { createHash } from "node:crypto";
import { collections } from "../../collections/collections.ts";
import type { CollectionDefinition, FilterField } from "../../collections/definition.ts";
import { analysisVersion, relevanceVersion } from "../../collections/text-analysis.ts";
import { type CollectionName, isCollectionName } from "../../protocol/identifiers.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { madeOnce } from "../../std/bounded-map.ts";

export type FieldMapping = Readonly<Record<string, unknown>>;

export interface IndexLayout {
  readonly collection: CollectionName;
  readonly definition: CollectionDefinition;
  readonly properties: Readonly<Record<string, FieldMapping>>;
  /** What each field's entries are made by, by field name; a field that differs by country appears once, as `price_*`. */
  readonly making: Readonly<Record<string, string>>;
  /** Digest of the above: a different digest means a different layout. */
  readonly digest: string;
}

/** Orders rows as their ids do. */
export const idOrderField = "id_order";

/** Index field of all text fields together. */
export const allTermsField = "terms";

/** The index field of the terms of a text field. */
export function termsField(textField: string): string {
  return `term.${textField}`;
}

const layoutOfDefinition = madeOnce(makeLayout);

/** The layout of a collection. Throws for an unknown name, which is a bug: ports are called with known collections. */
export function layoutOf(collection: string): IndexLayout {
  if (!isCollectionName(collection)) throw new Error(`There is no collection ${collection}`);
  return layoutOfDefinition(collections[collection]);
}

const keyword = { type: "keyword", doc_values: false };
/** Values longer than any operand match nothing; Lucene accepts no term above 32,766 bytes. */
const filtered = { ...keyword, ignore_above: 4_096 };
const storedText = { type: "text", index: false, norms: false, store: true };
const terms = { type: "sparse_vector" };

const ownProperties: Readonly<Record<string, FieldMapping>> = {
  countries: keyword,
  [idOrderField]: { type: "long", index: false },
  business_uuid: { ...keyword, store: true },
  generation: { type: "integer", index: false, doc_values: false, store: true },
  row: storedText,
  points: storedText,
  [allTermsField]: terms,
};

function makeLayout(definition: CollectionDefinition): IndexLayout {
  const properties: Record<string, FieldMapping> = { ...ownProperties };
  const textMaking = `terms ${analysisVersion}.${relevanceVersion}`;
  const making: Record<string, string> = {};
  const add = (name: string, mapping: FieldMapping): void => {
    if (Object.hasOwn(properties, name))
      throw new Error(`${definition.name}: the index has a field ${name} already`);
    properties[name] = mapping;
  };
  for (const field of definition.fields) {
    if (field.type === "country" || !field.isOnRows) continue;
    const mapping = mappingOf(field);
    making[makingName(field)] = `${field.type}${field.multiple ? " many" : ""}`;
    if (field.countryStem === null) add(field.name, mapping);
    else for (const code of countries.codes) add(`${field.countryStem}${code}`, mapping);
  }
  for (const name of definition.textFields) {
    add(termsField(name), terms);
    making[termsField(name)] = textMaking;
  }
  making[allTermsField] = `${textMaking} of ${definition.textFields.join(" ")}`;
  const digest = createHash("sha256")
    .update(JSON.stringify([properties, making]))
    .digest("hex");
  return { collection: definition.name, definition, properties, making, digest };
}

/** The name of a filter field in {@link IndexLayout.making}. */
export function makingName(field: FilterField): string {
  return field.countryStem === null ? field.name : `${field.countryStem}*`;
}

/** Numbers of every kind are doubles, as they are elsewhere: an amount, a year, milliseconds. */
function mappingOf({ type }: FilterField): FieldMapping {
  switch (type) {
    case "keyword":
    case "country":
      return filtered;
    case "boolean":
      return { type: "boolean" };
    case "geopoint":
      return { type: "geo_point" };
    case "integer":
    case "money":
    case "timestamp":
      return { type: "double" };
  }
}

// Names in the cluster. A generation of a collection's index is `<prefix><collection>-<number>`. Rows are searched through
// the alias `<prefix><collection>`, of which the serving generation is the write index; `<prefix><collection>.next` is the
// generation that is being built. Each generation is written through its own alias: a request for a removed generation
// must fail, whereas a write to a missing index would recreate it. An index that was lost is made again under the same
// name, so while one is built it has an alias of its builder alone.

export class IndexNames {
  /** Alias of the serving generation. */
  readonly serving: string;
  /** Alias of the generation that is being built. */
  readonly next: string;
  /** Matches every generation, and perhaps other indices: see {@link number}. */
  readonly pattern: string;

  constructor(prefix: string, collection: string) {
    this.serving = `${prefix}${collection}`;
    this.next = `${this.serving}.next`;
    this.pattern = `${this.serving}-*`;
  }

  generation(number: number): string {
    return `${this.serving}-${String(number).padStart(6, "0")}`;
  }

  /** The number of a generation; null for any other index. */
  number(index: string): number | null {
    const digits = index.startsWith(`${this.serving}-`) ? index.slice(this.serving.length + 1) : "";
    return /^\d{6,}$/.test(digits) ? Number(digits) : null;
  }
}

/** The alias that a generation has while this builder builds it. */
export function builderAlias(generation: string, builder: string): string {
  return `${generation}.${builder}`;
}

/** The alias through which rows of a generation are written. */
export function rowsAlias(generation: string): string {
  return `${generation}.rows`;
}
