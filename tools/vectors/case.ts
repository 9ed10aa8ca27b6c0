// The form of the public test vectors, as vectors/README.md describes it. The inputs of each check are plain JSON.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";

/** What a case asks of a verifier; vectors/README.md says what each one takes. */
export const checkNames = [
  "anchors",
  "key_set",
  "signature",
  "certificate",
  "certificates",
  "certificate_at",
  "business_keys",
  "key_custody",
  "custody_at",
  "mandate",
  "hold_decision",
  "custody_request",
  "key_possession",
  "seal",
  "sidecar",
  "receipt",
  "row",
  "projection",
  "projection_document",
  "ai_policy_bits",
  "statement",
  "page",
  "key_directory",
  "listed_key_at",
  "entitlement",
  "checkpoint",
  "log_inclusion",
  "receipt_inclusion",
  "log_consistency",
  "search_answer",
  "fetch_answer",
  "pool_answer",
  "ad_item",
  "evidence",
] as const;

export type CheckName = (typeof checkNames)[number];

/** `ok`, `not_checked`, `unsigned`, or the reason of a failed check. */
export type Outcome = ReasonCode | "ok" | "not_checked" | "unsigned";

/** Whether these outcomes make a report valid. */
export function isValid(checks: Readonly<Record<string, Outcome>>): boolean {
  return Object.values(checks).every((each) => ["ok", "not_checked", "unsigned"].includes(each));
}

export interface Expected {
  readonly valid: boolean;
  /** Of a refusal. */
  readonly reason?: ReasonCode;
  /** Of some checks: what was found. */
  readonly value?: JsonValue;
  /** Of a seal with a sidecar: the verdict on the sidecar. */
  readonly sidecar?: Outcome;
  /** Of an answer or an evidence file: every named check. */
  readonly checks?: Readonly<Record<string, Outcome>>;
}

export interface VectorCase {
  readonly name: string;
  readonly says: string;
  readonly check: CheckName;
  /** The name of the anchors and key set in `trust.json`; null for a case that brings its own. */
  readonly trust: string | null;
  readonly input: JsonObject;
  readonly expected: Expected;
}

export interface VectorFile {
  readonly v: 1;
  readonly cases: readonly VectorCase[];
}

/** What is trusted in advance, and the key set that chains to it. */
export interface TrustVector {
  readonly anchors: JsonValue;
  readonly key_set: JsonValue;
}

export interface TrustFile {
  readonly v: 1;
  readonly trust: Readonly<Record<string, TrustVector>>;
}
