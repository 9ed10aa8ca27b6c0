// Evidence files: an answer together with everything needed to verify it offline (format `svc-evidence/1`).

import { parseBase64, parseUtf8, toBase64, utf8 } from "../protocol/bytes.ts";
import { type Fault, malformed, parseObject, readPayload } from "../protocol/dsse.ts";
import { isHash, isKeyId } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok } from "../protocol/result.ts";
import {
  anyObject,
  anything,
  matching,
  type Of,
  object,
  oneOf,
  optional,
  type Shape,
} from "../protocol/shape.ts";
import { poolAnswer } from "../protocol/wire/ad-requests.ts";
import { fetchedRecord, searchAnswer } from "../protocol/wire/retrieval.ts";
import {
  businessKeysAnswer,
  certificateAnswer,
  keyCustodyAnswer,
  keySetAnswer,
} from "../protocol/wire/verification.ts";
import { isObject } from "../std/json-pointer.ts";
import { compareMembers } from "./members.ts";
import type { AnswerEvidence } from "./receipt.ts";

export const evidenceFormat = "svc-evidence/1";

/** Of which request a saved text is the answer, under the name that it has in an evidence file. */
export type AnswerKind = "fetched" | "search" | "pool";

/** The kind of an answer by its members; null for anything else. */
export function answerKind(text: string): AnswerKind | null {
  const parsed = parseObject(utf8(text));
  if (!parsed.ok || !Object.hasOwn(parsed.value, "receipt")) return null;
  if (Object.hasOwn(parsed.value, "rows")) return "search";
  if (Object.hasOwn(parsed.value, "ads")) return "pool";
  return Object.hasOwn(parsed.value, "record") ? "fetched" : null;
}

/** A parsed evidence file. */
export interface Evidence extends AnswerEvidence {
  readonly environment: "production" | "sandbox";
  readonly keySet: JsonValue;
  readonly answer: { readonly kind: AnswerKind; readonly body: Uint8Array };
}

const base64 = matching((value) => parseBase64(value) !== null, "base64");
/** The members of an evidence file. Exactly one of `fetched`, `search` and `pool` is present, verbatim as answered. */
const shape = object({
  format: oneOf([evidenceFormat]),
  environment: oneOf(["production", "sandbox"]),
  fetched: optional(anything),
  search: optional(anything),
  pool: optional(anything),
  key_set: anything,
  certificate: optional(anyObject),
  business_keys: optional(anything),
  key_custody: optional(anyObject),
  mandate: optional(anything),
  /** The exact bytes, so that a reformatted file still verifies. They have the content that the answer shows. */
  record_base64: optional(base64),
  ai_policy_record_base64: optional(base64),
  caller_key_id: optional(matching(isKeyId, "a key id")),
  request_hash: optional(matching(isHash, "a hash")),
});

/** Reads an evidence file without judging its content; anything else is refused with `payload_malformed`. */
export function parseEvidence(bytes: Uint8Array): Verdict<Evidence> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const read = readPayload(shape, parsed.value);
  if (!read.ok) return read;
  const file = read.value;
  const text = parseUtf8(bytes) ?? "";
  const [answer, ...more] = answerKinds.flatMap((kind) => {
    const answered = exactMember(text, kind);
    return answered === null ? [] : [{ kind, body: utf8(answered) }];
  });
  if (answer === undefined || more.length > 0)
    return malformed("An evidence file holds one answer: fetched, search or pool.", "");
  const unread =
    answer.kind === "fetched" ? undefined : aboutRecords.find((name) => Object.hasOwn(file, name));
  if (unread !== undefined)
    return malformed("The answer of a search or a pool is not judged by this.", `/${unread}`);
  const other = answerFault(parsed.value);
  if (other !== null) return other;
  return ok({
    environment: file.environment,
    keySet: file.key_set,
    answer,
    ...evidenceOf(file),
  });
}

const answerKinds: readonly AnswerKind[] = ["fetched", "search", "pool"];

/** What the answer of a search or a pool has no use for. */
const aboutRecords = [
  ...(["certificate", "business_keys", "key_custody", "mandate"] as const),
  ...(["record_base64", "ai_policy_record_base64"] as const),
] as const;

/** The answers in a file. Of two of them the file may hold only the envelope. */
const answers: readonly { readonly name: string; readonly shape: Shape<unknown>; readonly by?: string }[] = [
  { name: "fetched", shape: fetchedRecord },
  { name: "search", shape: searchAnswer },
  { name: "pool", shape: poolAnswer },
  { name: "key_set", shape: keySetAnswer, by: "signed" },
  { name: "certificate", shape: certificateAnswer },
  { name: "business_keys", shape: businessKeysAnswer, by: "signed" },
  { name: "key_custody", shape: keyCustodyAnswer },
];

/** A member that an answer in the file does not have, or lacks: the format has a version, so a reader need not skip anything. */
function answerFault(file: JsonObject): Fault | null {
  for (const { name, shape, by } of answers) {
    const value = file[name];
    if (value === undefined || (by !== undefined && !(isObject(value) && Object.hasOwn(value, by)))) continue;
    const {
      unknown: [first],
      missing,
    } = compareMembers(shape.schema, name === "pool" ? withoutAds(value) : value);
    if (first !== undefined)
      return malformed("No such answer that is known has this member.", `/${name}${first}`);
    // Of the answer itself its own check says what is missing.
    if (missing !== null && !answerKinds.some((kind) => kind === name))
      return malformed(missing.detail, `/${name}${missing.pointer ?? ""}`);
  }
  return null;
}

/** Of each ad its own checks say what is wrong with it. */
function withoutAds(pool: JsonValue): JsonValue {
  return isObject(pool) ? { ...pool, ads: [] } : pool;
}

function evidenceOf(file: Of<typeof shape>): AnswerEvidence {
  const [record, policyRecord] = [file.record_base64, file.ai_policy_record_base64].map((text) =>
    text === undefined ? null : parseBase64(text),
  );
  return {
    ...(file.certificate === undefined ? {} : { certificate: file.certificate }),
    ...(file.business_keys === undefined ? {} : { businessKeys: file.business_keys }),
    ...(file.key_custody === undefined ? {} : { keyCustody: file.key_custody }),
    ...(file.mandate === undefined ? {} : { mandate: file.mandate }),
    ...(file.caller_key_id === undefined ? {} : { callerKeyId: file.caller_key_id }),
    ...(file.request_hash === undefined ? {} : { requestHash: file.request_hash }),
    ...(record ? { record } : {}),
    ...(policyRecord ? { policyRecord } : {}),
  };
}

/** The contents of an evidence file: the exact texts of answers as received. */
export interface EvidenceTexts {
  readonly environment: "production" | "sandbox";
  readonly answer: { readonly kind: AnswerKind; readonly text: string };
  readonly keySet: string;
  readonly certificate?: string;
  readonly businessKeys?: string;
  readonly keyCustody?: string;
  readonly mandate?: string;
  readonly callerKeyId?: string;
  readonly requestHash?: string;
}

/** The text of an evidence file. Answers are included verbatim; the bytes of the record are added as base64. */
export function evidenceText(texts: EvidenceTexts): string {
  const { answer } = texts;
  const record = answer.kind === "fetched" ? exactMember(answer.text, "record") : null;
  const policy = answer.kind === "fetched" ? exactMember(answer.text, "ai_policy", "record") : null;
  const members: readonly (readonly [name: string, text: string | undefined])[] = [
    ["format", JSON.stringify(evidenceFormat)],
    ["environment", JSON.stringify(texts.environment)],
    [answer.kind, answer.text.trim()],
    ["key_set", texts.keySet.trim()],
    ["certificate", texts.certificate?.trim()],
    ["business_keys", texts.businessKeys?.trim()],
    ["key_custody", texts.keyCustody?.trim()],
    ["mandate", texts.mandate?.trim()],
    ["record_base64", record === null ? undefined : JSON.stringify(toBase64(utf8(record)))],
    [
      "ai_policy_record_base64",
      policy === null || policy.trim() === "null" ? undefined : JSON.stringify(toBase64(utf8(policy))),
    ],
    ["caller_key_id", quoted(texts.callerKeyId)],
    ["request_hash", quoted(texts.requestHash)],
  ];
  const lines = members
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}

function quoted(value: string | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
