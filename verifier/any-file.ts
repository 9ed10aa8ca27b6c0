// Whatever somebody was given of this service, judged by what it is: for a reader who need not know what kind of file it is.
//   AF1. What a file is follows from its members alone, never from which checks fail.
//   AF2. What a file says is told of what verified only; the words of a sealed document are told with the verdict on it beside them.

import { parseBase64, parseUtf8, sha256, utf8 } from "../protocol/bytes.ts";
import { openEnvelope, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember, parseStrictJson } from "../protocol/json/strict-json.ts";
import { openReceipt, type Receipt } from "../protocol/receipt.ts";
import { type IndexRow, parseRow } from "../protocol/row.ts";
import { isObject } from "../std/json-pointer.ts";
import { answerKind } from "./evidence.ts";
import {
  besideFault,
  type Check,
  checkOf,
  type Report,
  reportOf,
  unchecked,
  unsignedChecks,
} from "./members.ts";
import { receiptFound } from "./receipt.ts";
import { isSealedByPerson, sealedWords } from "./sealed-words.ts";
import { verifyServedRow } from "./search-answer.ts";
import { statedAnswer, verifyStatedAnswer } from "./stated-answer.ts";
import {
  createVerifier,
  type Verifier,
  type VerifierOptions,
  verifyEvidence,
  verifyServed,
} from "./verifier.ts";

export interface FileEvidence extends VerifierOptions {
  /** The instant (a timestamp) at which an entitlement has to be valid. */
  readonly at: string;
  /** Answers of `GET /v1/certificates/{uuid}/keys` and `GET /v1/certificates/{uuid}` about the business of {@link businessIn}. */
  readonly businessKeys?: JsonValue;
  readonly certificate?: JsonValue;
}

export interface FileReport extends Report {
  /** The receipts and the rows in the file that verified (AF2). */
  readonly receipts: readonly Receipt[];
  readonly rows: readonly IndexRow[];
}

/** The business whose published keys and certificate the file is judged by beside the key set; null where it needs none. */
export function businessIn(file: Uint8Array): string | null {
  const value = jsonOf(file);
  const sealed = sealedIn(value);
  if (sealed !== null) return sealed.businessUuid;
  return answerKind(textOf(file)) === "fetched" ? uuidIn(value) : null;
}

/**
 * Verifies an evidence file of any format, the answer of a search, a fetch or a pool of ads, what the service stated, a document that a
 * person sealed (an envelope, or an object of `business_uuid`, `record_base64` and `seal`), a receipt, an answer of `GET /v1/receipts`, or
 * a row. Of anything else the check `file` fails.
 */
export function verifyAnyFile(evidence: FileEvidence, file: Uint8Array): FileReport {
  const found: Found = { receipts: [], rows: [] };
  const report = judge(evidence, file, found);
  return { ...report, ...found };
}

interface Found {
  readonly receipts: Receipt[];
  readonly rows: IndexRow[];
}

function judge(evidence: FileEvidence, file: Uint8Array, found: Found): Report {
  const stated = statedAnswer(file);
  if (stated !== null) return verifyStatedAnswer(evidence, stated, evidence);
  const value = jsonOf(file);
  const kind = answerKind(textOf(file));
  const sealed = sealedIn(value);
  const receipts = receiptsIn(value);
  const isAlone = sealed !== null || receipts !== null || isRow(value);
  if (kind === null && !isAlone) {
    const report = verifyEvidence(evidence, file);
    note(report, value, found);
    return withWords(report, file, value);
  }
  const verifier = createVerifier(evidence);
  const chain = checkOf("key_set", verifier, ({ trust }) => `Issued at ${trust.keySet.issued_at}.`);
  if (!verifier.ok) return reportOf([chain]);
  const under = (checks: readonly Check[]): Report => reportOf([chain, ...checks]);
  if (kind !== null) {
    const report = under(verifyServed(verifier.value, { kind, body: file }, evidence).checks);
    note(report, value, found);
    return withWords(report, file, value);
  }
  if (sealed !== null) {
    const { checks, words = [] } = sealedReport(verifier.value, sealed, evidence);
    const report = under(checks);
    // That the key set verifies is no verdict on the document.
    const isJudged = checks.some(({ name, state }) => name === "seal" && state !== "not_checked");
    return { ...report, valid: report.valid && isJudged, words };
  }
  return under(
    receipts === null
      ? rowChecks(verifier.value, value, found)
      : receipts.flatMap((each) => receiptChecks(verifier.value, each, found)),
  );
}

function textOf(file: Uint8Array): string {
  return parseUtf8(file) ?? "";
}

function jsonOf(file: Uint8Array): JsonValue {
  const parsed = parseStrictJson(file);
  return parsed.ok ? parsed.value : null;
}

/** The members of an object; none of anything else. */
function membersOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

// Documents that persons seal.

interface SealedFile {
  readonly envelope: JsonValue;
  readonly businessUuid: string | null;
  readonly document: Uint8Array | null;
}

/** What a person sealed: an envelope that names its business, or a seal beside the bytes that it is over. */
function sealedIn(value: JsonValue): SealedFile | null {
  if (isSealedByPerson(value)) {
    const envelope = parseEnvelope(value);
    const payload = envelope.ok ? openEnvelope(envelope.value, envelope.value.payloadType) : envelope;
    const said = payload.ok ? jsonOf(payload.value) : null;
    return { envelope: value, businessUuid: uuidIn(said), document: null };
  }
  const { format, seal = null, record_base64: record } = membersOf(value);
  const document = typeof record === "string" ? parseBase64(record) : null;
  if (format !== undefined || document === null || !isSealedByPerson(seal)) return null;
  return { envelope: seal, businessUuid: uuidIn(value), document };
}

function uuidIn(value: JsonValue): string | null {
  const { business_uuid: uuid } = membersOf(value);
  return typeof uuid === "string" ? uuid : null;
}

function sealedReport(
  verifier: Verifier,
  { envelope, businessUuid, document }: SealedFile,
  { businessKeys, certificate }: FileEvidence,
): Report {
  if (businessUuid === null || businessKeys === undefined)
    return reportOf([unchecked("seal", "Needs the keys of the business: name it as business_uuid.")]);
  return verifier.sealedByPerson(envelope, {
    businessUuid,
    businessKeys,
    ...(certificate === undefined ? {} : { certificate }),
    ...(document === null ? {} : { document }),
  });
}

/** With what the record of a file says, where it was sealed alone and its seal verified: in the words of its seal. */
function withWords(report: Report, file: Uint8Array, value: JsonValue): Report {
  const isGood = report.checks.some(({ name, state }) => name === "seal" && state === "ok");
  const { fetched = value, record_base64: bytes } = membersOf(value);
  const envelope = parseEnvelope(membersOf(fetched)["seal"] ?? null);
  if (report.words !== undefined || !isGood || !envelope.ok) return report;
  const text = exactMember(textOf(file), ...(fetched === value ? [] : ["fetched"]), "record");
  const document = typeof bytes === "string" ? parseBase64(bytes) : text === null ? null : utf8(text);
  const { payloadType } = envelope.value;
  const payload = openEnvelope(envelope.value, payloadType);
  const words = payload.ok
    ? sealedWords({ sha256 }, payloadType, { payload: payload.value, document })
    : payload;
  return words.ok ? { ...report, words: words.value } : report;
}

// Receipts and rows.

const receiptTypes = new Set<unknown>([
  payloadTypes["receipt.v1"],
  payloadTypes["receipt.v2"],
  payloadTypes["receipt.v3"],
]);

/** A receipt, with what stands beside it in a list of them. */
interface ReceiptFile {
  readonly name: string;
  readonly envelope: JsonValue;
  readonly beside: JsonObject;
}

function receiptsIn(value: JsonValue): readonly ReceiptFile[] | null {
  const { payloadType, receipts } = membersOf(value);
  if (receiptTypes.has(payloadType)) return [{ name: "receipt", envelope: value, beside: {} }];
  if (!Array.isArray(receipts) || receipts.length === 0) return null;
  return receipts.map((each: JsonValue, at) => {
    const beside = membersOf(each);
    return { name: `receipts/${at}`, envelope: beside["receipt"] ?? null, beside };
  });
}

function receiptChecks(
  verifier: Verifier,
  { name, envelope, beside }: ReceiptFile,
  { receipts }: Found,
): readonly Check[] {
  const verdict = verifier.receipt(envelope);
  const other = verdict.ok
    ? besideFault(beside, { ...verdict.value, rows: verdict.value.rows.length }, `/${name}`)
    : null;
  if (verdict.ok && other === null) receipts.push(verdict.value);
  const billed = Object.hasOwn(beside, "billable")
    ? [unchecked(`${name}/billable`, "No receipt says what an answer costs.")]
    : [];
  return [checkOf(name, other ?? verdict, receiptFound), ...billed];
}

function isRow(value: JsonValue): boolean {
  return Object.hasOwn(membersOf(value), "adl_row_sig");
}

function rowChecks({ trust }: Verifier, value: JsonValue, { rows }: Found): readonly Check[] {
  const { type: collection = null } = membersOf(value);
  const row = verifyServedRow(trust, value, { servedAt: undefined, collection });
  if (row.ok) rows.push(row.value);
  return [
    checkOf("row", row, ({ record_id }) => record_id),
    unchecked("receipt", "A row alone does not say that it was served, when and to whom."),
    ...unsignedChecks("search", ["/rows/*/ai_policy_bits", "/rows/*/sponsored"]),
  ];
}

/** Adds the receipt and the rows of an answer, where their checks passed. */
function note({ checks }: Report, value: JsonValue, { receipts, rows }: Found): void {
  const passed = new Set(checks.filter(({ state }) => state === "ok").map(({ name }) => name));
  const file = membersOf(value);
  const answer = membersOf(file["search"] ?? file["fetched"] ?? file["pool"] ?? value);
  const { receipt: given = null, rows: served } = answer;
  const envelope = parseEnvelope(typeof given === "string" ? jsonOf(utf8(given)) : given);
  const receipt = envelope.ok ? openReceipt(envelope.value) : envelope;
  if (passed.has("receipt") && receipt.ok) receipts.push(receipt.value);
  for (const [at, each] of Array.isArray(served) ? served.entries() : []) {
    const row = parseRow(each);
    if (passed.has(`rows/${at}`) && row.ok) rows.push(row.value);
  }
}
