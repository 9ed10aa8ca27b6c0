// Reads a record: turns its exact bytes, as the business sealed them, into a value whose every member is known.

import { isObject } from "../../std/is-object.ts";
import type { JsonObject } from "../canonical-json.ts";
import type { CollectionName, ShownType } from "../identifiers.ts";
import { parseStrictJson } from "../strict-json.ts";
import { type AdRecord, ads } from "./ads.ts";
import { businessFiles } from "./business-files.ts";
import { events } from "./events.ts";
import { jobs } from "./jobs.ts";
import { type ProductRecord, products } from "./products.ts";
import { FaultList, type RecordFault } from "./record-fault.ts";
import type { RecordCore, RecordType } from "./record-type.ts";
import { type Check, membersCheck } from "./record-validator.ts";
import { updates } from "./updates.ts";

/** The existing record types, by collection, and that of ads. */
export const recordTypes: Readonly<Record<ShownType, RecordType>> = {
  products,
  business_files: businessFiles,
  events,
  jobs,
  updates,
  ads,
};

/** A record whose members have all been checked. */
export type ParsedRecord = JsonObject & RecordCore;
export type ParsedProduct = JsonObject & ProductRecord;

export type ParsedAd = JsonObject & AdRecord;

export type RecordOutcome<T extends JsonObject = ParsedRecord> =
  | { readonly ok: true; readonly record: T }
  | {
      readonly ok: false;
      readonly faults: readonly RecordFault[];
      /** What was read, for the checks that follow, with members of any kind; null when it is not a JSON object. */
      readonly read: JsonObject | null;
    };

/** The deepest record type has four levels; anything deeper than this is not read. */
const recordDepthMax = 8;

const checks = new Map<ShownType, Check>();

/**
 * Reads the bytes of a record of `collection` and returns it, or all its faults at once: strict JSON first, then the
 * members, then the rules between members. It does not judge the record's content (content-rules.ts).
 */
export function parseRecord(collection: "products", bytes: Uint8Array): RecordOutcome<ParsedProduct>;
export function parseRecord(collection: "ads", bytes: Uint8Array): RecordOutcome<ParsedAd>;
export function parseRecord(collection: CollectionName, bytes: Uint8Array): RecordOutcome;
export function parseRecord(collection: ShownType, bytes: Uint8Array): RecordOutcome<JsonObject>;
export function parseRecord(collection: ShownType, bytes: Uint8Array): RecordOutcome<JsonObject> {
  const parsed = parseStrictJson(bytes, { depthMax: recordDepthMax });
  if (!parsed.ok)
    return {
      ok: false,
      faults: [{ code: parsed.code, pointer: parsed.pointer ?? "", detail: parsed.detail }],
      read: null,
    };
  const faults = new FaultList();
  checkOf(collection)(parsed.value, "", faults);
  const read = isObject(parsed.value) ? parsed.value : null;
  if (read !== null) for (const rule of recordTypes[collection].rules) rule(read, faults);
  return faults.faults.length === 0
    ? { ok: true, record: parsed.value as JsonObject }
    : { ok: false, faults: faults.faults, read };
}

/** `svc/<collection>/<version>` of the records that are currently accepted. */
export function recordSchema(collection: ShownType): string {
  return `svc/${collection}/${recordTypes[collection].version}`;
}

function checkOf(collection: ShownType): Check {
  const known = checks.get(collection);
  if (known !== undefined) return known;
  const check = membersCheck(recordTypes[collection].members);
  checks.set(collection, check);
  return check;
}
