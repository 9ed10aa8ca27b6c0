import { codeList } from "./code-list.ts";
import countries from "./subdivisions.json" with { type: "json" };

/** `02 Canillo; 03 Encamp` of a country: codes without that of the country, with their names. */
const entries = Object.entries(countries).flatMap(([country, listed]) =>
  listed.split("; ").map((entry): [string, string] => {
    const space = entry.indexOf(" ");
    return [`${country}-${entry.slice(0, space)}`, entry.slice(space + 1)];
  }),
);

/** The 5,070 subdivisions of ISO 3166-2, on all its levels, with a name in a local spelling. Version 1 was a pattern only. */
export const subdivisions = codeList({
  name: "subdivisions",
  version: 2,
  standard: "ISO 3166-2",
  entries: Object.fromEntries(entries),
});
