import { codeList } from "./code-list.ts";
import list from "./countries.json" with { type: "json" };

/** The 249 officially assigned country codes (ISO 3166-1 alpha-2) with a short English name. */
export const countries = codeList(list);
