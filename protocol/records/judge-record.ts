// Every fault of one pushed record at once: its form, its content, and whether the mandate covers its countries
// (specification, «Publish behaviour» 5: each is a per-record rejection, never the batch's).

import type { JsonObject } from "../canonical-json.ts";
import type { CollectionName } from "../identifiers.ts";
import type { ContentLists } from "./content-lists.ts";
import { contentFaults } from "./content-rules.ts";
import { parseRecord } from "./parse-record.ts";
import { type RecordFault, recordFaultsMax } from "./record-fault.ts";
import { isArray } from "./record-validator.ts";

export interface RecordRules {
  readonly collection: CollectionName;
  /** Countries that the mandate allows; null for no limit. */
  readonly countries: readonly string[] | null;
  readonly lists: ContentLists;
  /** Names that the business may say although they are protected; null for all there are. */
  readonly ownNames: readonly string[] | null;
}

export type JudgedRecord =
  | { readonly ok: true; readonly record: JsonObject }
  /** `record` is null where the bytes are no JSON object. */
  | { readonly ok: false; readonly faults: readonly RecordFault[]; readonly record: JsonObject | null };

/** `known`: what this made of the same bytes before, by the same lists; its countries are looked at once more. */
export function judgeRecord(bytes: Uint8Array, rules: RecordRules, known?: JsonObject): JudgedRecord {
  if (known !== undefined) return judged(known, scopeFaults(known, rules.countries, []));
  const parsed = parseRecord(rules.collection, bytes);
  const record = parsed.ok ? parsed.record : parsed.read;
  const ofForm: readonly RecordFault[] = parsed.ok ? [] : parsed.faults;
  if (record === null) return { ok: false, faults: ofForm, record: null };
  return judged(record, [
    ...ofForm,
    ...contentFaults(rules.collection, record, rules.lists, rules.ownNames),
    ...scopeFaults(record, rules.countries, ofForm),
  ]);
}

function judged(record: JsonObject, faults: readonly RecordFault[]): JudgedRecord {
  return faults.length > 0
    ? { ok: false, faults: faults.slice(0, recordFaultsMax), record }
    : { ok: true, record };
}

/** Countries outside the mandate; one that is no country was said to be none. */
function scopeFaults(
  record: JsonObject,
  allowed: readonly string[] | null,
  ofForm: readonly RecordFault[],
): readonly RecordFault[] {
  const { countries } = record;
  if (allowed === null || !isArray(countries)) return [];
  const faults: RecordFault[] = [];
  for (const [index, country] of countries.entries()) {
    const pointer = `/countries/${index}`;
    if (typeof country !== "string" || allowed.includes(country)) continue;
    if (ofForm.some((fault) => fault.pointer === pointer)) continue;
    faults.push({ code: "out_of_scope", pointer, detail: `The mandate does not cover ${country}.` });
    if (faults.length === recordFaultsMax) break;
  }
  return faults;
}
