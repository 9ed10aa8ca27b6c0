// The parts of a fetched record. The record and the AI policy record are taken verbatim from the answer: their hashes
// cover those exact characters, which parsing and re-serialising could change.

import { parseUtf8, utf8 } from "../protocol/bytes.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../protocol/canonical-json.ts";
import { exactMember } from "../protocol/exact-member.ts";
import { isRecordId, isUuidV4 } from "../protocol/identifiers.ts";
import { parseObject } from "../protocol/payload.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { isObject } from "../std/is-object.ts";

export interface FetchedRecord {
  readonly recordId: string;
  readonly businessUuid: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly seal: JsonValue;
  readonly sidecar: JsonValue;
  readonly receipt: JsonValue;
  /** Null if the answer has none; undefined where there is no answer. */
  readonly sourceLine: string | null | undefined;
  /** What the answer says to be the seal's leaf in the transparency log; null if it names none. */
  readonly logLeaf: JsonValue;
  readonly policy: FetchedPolicy;
}

export interface FetchedPolicy {
  /** 0 when the business has no sealed AI policy; record and seal are then null. */
  readonly version: number;
  readonly bytes: Uint8Array | null;
  readonly seal: JsonValue;
}

/**
 * The bytes for an answer whose text is no longer the one served. They count only if they have the same content as the
 * answer: the reader must not be shown anything other than what is verified.
 */
export interface ExactBytes {
  readonly record?: Uint8Array | undefined;
  readonly policyRecord?: Uint8Array | undefined;
}

/** Reads the answer of `GET /v1/records/{record_id}`; anything else is refused with `payload_malformed`. */
export function parseFetched(body: Uint8Array, exact: ExactBytes = {}): Verdict<FetchedRecord> {
  const parsed = parseObject(body);
  const text = parseUtf8(body);
  if (!parsed.ok) return parsed;
  const { record_id: recordId, business_uuid: businessUuid, type, seal, sidecar, receipt } = parsed.value;
  const record = exactly(exact.record, memberBytes(text, "record"));
  const isRecord = typeof recordId === "string" && isRecordId(recordId) && typeof businessUuid === "string";
  if (
    !isRecord ||
    !isUuidV4(businessUuid) ||
    typeof type !== "string" ||
    record === null ||
    seal === undefined
  ) {
    return notAFetch("Not the answer of a fetch.");
  }
  const policy = policyOf(
    parsed.value["ai_policy"],
    exactly(exact.policyRecord, memberBytes(text, "ai_policy", "record")),
  );
  if (!policy.ok) return policy;
  const sourceLine = sourceLineOf(parsed.value);
  const { provenance } = parsed.value;
  const logLeaf = isObject(provenance) ? (provenance["log_leaf"] ?? null) : null;
  return ok({
    ...{ recordId, businessUuid, type, bytes: record, seal, sourceLine, logLeaf },
    sidecar: sidecar ?? null,
    receipt: receipt ?? null,
    policy: policy.value,
  });
}

function exactly(given: Uint8Array | undefined, shown: Uint8Array | null): Uint8Array | null {
  if (given === undefined || shown === null) return shown;
  const [exact, read] = [parseStrictJson(given), parseStrictJson(shown)];
  return exact.ok && read.ok && canonicalize(exact.value) === canonicalize(read.value) ? given : shown;
}

function policyOf(value: JsonValue | undefined, bytes: Uint8Array | null): Verdict<FetchedPolicy> {
  if (value === undefined || value === null) return ok({ version: 0, bytes: null, seal: null });
  const { version, seal = null } = isObject(value) ? value : {};
  if (typeof version !== "number" || !Number.isSafeInteger(version) || version < 0) {
    return notAFetch("The AI policy of the answer names no version.");
  }
  return ok({ version, bytes: version === 0 ? null : bytes, seal });
}

function sourceLineOf(answer: JsonObject): string | null {
  const { provenance } = answer;
  const line = isObject(provenance) ? provenance["source_line"] : undefined;
  return typeof line === "string" ? line : null;
}

function memberBytes(text: string | null, ...path: readonly string[]): Uint8Array | null {
  const member = text === null ? null : exactMember(text, ...path);
  return member === null || member.trim() === "null" ? null : utf8(member);
}

function notAFetch(detail: string): Verdict<never> {
  return refuse("payload_malformed", detail);
}
