// Writes the codes (subdivision-codes.json) and their names (subdivision-names.json) in protocol/records/vocabularies from the npm package
// iso-3166. A test compares what it would write with what stands there, so that a new release of the package is noticed when it is installed.
// Usage: node tools/run.mjs tools/subdivisions.ts
// A published code stays in every later version (protocol/records/vocabularies/code-list.ts): before a new file is kept, the
// version in subdivisions.ts is incremented, and codes that the standard has withdrawn are added to it again.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { iso31662 } from "iso-3166";
import { root } from "./process.ts";

const folder = join(root, "protocol/records/vocabularies");

/** The texts of the two files by their paths: of each country the codes without that of the country, and the names in the same order. */
export function subdivisionFiles(): ReadonlyMap<string, string> {
  const countries = new Map<string, { readonly own: string; readonly name: string }[]>();
  for (const { code, name } of iso31662) {
    const [country = "", own = ""] = code.split("-");
    if (name.includes("; ")) throw new Error(`The name of ${code} cannot be written.`);
    countries.set(country, [...(countries.get(country) ?? []), { own, name }]);
  }
  const sorted = [...countries].sort(([a], [b]) => (a < b ? -1 : 1));
  const textOf = (part: "own" | "name", separator: string): string => {
    const listed = sorted.map(([country, all]) => [country, all.map((each) => each[part]).join(separator)]);
    return `${JSON.stringify(Object.fromEntries(listed), null, 2)}\n`;
  };
  return new Map([
    [join(folder, "subdivision-codes.json"), textOf("own", " ")],
    [join(folder, "subdivision-names.json"), textOf("name", "; ")],
  ]);
}

if (import.meta.main) for (const [path, text] of subdivisionFiles()) writeFileSync(path, text);
