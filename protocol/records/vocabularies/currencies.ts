import { codeList } from "./code-list.ts";
import list from "./currencies.json" with { type: "json" };

/** Currencies in use (ISO 4217), without fund, metal and test codes; each of them can be used for prices. */
export const currencies = codeList(list);
