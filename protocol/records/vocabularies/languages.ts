import { codeList } from "./code-list.ts";
import list from "./languages.json" with { type: "json" };

/** Languages by their two-letter code (ISO 639-1). A record states one language; regional variants are not distinguished. */
export const languages = codeList(list);
