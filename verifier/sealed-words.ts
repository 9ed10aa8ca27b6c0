// What a person seals, in words: shown before the passkey is asked for, and printed again by everyone who verifies the document.
//   SW1. The words are a function of the exact bytes alone: of the payload and, where that is a seal, of the document that it is over.
//        So nothing here depends on which characters a release of Unicode has.
//   SW2. Every member is said, and numbers as they are written. Texts of a document are quoted, and what is not seen in them is
//        escaped, so none can look like words of this file, and no two contents have the same words.
//   SW3. They are English, and a payload type names them with its version. A translation stands beside them, never in their place.

import { aiPolicyKeyDocument, parseAiPolicy } from "../protocol/ai-policy.ts";
import { hashOf } from "../protocol/bytes.ts";
import {
  type Envelope,
  openEnvelope,
  parseEnvelope,
  parseObject,
  parsePayload,
  payloadTypes,
} from "../protocol/dsse.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import { parseCustodyRequest } from "../protocol/keys/key-directory.ts";
import { parseMandate } from "../protocol/mandate.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { openSeal, sealV2 } from "../protocol/seal.ts";
import { holdDecisionFormat, parseWithdrawal } from "../protocol/withdrawal.ts";
import { isObject, joinPointer, valueAt } from "../std/json-pointer.ts";
import { verifyBusinessKeys } from "./business-keys.ts";
import { certificatesOf } from "./fetch-answer.ts";
import { verifyMandate } from "./mandate.ts";
import { type Check, checkOf, type Report, reportOf, sealCheckOf, unchecked } from "./members.ts";
import { verifySeal } from "./seal.ts";
import { aiPolicyRecordType, type SealedDocument } from "./sealed-document.ts";
import { verifyCustodyRequest, verifyHoldDecision } from "./service-statements.ts";
import type { Trust } from "./trust.ts";

type Words = readonly string[];

/** The payload, and the bytes that it is over where it is a seal. */
interface Sealed {
  readonly payload: Uint8Array;
  readonly document: Uint8Array | null;
}

interface Kind {
  say(trust: Pick<Trust, "sha256">, sealed: Sealed): Verdict<Words>;
  /** Judges who sealed it; null for a seal, which needs more than the keys of the business. */
  readonly verify: ((trust: Trust, keys: BusinessKeys, envelope: JsonValue) => Verdict<unknown>) | null;
}

const kinds = new Map<string, Kind>([
  [payloadTypes["mandate.v1"], { say: mandateWords, verify: verifyMandate }],
  [payloadTypes["hold-decision.v1"], { say: decisionWords, verify: verifyHoldDecision }],
  [payloadTypes["custody-request.v1"], { say: custodyWords, verify: verifyCustodyRequest }],
  [payloadTypes["seal.v2"], { say: sealWords, verify: null }],
]);

function mandateWords(_trust: unknown, { payload }: Sealed): Verdict<Words> {
  const parsed = parseMandate(payload);
  if (!parsed.ok) return parsed;
  const { mandate_id, business_uuid, key_id, scope, valid_from, valid_until } = parsed.value;
  const { record_types, countries, caps, source_ip_allow_list: sources } = scope;
  return ok([
    `The key ${key_id} may publish for the business ${business_uuid}.`,
    `What: ${record_types.join(", ")}.`,
    `In ${countries.length === 1 ? "1 country" : `${countries.length} countries`}: ${countries.join(", ")}.`,
    `At most ${number(caps.records_per_hour)} records an hour and ${number(caps.bytes_per_day)} bytes a day.`,
    sources === null ? "From any network." : `Only from: ${sources.join(", ")}.`,
    `From ${valid_from} on, until before ${valid_until}.`,
    `Mandate ${quoted(mandate_id)}.`,
  ]);
}

function decisionWords(_trust: unknown, { payload }: Sealed): Verdict<Words> {
  const parsed = parsePayload(payload, holdDecisionFormat);
  if (!parsed.ok) return parsed;
  const { business_uuid, push_id, decision, at } = parsed.value;
  const what =
    decision === "confirm"
      ? "is confirmed: everything in it is published."
      : "is rejected: nothing of it is published.";
  return ok([`The held push ${push_id} of the business ${business_uuid} ${what}`, `Decided at ${at}.`]);
}

function custodyWords(_trust: unknown, { payload }: Sealed): Verdict<Words> {
  const parsed = parseCustodyRequest(payload);
  if (!parsed.ok) return parsed;
  const { business_uuid, key_id, custody, effective_from, at } = parsed.value;
  const who = custody === "hosted" ? "the service holds it for the business" : "the business holds it itself";
  return ok([
    `The service is asked to state of the key ${key_id} of the business ${business_uuid}: ${who}, from ${effective_from} on.`,
    `Asked at ${at}.`,
  ]);
}

function sealWords({ sha256 }: Pick<Trust, "sha256">, { payload, document }: Sealed): Verdict<Words> {
  const parsed = parsePayload(payload, sealV2);
  if (!parsed.ok) return parsed;
  const { key_id, cert_id, hash, sealed_at, record_type, ai_policy_version } = parsed.value;
  if (document === null || hashOf(document, sha256) !== hash)
    return refuse("hash_mismatch", "The seal is over other bytes than these.");
  const content = documentWords(document, record_type, ai_policy_version);
  if (!content.ok) return content;
  const policy = record_type === aiPolicyRecordType ? "" : ` under AI policy version ${ai_policy_version},`;
  return ok([
    ...content.value,
    `Sealed by the key ${key_id} at ${sealed_at},${policy} under the certificate ${cert_id}.`,
    `Exact bytes: ${hash}.`,
  ]);
}

/** Whether a value is an envelope of a payload type that persons seal, so that there are words for it. */
export function isSealedByPerson(value: JsonValue): boolean {
  const envelope = parseEnvelope(value);
  return envelope.ok && kinds.has(envelope.value.payloadType);
}

/**
 * The words for a payload that a person is asked to seal, or has sealed: lines of text, the first of which names the payload type. For
 * a seal `document` are the bytes that it is over; others are `hash_mismatch`. A payload of another kind is `payload_type_mismatch`, one
 * that cannot be read is what its reader refuses it with.
 */
export function sealedWords(
  trust: Pick<Trust, "sha256">,
  payloadType: string,
  sealed: Sealed,
): Verdict<Words> {
  const kind = kinds.get(payloadType);
  if (kind === undefined) return refuse("payload_type_mismatch", "No person seals documents of this type.");
  const words = kind.say(trust, sealed);
  return words.ok ? ok([payloadType, ...words.value]) : words;
}

function documentWords(document: Uint8Array, recordType: string, policyVersion: number): Verdict<Words> {
  const parsed = parseObject(document);
  if (!parsed.ok) return parsed;
  if (recordType === aiPolicyRecordType) return policyWords(document, policyVersion);
  const kind = kindOf(document, recordType);
  if (kind !== "withdrawal") {
    const members = memberWords(parsed.value, withWrittenNumbers(document), "");
    return ok([`A ${recordType} record, with:`, ...members]);
  }
  const withdrawal = parseWithdrawal(document);
  if (!withdrawal.ok) return withdrawal;
  const { record_id, action, at } = withdrawal.value;
  return ok([
    action === "withdraw"
      ? `The record ${record_id} (${recordType}) is withdrawn: it is served no more.`
      : `The record ${record_id} (${recordType}) is deleted: it is served no more, and its bytes are purged.`,
    `Decided at ${at}.`,
  ]);
}

/** What the bytes under a seal are, by what they say themselves: no record can be read as a withdrawal, which has no schema. */
function kindOf(document: Uint8Array, recordType: string): SealedDocument {
  if (recordType === aiPolicyRecordType) return "ai_policy";
  if (parseWithdrawal(document).ok) return "withdrawal";
  if (recordType !== "ads") return "record";
  const parsed = parseObject(document);
  const schema = parsed.ok ? String(parsed.value["schema"]) : "";
  if (schema.startsWith("svc/ad_campaign/")) return "campaign";
  return schema.startsWith("svc/ad_product/") ? "ad_product" : "ad";
}

function policyWords(document: Uint8Array, version: number): Verdict<Words> {
  const parsed = parseAiPolicy(document);
  if (!parsed.ok) return parsed;
  const { use, action, blocked } = parsed.value;
  const { groups, blocked: contexts } = aiPolicyKeyDocument();
  const words = (
    values: Readonly<Record<string, boolean>>,
    entries: readonly { readonly name: string; readonly meaning: string }[],
    [yes, no]: readonly [string, string],
  ): Words => entries.map(({ name, meaning }) => `${values[name] === true ? yes : no}: ${name}. ${meaning}`);
  return ok([
    `Version ${version} of the business's AI policy, schema ${parsed.value.ai_policy_schema}:`,
    ...words(use, groups.use, ["Asked", "Not asked"]),
    ...words(action, groups.action, ["Allowed", "Not allowed"]),
    ...words(blocked, contexts, ["Never shown in", "May be shown in"]),
  ]);
}

/** A line for each value, by its JSON pointer; an empty list or object is a value. `written` is the document with numbers as texts. */
function memberWords(value: JsonValue, written: unknown, pointer: string): Words {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((each, index) => memberWords(each, written, `${pointer}/${index}`));
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, each]) =>
      memberWords(each as JsonValue, written, joinPointer(pointer, name)),
    );
  const said = typeof value === "number" ? valueAt(written, pointer) : escaped(JSON.stringify(value));
  return [`  ${plainPointer.test(pointer) ? pointer : quoted(pointer)}: ${said}`];
}

/** Any other pointer is quoted: the names in it are texts of a document. */
const plainPointer = /^[\w/~-]*$/;

/** The document, which is strict JSON, with each number as the text that it is written in: reading may have changed it (2⁵³ + 1). */
function withWrittenNumbers(document: Uint8Array): unknown {
  let isInText = false;
  // Not a whole text at a time: of a long one, a regular expression runs out of stack.
  const step = (token: string): string => {
    if (token === '"') isInText = !isInText;
    return isInText || token === '"' ? token : `"${token}"`;
  };
  return JSON.parse(new TextDecoder().decode(document).replaceAll(/\\.|"|-?[0-9][0-9.eE+-]*/g, step));
}

/** The text as JSON, with whatever is not seen in it escaped (SW2). */
export function quoted(text: string): string {
  return escaped(JSON.stringify(text));
}

/**
 * Controls, and whatever else has no picture of its own or changes the direction or the place of what follows. Unicode does not change
 * what these are; whether a character is assigned yet, and to which category, it does (SW1).
 */
const unseen =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u{13430}-\u{13440}]/gu;

/** As JavaScript would escape them. */
function escaped(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

function number(value: number): string {
  return String(value).replaceAll(/\B(?=(?:[0-9]{3})+$)/g, ",");
}

/** What a document that persons seal is judged by: answers of the verification surface, as parsed JSON. */
export interface PersonEvidence {
  /** The business that has to have sealed it. */
  readonly businessUuid: string;
  /** Of `GET /v1/certificates/{uuid}/keys`. */
  readonly businessKeys: JsonValue;
  /** Of `GET /v1/certificates/{uuid}`; only a seal needs it. */
  readonly certificate?: JsonValue;
  /** The exact bytes that a seal is over. */
  readonly document?: Uint8Array;
}

/**
 * Verifies a mandate, a decision about a held push, a custody request or a seal alone, as its business's person sealed it. The checks are
 * `business_keys`, `certificate` for a seal, `words`, and `seal`.
 */
export function verifySealedByPerson(
  trust: Trust,
  value: JsonValue,
  { businessUuid, businessKeys, certificate, document }: PersonEvidence,
): Report {
  const envelope = parseEnvelope(value);
  const payload = envelope.ok ? openEnvelope(envelope.value, envelope.value.payloadType) : envelope;
  if (!envelope.ok || !payload.ok) return reportOf([checkOf("seal", payload)]);
  const { payloadType } = envelope.value;
  const words = sealedWords(trust, payloadType, { payload: payload.value, document: document ?? null });
  const keys = verifyBusinessKeys(trust, businessUuid, businessKeys);
  const published = checkOf("business_keys", keys, (found) => `Issued at ${found.issued_at}.`);
  const said = checkOf("words", words, () => "They follow from the exact bytes.");
  const of = {
    envelope: envelope.value,
    ...(certificate === undefined ? {} : { certificate }),
    ...(document === undefined ? {} : { document }),
  };
  return {
    ...reportOf([published, said, ...(keys.ok ? sealerChecks(trust, keys.value, of) : [])]),
    ...(words.ok ? { words: words.value } : {}),
  };
}

/** By whom and when the document was sealed, by the rules of its payload type. */
function sealerChecks(
  trust: Trust,
  keys: BusinessKeys,
  {
    envelope,
    certificate,
    document,
  }: Pick<PersonEvidence, "certificate" | "document"> & { envelope: Envelope },
): readonly Check[] {
  // An envelope is JSON, which its type does not say.
  const value = envelope as unknown as JsonValue;
  const { verify = null } = kinds.get(envelope.payloadType) ?? {};
  if (verify !== null)
    return [checkOf("seal", verify(trust, keys, value), () => `By a person of the business ${keys.uuid}.`)];
  const opened = openSeal(envelope);
  if (!opened.ok) return [checkOf("seal", opened)];
  if (certificate === undefined || document === undefined)
    return [unchecked("seal", "Needs the certificate of the business, and the bytes that were sealed.")];
  const certificates = certificatesOf(trust, keys.uuid, certificate, keys);
  const issued = checkOf("certificate", certificates);
  if (!certificates.ok) return [issued];
  const verdict = verifySeal(trust, {
    document: kindOf(document, opened.value.record_type),
    bytes: document,
    seal: value,
    certificates: certificates.value,
    keys,
  });
  return [
    issued,
    sealCheckOf("seal", verdict, ({ key_kind, key_id }) => `By the ${key_kind} key ${key_id}.`),
  ];
}
