// Which category of the service's taxonomy a category of Google's product taxonomy becomes. Google names a category by its
// number or by its path in English; what is not listed takes the category of the nearest listed one above it. Broad
// headings, under which quite different things are sold, have no category of their own: a mapping file names one.
// The list has number, path and category of each, as in version 2021-09-21 of Google's taxonomy, which is the newest.

import { categoryCodes, verticalOf } from "../../protocol/records/vocabularies/taxonomy.ts";
import listed from "./google-categories.json" with { type: "json" };
import numbers from "./google-category-numbers.json" with { type: "json" };

const googleCategories = listed.map(([id = "", path = "", category = ""]) => ({ id, path, category }));

/**
 * The listed number above each number that has one, since a number alone does not say what it is part of. What has no listed category
 * above it is not here.
 */
const numberAbove: ReadonlyMap<string, string> = new Map(
  Object.entries(numbers).flatMap(([above, below]) =>
    below.split(" ").map((number) => [number, above] as const),
  ),
);

const byId = new Map(googleCategories.map(({ id, category }) => [id, category]));
const byPath = new Map(googleCategories.map(({ path, category }) => [pathKey(path), category]));

/** Spelled in one way, since feeds differ in case and in the spaces around `>`. */
function pathKey(path: string): string {
  return path
    .split(">")
    .map((part) => part.trim().toLowerCase())
    .join(" > ");
}

/** The category of the first of `names` that one is known for; `own` comes first (the mapping file's `categories`). */
export function categoryOf(names: readonly string[], own: ReadonlyMap<string, string>): string | null {
  for (const name of names) {
    const found = nearest(name, own) ?? byNumber(name.trim(), own) ?? nearest(name, byPath);
    if (found !== null) return found;
  }
  return null;
}

/** The same category as by its path. */
function byNumber(number: string, own: ReadonlyMap<string, string>): string | null {
  const above = numberAbove.get(number) ?? number;
  return own.get(above) ?? byId.get(above) ?? null;
}

/** The entry for the path itself, or else for the longest path above it. */
function nearest(name: string, known: ReadonlyMap<string, string>): string | null {
  const parts = pathKey(name).split(" > ");
  for (let length = parts.length; length > 0; length -= 1) {
    const found = known.get(parts.slice(0, length).join(" > "));
    if (found !== undefined) return found;
  }
  return null;
}

/** The mapping file's `categories` in the form that {@link categoryOf} takes. */
export function ownCategories(categories: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(categories).map(([name, category]) => [pathKey(name), category]));
}

/** @internal Rows whose category the taxonomy does not have, and paths or numbers that are listed twice: none. */
export function categoryTableFaults(): readonly string[] {
  const twice = (values: readonly string[]): readonly string[] =>
    values.filter((value, at) => values.indexOf(value) !== at);
  return [
    ...googleCategories
      .filter(({ category }) => !categoryCodes.codes.has(category) || verticalOf(category) === undefined)
      .map(({ path }) => path),
    ...[...numberAbove]
      .filter(([number, above]) => byId.has(number) || !byId.has(above))
      .map(([number]) => number),
    ...twice(googleCategories.map(({ id }) => id)),
    ...twice(googleCategories.map(({ path }) => path)),
  ];
}
