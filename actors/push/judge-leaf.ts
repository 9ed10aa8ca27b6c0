// Every fault of one leaf at once: its form, its content, and whether the mandate covers its countries
// (specification, «Publish behaviour» 5: each is a per-record rejection, never the batch's).

import type { JsonObject } from "../../protocol/canonical-json.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { type ContentLists, contentFaults } from "../../protocol/records/content-rules.ts";
import { parseRecord } from "../../protocol/records/parse-record.ts";
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
  if (!parsed.ok) return parsed;
  const faults: RecordFault[] = [
    ...contentFaults(rules.collection, parsed.record, rules.lists),
    ...scopeFaults(parsed.record, rules.countries),
  ];
  return faults.length > 0 ? { ok: false, faults } : { ok: true, record: parsed.record };
}

function scopeFaults(record: JsonObject, allowed: readonly string[] | null): readonly RecordFault[] {
  const { countries } = record as { readonly countries?: readonly string[] };
  if (allowed === null || countries === undefined) return [];
  const faults: RecordFault[] = [];
  for (const [index, country] of countries.entries()) {
    if (!allowed.includes(country)) {
      faults.push({
        code: "out_of_scope",
        pointer: `/countries/${index}`,
        detail: `The mandate does not cover ${country}.`,
      });
    }
  }
  return faults;
}
