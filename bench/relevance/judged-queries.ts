// The judged queries over the sample catalogues (queries.json), and how well a record answers one: a rule that reads the
// record's own fields and nothing of the service's analysis or index.
//   0  it does not have all that is meant
//   1  all that is meant is in it, some of it only in its description or body; or it lacks the tag that is meant
//   2  all that is meant is in its title, its tags and its brand together
//   3  all that is meant is in its title, or it has the tag that is meant

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "../../protocol/canonical-json.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";

export interface JudgedQuery {
  /** ISO 639-1 code of the language of the query and of the records that answer it. */
  readonly language: string;
  readonly collection: CollectionName;
  readonly country: string;
  /** How the query differs from the words of the records. */
  readonly kind: "as written" | "plural" | "accent" | "misspelt";
  readonly q: string;
  /** For each word, the ways in which a record may write what is meant. */
  readonly means: readonly (readonly string[])[];
  /** The tag that is meant, where words alone do not say it: «good cut» is not «very good cut». */
  readonly tag?: string;
}

/** A business file has no title: what it says about itself takes its place. */
const titles: Readonly<Record<CollectionName, string>> = {
  products: "product_name",
  business_files: "description",
  events: "title",
  jobs: "title",
  updates: "headline",
};
const labels: readonly string[] = ["tags", "brand", "brands_owned", "brands_sold", "markets_served"];
const bodies: readonly string[] = ["short_description", "description", "body"];

export function judgedQueries(): readonly JudgedQuery[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, "queries.json"), "utf8"));
}

/** How well a record of the query's collection answers the query. */
export function gradeOf(record: JsonObject, { collection, country, means, tag }: JudgedQuery): number {
  const { countries, tags } = record;
  if (!Array.isArray(countries) || !countries.includes(country)) return 0;
  const title = wordsIn(record, [titles[collection]]);
  const labelled = new Set([...title, ...wordsIn(record, labels)]);
  const all = new Set([...labelled, ...wordsIn(record, bodies)]);
  const hasAllIn = (words: ReadonlySet<string>): boolean =>
    means.every((ways) => ways.some((way) => words.has(way)));
  if (!hasAllIn(all)) return 0;
  if (tag !== undefined) return Array.isArray(tags) && tags.includes(tag) ? 3 : 1;
  if (hasAllIn(title)) return 3;
  return hasAllIn(labelled) ? 2 : 1;
}

function wordsIn(record: JsonObject, members: readonly string[]): ReadonlySet<string> {
  return new Set(members.flatMap((name) => textsIn(record[name]).flatMap(plainWords)));
}

function textsIn(value: JsonValue | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return (value as readonly JsonValue[]).flatMap(textsIn);
  return typeof value === "object" && value !== null ? textsIn((value as JsonObject)["name"]) : [];
}

/** Words in lower case, without accents; of «Sailors'» the apostrophe is left out. */
function plainWords(text: string): readonly string[] {
  const plain = text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}
