// Writes protocol/records/vocabularies/subdivisions.json from the npm package iso-3166. A test compares what it would write
// with what stands there, so that a new release of the package is noticed when it is installed.
// Usage: node tools/run.mjs tools/subdivisions.ts
// A published code stays in every later version (protocol/records/vocabularies/code-list.ts): before a new file is kept, the
// version in subdivisions.ts is incremented, and codes that the standard has withdrawn are added to it again.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { iso31662 } from "iso-3166";
import { root } from "./process.ts";

export const subdivisionsPath = join(root, "protocol/records/vocabularies/subdivisions.json");

export function subdivisionsText(): string {
  const countries = new Map<string, string[]>();
  for (const { code, name } of iso31662) {
    const [country = "", own = ""] = code.split("-");
    if (name.includes("; ")) throw new Error(`The name of ${code} cannot be written.`);
    countries.set(country, [...(countries.get(country) ?? []), `${own} ${name}`]);
  }
  const sorted = [...countries].sort(([a], [b]) => (a < b ? -1 : 1));
  const listed = Object.fromEntries(sorted.map(([country, entries]) => [country, entries.join("; ")]));
  return `${JSON.stringify(listed, null, 2)}\n`;
}

if (import.meta.main) writeFileSync(subdivisionsPath, subdivisionsText());
