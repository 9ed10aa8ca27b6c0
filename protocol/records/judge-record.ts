// Reports every fault of one pushed record at once: its form, its content, and whether the mandate covers its countries
// (specification, «Publish behaviour» 5: each rejects only the record, never the batch).

import { atOnce } from "../../std/steps.ts";
import type { JsonObject, JsonValue } from "../canonical-json.ts";
import type { CollectionName, ShownType } from "../identifiers.ts";
import type { BusinessBrands, ContentLists } from "./content-lists.ts";
import { findContentFaults } from "./content-rules.ts";
import { type ParsedAd, parseRecord } from "./parse-record.ts";
import { type RecordFault, recordFaultsMax } from "./record-fault.ts";
import { isArray } from "./record-validator.ts";

export interface RecordRules<T extends ShownType = CollectionName> {
  readonly collection: T;
  /** The countries that each mandate allows, of which one must allow all of the record's; null means no limit. */
  readonly countries: readonly (readonly string[])[] | null;
  readonly lists: ContentLists;
  /** Names that the business may use although they are protected; null allows every name. */
  readonly ownNames: readonly string[] | null;
  /** Reuse the same object, like `lists`. */
  readonly brands: BusinessBrands;
}

export type JudgedRecord =
  | { readonly ok: true; readonly record: JsonObject }
  /** `record` is null when the bytes are not a JSON object. */
  | { readonly ok: false; readonly faults: readonly RecordFault[]; readonly record: JsonObject | null };

/** Judges a record at once: for one that has the size of a product. */
export function judgeRecord(...of: Parameters<typeof judging>): JudgedRecord {
  return atOnce(judging(...of));
}

/**
 * Judges a record in steps. `known` is the record that an earlier call returned for the same bytes and the same lists; only its
 * countries are checked again.
 */
export function* judging(
  bytes: Uint8Array,
  rules: RecordRules<ShownType>,
  known?: JsonObject,
): Generator<void, JudgedRecord> {
  if (known !== undefined) return judged(known, scopeFaults(known, rules.countries, []));
  const parsed = parseRecord(rules.collection, bytes);
  const record = parsed.ok ? parsed.record : parsed.read;
  const ofForm: readonly RecordFault[] = parsed.ok ? [] : parsed.faults;
  if (record === null) return { ok: false, faults: ofForm, record: null };
  const { collection, lists, ownNames, brands } = rules;
  return judged(record, [
    ...ofForm,
    ...(yield* findContentFaults(collection, record, lists, ownNames, brands)),
    ...scopeFaults(record, rules.countries, ofForm),
  ]);
}

export type JudgedAd =
  | { readonly ok: true; readonly ad: ParsedAd }
  | { readonly ok: false; readonly faults: readonly RecordFault[] };

/** Reports every fault of an ad at once, like {@link judgeRecord}; `rules.countries` limits its countries as a mandate does. */
export function judgeAd(bytes: Uint8Array, rules: Omit<RecordRules, "collection">): JudgedAd {
  const judged = judgeRecord(bytes, { ...rules, collection: "ads" });
  // The judge lets nothing pass that parseRecord would not.
  return judged.ok ? { ok: true, ad: judged.record as ParsedAd } : { ok: false, faults: judged.faults };
}

function judged(record: JsonObject, faults: readonly RecordFault[]): JudgedRecord {
  return faults.length > 0
    ? { ok: false, faults: faults.slice(0, recordFaultsMax), record }
    : { ok: true, record };
}

/**
 * Reports countries outside the mandate, except values already reported as not being a country. Of several mandates, where none
 * allows all countries, it reports what the one that lacks the fewest does not allow.
 */
function scopeFaults(
  { countries }: JsonObject,
  allowed: RecordRules["countries"],
  ofForm: readonly RecordFault[],
): readonly RecordFault[] {
  if (allowed === null || !isArray(countries)) return [];
  const isCovered = (each: readonly JsonValue[]): boolean =>
    countries.every((country) => each.includes(country));
  if (allowed.some(isCovered)) return [];
  const named = countries.flatMap((country, index): readonly NamedCountry[] => {
    const pointer = `/countries/${index}`;
    return typeof country !== "string" || ofForm.some((fault) => fault.pointer === pointer)
      ? []
      : [{ country, pointer }];
  });
  let missing = named;
  for (const each of allowed) {
    const outside = named.filter(({ country }) => !each.includes(country));
    if (outside.length === 0) return [];
    if (outside.length < missing.length) missing = outside;
  }
  return missing.slice(0, recordFaultsMax).map(({ country, pointer }) => {
    const others = allowed.some((each) => each.includes(country)) ? " with the record's other countries" : "";
    const which = allowed.length === 1 ? "The mandate does not cover" : "No mandate covers";
    return { code: "out_of_scope", pointer, detail: `${which} ${country}${others}.` };
  });
}

interface NamedCountry {
  readonly country: string;
  readonly pointer: string;
}
