// The parts of a fetched record. The record and the AI policy record are taken verbatim from the answer: their hashes
// cover those exact characters, which parsing and re-serialising could change.

import { parseUtf8, utf8 } from "../protocol/bytes.ts";
import { malformed, parseObject } from "../protocol/dsse.ts";
import { isRecordId, isUuidV4 } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember, parseStrictJson } from "../protocol/json/strict-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { fetchedRecord } from "../protocol/wire/retrieval.ts";
import { isObject } from "../std/json-pointer.ts";
import { compareMembers, isSame } from "./members.ts";

export interface FetchedRecord {
  readonly recordId: string;
  readonly businessUuid: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly seal: JsonValue;
  readonly sidecar: JsonValue;
  readonly receipt: JsonValue;
  readonly policy: FetchedPolicy;
  /** The whole answer, with the pointers of members that no fetch answer has; null where there is no answer. */
  readonly answer: { readonly members: JsonObject; readonly unknown: readonly string[] } | null;
}

export interface FetchedPolicy {
  /** 0 when the business has no sealed AI policy; record and seal are then null. */
  readonly version: number;
  readonly bytes: Uint8Array | null;
  readonly seal: JsonValue;
}

/** The bytes for an answer whose text is no longer the one served; null for a record that is not there. */
export interface ExactBytes {
  readonly record?: Uint8Array | undefined;
  readonly policyRecord?: Uint8Array | undefined;
}

/**
 * Reads the answer of `GET /v1/records/{record_id}`; anything else is refused with `payload_malformed`. Exact bytes of another
 * content than the answer shows are `hash_mismatch`: the reader must not be shown anything other than what is verified, and
 * nobody who reads the bytes must read anything else either.
 */
export function parseFetched(body: Uint8Array, exact: ExactBytes = {}): Verdict<FetchedRecord> {
  const parsed = parseObject(body);
  const text = parseUtf8(body);
  if (!parsed.ok) return parsed;
  const answer = parsed.value;
  const { unknown, missing } = compareMembers(fetchedRecord.schema, answer);
  if (missing !== null) return missing;
  const { record_id: recordId, business_uuid: businessUuid, type } = answer;
  const shown = memberBytes(text, "record");
  const isRecord = typeof recordId === "string" && isRecordId(recordId) && typeof businessUuid === "string";
  if (!isRecord || !isUuidV4(businessUuid) || typeof type !== "string" || shown === null)
    return notAFetch("Not the answer of a fetch.");
  const policy = policyOf(answer["ai_policy"]);
  if (!policy.ok) return policy;
  const record = exactly(exact.record, shown, "/record");
  if (!record.ok) return record;
  const sealed = exactly(exact.policyRecord, memberBytes(text, "ai_policy", "record"), "/ai_policy/record");
  if (!sealed.ok) return sealed;
  return ok({
    recordId,
    businessUuid,
    type,
    bytes: record.value,
    policy: { ...policy.value, bytes: sealed.value },
    seal: answer["seal"] ?? null,
    sidecar: answer["sidecar"] ?? null,
    receipt: answer["receipt"] ?? null,
    answer: { members: answer, unknown },
  });
}

function exactly<Shown extends Uint8Array | null>(
  given: Uint8Array | undefined,
  shown: Shown,
  pointer: string,
): Verdict<Uint8Array | Shown> {
  if (given === undefined) return ok(shown);
  const [exact, read] = [parseStrictJson(given), parseStrictJson(shown ?? utf8("null"))];
  return exact.ok && read.ok && isSame(exact.value, read.value)
    ? ok(given)
    : refuse("hash_mismatch", "The exact bytes are given, and are not what the answer shows.", pointer);
}

/** The AI policy that an answer has: version 0 without a record and a seal, any other with both. */
function policyOf(value: JsonValue | undefined): Verdict<Omit<FetchedPolicy, "bytes">> {
  const { version, record, seal = null } = isObject(value) ? value : {};
  if (typeof version !== "number" || !Number.isSafeInteger(version) || version < 0) {
    return notAFetch("The AI policy of the answer names no version.", "/ai_policy/version");
  }
  if ((version === 0) !== (record === null) || (version === 0) !== (seal === null)) {
    const detail = "An AI policy is served with its record and its seal, and version 0 without them.";
    return notAFetch(detail, "/ai_policy");
  }
  return ok({ version, seal });
}

/** The exact bytes of a member; null for one that is absent or null. */
export function memberBytes(text: string | null, ...path: readonly string[]): Uint8Array | null {
  const member = text === null ? null : exactMember(text, ...path);
  return member === null || member.trim() === "null" ? null : utf8(member);
}

function notAFetch(detail: string, pointer = ""): Verdict<never> {
  return malformed(detail, pointer);
}
