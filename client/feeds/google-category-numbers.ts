// Numbers of Google's product taxonomy (version 2021-09-21) whose category is that of a listed category above them, since a
// number alone does not say what it is part of. What has no listed category above it is not here.

import listed from "./google-category-numbers.json" with { type: "json" };

/** The listed number above each number. */
export const numberAbove: ReadonlyMap<string, string> = new Map(
  Object.entries(listed).flatMap(([above, below]) =>
    below.split(" ").map((number) => [number, above] as const),
  ),
);
