// Writes protocol/records/vocabularies/subdivisions-*.ts from the npm package iso-3166. A test compares what it would write
// with what stands there, so that a new release of the package is noticed when it is installed.
// Usage: node tools/run.mjs tools/subdivisions.ts
// A published code stays in every later version (protocol/records/vocabularies/code-list.ts): before new files are kept, the
// version in subdivisions.ts is incremented, and codes that the standard has withdrawn are added to them again.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { iso31662 } from "iso-3166";
import { root } from "./process.ts";

const folder = "protocol/records/vocabularies";
const widthMax = 150;
const parts = [
  ["A", "F"],
  ["G", "L"],
  ["M", "R"],
  ["S", "Z"],
] as const;

/** The text of each file, by its path. */
export function subdivisionFiles(): ReadonlyMap<string, string> {
  return new Map(
    parts.map(([first, last]) => [
      `${folder}/subdivisions-${first.toLowerCase()}-${last.toLowerCase()}.ts`,
      fileText(first, last),
    ]),
  );
}

function fileText(first: string, last: string): string {
  const countries = new Map<string, string[]>();
  for (const { code, name } of iso31662) {
    const [country = "", own = ""] = code.split("-");
    if (country < first || country.charAt(0) > last) continue;
    countries.set(country, [...(countries.get(country) ?? []), `${own} ${name}`]);
  }
  const blocks = [...countries].sort(([a], [b]) => (a < b ? -1 : 1)).map(countryBlock);
  return `// Subdivisions of the countries whose code begins with ${first} to ${last}, in the form that subdivisions.ts reads; from the npm package iso-3166 ${packageVersion()}
// (NOTICE).

export const subdivisions${first}To${last} = \`
${blocks.join("\n")}
\`;
`;
}

/** \`AD: 02 Canillo; 03 Encamp\`, wrapped; what would end the text or an entry in it does not occur. */
function countryBlock([country, entries]: readonly [string, readonly string[]]): string {
  if (/[;`\\$\n]/.test(entries.join(""))) throw new Error(`A name of ${country} cannot be written.`);
  const lines: string[] = [];
  let line = `  ${country}:`;
  for (const [index, entry] of entries.entries()) {
    const item = ` ${entry}${index === entries.length - 1 ? "" : ";"}`;
    if (line.length + item.length > widthMax) {
      lines.push(line);
      line = `   ${item}`;
    } else line += item;
  }
  return [...lines, line].join("\n");
}

function packageVersion(): string {
  const manifest = readFileSync(join(root, "node_modules", "iso-3166", "package.json"), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

if (import.meta.main) for (const [path, text] of subdivisionFiles()) writeFileSync(join(root, path), text);
