import { codeList } from "./code-list.ts";
import { subdivisionCodes } from "./subdivision-codes.ts";
import named from "./subdivision-names.json" with { type: "json" };

/** The names, in the order of the codes. */
const names = Object.values(named).flatMap((listed) => listed.split("; "));

/** The subdivisions of ISO 3166-2 with a name in a local spelling. Version 1 was a pattern only. */
export const subdivisions = codeList({
  name: "subdivisions",
  version: 2,
  standard: "ISO 3166-2",
  entries: Object.fromEntries([...subdivisionCodes].map((code, at) => [code, names[at] ?? ""])),
});
