// Asks an index the judged queries, by relevance, and grades what it finds by normalised discounted cumulative gain of the first ten
// (Järvelin and Kekäläinen 2002, with the gains 2^grade - 1 of Burges et al. 2005): 1 for the best possible order, 0 if nothing
// relevant is among them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sampleBusiness, sampleBusinesses, stoneShop } from "../../node/sandbox/businesses.ts";
import { diamondProduct } from "../../node/sandbox/diamonds.ts";
import { calendarFrom } from "../../node/sandbox/sample.ts";
import { type CollectionName, recordIdOf } from "../../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { projectedRowText, projectRecord } from "../../protocol/projection/project.ts";
import type { RowChange, RowIndex } from "../../storage/row-index.ts";
import { rowQueryOf, sampleStones } from "../catalogue.ts";

export interface JudgedAnswer {
  readonly query: JudgedQuery;
  readonly ndcg: number;
  readonly found: readonly string[];
}

/** The mean over all queries that must be reached on every engine; relevance.test.ts asserts it. */
export const ndcgGoal = 0.97;
const ranksMax = 10;
const batchRows = 200;

/** Fills an empty index with the sample records, and asks it. */
export async function judgeIndex(index: RowIndex): Promise<readonly JudgedAnswer[]> {
  const records = sampleRecords();
  const changes = records.map(putOf);
  for (let from = 0; from < changes.length; from += batchRows)
    await index.apply(changes.slice(from, from + batchRows));
  const answers: JudgedAnswer[] = [];
  for (const query of judgedQueries()) {
    const { collection, country, q } = query;
    const some = records.filter((each) => each.collection === collection);
    const grades = new Map(some.map(({ id, record }) => [id, gradeOf(record, query)]));
    const asked = rowQueryOf({
      collection,
      q,
      filter: { all: [{ country }] },
      sort_by: "_text_match:desc",
      limit: ranksMax,
    });
    const found = (await index.search(asked)).map((hit) => hit.record_id);
    const gradesFound = found.map((id) => grades.get(id) ?? 0);
    answers.push({ query, found, ndcg: ndcg(gradesFound, [...grades.values()]) });
  }
  return answers;
}

/** `found` has the grades in the order of the answer, `all` those of everything that could have been found. */
export function ndcg(found: readonly number[], all: readonly number[]): number {
  const ideal = gain(all.toSorted((a, b) => b - a));
  return ideal === 0 ? 1 : gain(found) / ideal;
}

function gain(grades: readonly number[]): number {
  return grades
    .slice(0, ranksMax)
    .reduce((sum, grade, rank) => sum + (2 ** grade - 1) / Math.log2(rank + 2), 0);
}

/** Mean nDCG@10 of the answers; NaN of none. */
export function meanOf(answers: readonly JudgedAnswer[]): number {
  return answers.reduce((sum, each) => sum + each.ndcg, 0) / answers.length;
}

export function meansBy(
  answers: readonly JudgedAnswer[],
  nameOf: (query: JudgedQuery) => string,
): ReadonlyMap<string, number> {
  const groups = Map.groupBy(answers, ({ query }) => nameOf(query));
  return new Map([...groups].map(([name, some]) => [name, meanOf(some)]));
}

// The judged queries over the sample catalogues (queries.json), and how well a record answers one: a rule that reads the
// record's own fields and nothing of the service's analysis or index.
//   0  it does not have all that is meant
//   1  all that is meant is in it, some of it only in its description or body; or it lacks the tag that is meant
//   2  all that is meant is in its title, its tags and its brand together
//   3  all that is meant is in its title, or it has the tag that is meant

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

// The records of the sample businesses and the sample catalogue, as they would be published: the same at every time.

export interface PublishedRecord {
  readonly id: string;
  readonly collection: CollectionName;
  readonly businessUuid: string;
  readonly record: JsonObject;
}

const publishedAt = 1_770_000_000;

/** All records that a sandbox is filled with, except for those of its trials. */
export function sampleRecords(): readonly PublishedRecord[] {
  const day = calendarFrom(publishedAt * 1_000);
  const single = sampleBusinesses.flatMap((business) =>
    business.records(day).map((each) => ({ ...each, businessUuid: business.uuid })),
  );
  const stones = sampleStones().map((stone, index) => ({
    collection: "products" as const,
    record: diamondProduct(stone, index, stoneShop),
    businessUuid: sampleBusiness("diamond-merchant").uuid,
  }));
  return [...single, ...stones].map((each, n) => ({ ...each, id: recordIdOf(each.collection, seedOf(n)) }));
}

/** Spreads the ids, so that their order says nothing about the records. */
function seedOf(n: number): Uint8Array {
  const seed = new Uint8Array(20);
  new DataView(seed.buffer).setUint32(0, Math.imul(n + 1, 0x9e3779b1));
  new DataView(seed.buffer).setUint32(4, n);
  return seed;
}

function putOf({ id, collection, businessUuid, record }: PublishedRecord): RowChange {
  const projected = projectRecord({
    collection,
    record,
    recordId: id,
    businessUuid,
    publishedAt,
    aiPolicyVersion: 1,
    hash: `sha256:${"0".repeat(64)}`,
    certId: `sha256:${"1".repeat(64)}`,
    keyId: "k".repeat(43),
  });
  return {
    kind: "put",
    collection,
    record_id: id,
    business_uuid: businessUuid,
    generation: 1,
    change: 1,
    row: projectedRowText(projected),
  };
}
