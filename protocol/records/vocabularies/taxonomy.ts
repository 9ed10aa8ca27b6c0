// The service's own vocabularies, published together as the document `taxonomy`. Codes are lower_snake and never reused or
// renamed; a new code increments the version.

import { type CodeEntry, type CodeList, codeList } from "./code-list.ts";
import taxonomy from "./taxonomy.json" with { type: "json" };

export const taxonomyVersion = taxonomy.version;

export interface Vertical extends CodeEntry {
  readonly categories: readonly CodeEntry[];
}

/** Verticals in published order, each with its categories. A category belongs to exactly one vertical. */
export const verticals: readonly Vertical[] = Object.entries(taxonomy.verticals).map(
  ([code, { name, categories }]) => ({
    code,
    name,
    categories: categories.split(" ").map((category) => ({ code: category, name: nameOf(category) })),
  }),
);

export const verticalCodes = own("verticals", named(verticals));
export const categoryCodes = own("categories", named(verticals.flatMap(({ categories }) => categories)));

/** Every list of the taxonomy in published order. */
export const taxonomyLists: readonly CodeList[] = Object.entries(taxonomy.lists).map(([name, entries]) =>
  own(name, entries),
);

const lists = new Map(taxonomyLists.map((list) => [list.name, list]));

/** A list of the taxonomy. */
export function taxonomyList(name: string): CodeList {
  const list = lists.get(name);
  if (list === undefined) throw new Error(`There is no list ${name}.`);
  return list;
}

const verticalByCategory: ReadonlyMap<string, string> = new Map(
  verticals.flatMap((each) => each.categories.map((category) => [category.code, each.code] as const)),
);

/** The vertical that a category belongs to; undefined for a code that is not a category. */
export function verticalOf(category: string): string | undefined {
  return verticalByCategory.get(category);
}

/** Turns `car_care` into `Car care`. */
function nameOf(code: string): string {
  const words = code.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function named(entries: readonly CodeEntry[]): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.map(({ code, name }) => [code, name]));
}

function own(name: string, entries: Readonly<Record<string, string>>): CodeList {
  return codeList({ name, version: taxonomyVersion, standard: "svc", entries });
}
