// The documents behind the vocabulary read (specification, «Public verification API»). A published version remains available
// for ever. Of the subdivisions, version 1 was a pattern, and version 2 lists the codes.

import type { CodeEntry, CodeList } from "./code-list.ts";
import { countries } from "./countries.ts";
import { currencies } from "./currencies.ts";
import { languages } from "./languages.ts";
import { subdivisionPattern } from "./subdivision-codes.ts";
import { subdivisions } from "./subdivisions.ts";
import { taxonomyLists, taxonomyVersion, type Vertical, verticals } from "./taxonomy.ts";
import { timeZones } from "./time-zones.ts";

export const vocabularyNames = [
  "taxonomy",
  "countries",
  "subdivisions",
  "currencies",
  "time_zones",
  "languages",
] as const;

export type VocabularyName = (typeof vocabularyNames)[number];

export type VocabularyDocument =
  | {
      readonly name: VocabularyName;
      readonly version: number;
      readonly standard: string;
      readonly entries: readonly CodeEntry[];
    }
  | {
      readonly name: "taxonomy";
      readonly version: number;
      readonly standard: string;
      readonly verticals: readonly Vertical[];
      readonly lists: Readonly<Record<string, readonly CodeEntry[]>>;
    }
  | {
      readonly name: "subdivisions";
      readonly version: number;
      readonly standard: string;
      /** ECMA-262 pattern that every code matches. */
      readonly pattern: string;
      readonly rule: string;
    };

const documents: Readonly<Record<VocabularyName, VocabularyDocument>> = {
  taxonomy: {
    name: "taxonomy",
    version: taxonomyVersion,
    standard: "svc",
    verticals,
    lists: Object.fromEntries(taxonomyLists.map((list) => [list.name, list.entries])),
  },
  countries: listDocument("countries", countries),
  subdivisions: listDocument("subdivisions", subdivisions),
  currencies: listDocument("currencies", currencies),
  time_zones: listDocument("time_zones", timeZones),
  languages: listDocument("languages", languages),
};

const earlier: readonly VocabularyDocument[] = [
  {
    name: "subdivisions",
    version: 1,
    standard: "ISO 3166-2",
    pattern: subdivisionPattern,
    rule: "The two letters before the hyphen are a code of the vocabulary countries.",
  },
];

/** A vocabulary, in its latest version unless another is requested; null when that version does not exist. */
export function vocabularyDocument(name: VocabularyName, version?: number): VocabularyDocument | null {
  const document = documents[name];
  if (version === undefined || version === document.version) return document;
  return earlier.find((each) => each.name === name && each.version === version) ?? null;
}

/** Every version of a vocabulary, the latest first. */
export function vocabularyVersions(
  name: VocabularyName,
): readonly [VocabularyDocument, ...VocabularyDocument[]] {
  const before = earlier.filter((each) => each.name === name);
  return [documents[name], ...before.sort((a, b) => b.version - a.version)];
}

function listDocument(name: VocabularyName, list: CodeList): VocabularyDocument {
  return { name, version: list.version, standard: list.standard, entries: list.entries };
}
