import { type CodeEntry, type CodeList, parseEntries } from "./code-list.ts";
import { subdivisionsAToF } from "./subdivisions-a-f.ts";
import { subdivisionsGToL } from "./subdivisions-g-l.ts";
import { subdivisionsMToR } from "./subdivisions-m-r.ts";
import { subdivisionsSToZ } from "./subdivisions-s-z.ts";

/** `AD: 02 Canillo; 03 Encamp`: a country, then its subdivisions without the country's code. A further line is indented more. */
function read(text: string): readonly CodeEntry[] {
  return text
    .split(/\n {2}(?=[A-Z]{2}: )/)
    .filter((part) => part.trim() !== "")
    .flatMap((part) => {
      const country = part.trimStart().slice(0, 2);
      const listed = parseEntries(part.trimStart().slice(3));
      return listed.map(({ code, name }) => ({ code: `${country}-${code}`, name }));
    });
}

const entries = [subdivisionsAToF, subdivisionsGToL, subdivisionsMToR, subdivisionsSToZ].flatMap(read);

/** The 5,070 subdivisions of ISO 3166-2, on all its levels, with a name in a local spelling. Version 1 was a pattern only. */
export const subdivisions: CodeList = {
  name: "subdivisions",
  version: 2,
  standard: "ISO 3166-2",
  entries,
  codes: new Set(entries.map(({ code }) => code)),
  insteads: new Map(),
};
