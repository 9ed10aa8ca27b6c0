// Every fault of one leaf at once: its form, its content, and whether the mandate covers its countries
// (specification, «Publish behaviour» 5: each is a per-record rejection, never the batch's).

import type { JsonObject } from "../../protocol/canonical-json.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { type ContentLists, contentFaults } from "../../protocol/records/content-rules.ts";
import { parseRecord } from "../../protocol/records/parse-record.ts";
import { recordFaultsMax } from "../../protocol/records/record-fault.ts";
import { isArray } from "../../protocol/records/record-validator.ts";
import type { RecordFault } from "../messages/push.ts";

export interface LeafRules {
  readonly collection: CollectionName;
  /** Countries that the mandate allows; null for no limit. */
  readonly countries: readonly string[] | null;
  readonly lists: ContentLists;
}

export type JudgedLeaf =
  | { readonly ok: true; readonly record: JsonObject }
  | { readonly ok: false; readonly faults: readonly RecordFault[] };

/** `known`: what `parseRecord` made of these bytes before, where that is at hand. */
export function judgeLeaf(bytes: Uint8Array, rules: LeafRules, known?: JsonObject): JudgedLeaf {
  const parsed =
    known === undefined ? parseRecord(rules.collection, bytes) : { ok: true as const, record: known };
  const record = parsed.ok ? parsed.record : parsed.read;
  const ofForm: readonly RecordFault[] = parsed.ok ? [] : parsed.faults;
  if (record === null) return { ok: false, faults: ofForm };
  const faults: readonly RecordFault[] = [
    ...ofForm,
    ...contentFaults(rules.collection, record, rules.lists),
    ...scopeFaults(record, rules.countries, ofForm),
  ];
  return faults.length > 0 ? { ok: false, faults: faults.slice(0, recordFaultsMax) } : { ok: true, record };
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
