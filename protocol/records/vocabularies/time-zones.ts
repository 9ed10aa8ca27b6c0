import { codeList } from "./code-list.ts";
import list from "./time-zones.json" with { type: "json" };

/** Time zones by their names in the IANA time zone database; old aliases are not listed. */
export const timeZones = codeList({
  ...list,
  entries: Object.fromEntries(list.entries.map((zone) => [zone, zone])),
});
