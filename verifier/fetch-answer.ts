// The whole answer of a fetch: receipt, sidecar and source line, plus, with what the verification surface publishes
// about the business, its certificate, keys, custody, the seal and the AI policy now in force.

import { hashOf } from "../protocol/bytes.ts";
import { malformed, parseObject } from "../protocol/dsse.ts";
import { isRecordId } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import { projectionByName } from "../protocol/projection/project.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { representUsNames } from "../protocol/records/business-files.ts";
import { type Refusal, refuse } from "../protocol/result.ts";
import { parseRecordSeal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/signed-version.ts";
import { formatSourceLine, parseSourceLine, type SourceLine } from "../protocol/source-line.ts";
import { catalogueRecord } from "../protocol/wire/catalogue.ts";
import { isObject } from "../std/json-pointer.ts";
import { custodyAt, verifyBusinessKeys } from "./business-keys.ts";
import { type CertificateHistory, verifyCertificateAnswer, withheldFault } from "./certificate.ts";
import { type FetchedPolicy, type FetchedRecord, memberBytes, parseFetched } from "./fetched-record.ts";
import { verifyMandate } from "./mandate.ts";
import {
  type Check,
  checkOf,
  compareMembers,
  isSame,
  type Report,
  reportOf,
  sealCheckOf,
  unchecked,
  unknownChecks,
  unsignedChecks,
} from "./members.ts";
import { type AnswerEvidence, presenterOf, receiptFound, verifyReceipt } from "./receipt.ts";
import { verifySidecar } from "./row.ts";
import { type SealEvidence, verifySeal, withStatedHash } from "./seal.ts";
import type { SealReport, SealVerdict } from "./seal-report.ts";
import { policySeal, type ServedBusiness, staleness, timelineOf } from "./served-business.ts";
import type { Trust } from "./trust.ts";

/**
 * Checks the body of a fetch answer, exactly as received. The checks are `receipt`, `sidecar`, `source_line`,
 * `certificate`, `business_keys`, `seal`, `ai_policy` and `key_custody`, and `mandate` where one is given; those whose evidence is
 * missing are `not_checked`. `unsigned/…` names each member that no signature covers, and `unknown/…` each that is not known. A failed
 * check `answer` is reported if the body is not a fetch answer, or if anything in it is not what was signed.
 */
export function verifyFetchAnswer(trust: Trust, body: Uint8Array, evidence: AnswerEvidence = {}): Report {
  const parsed = parseFetched(body, { record: evidence.record, policyRecord: evidence.policyRecord });
  if (!parsed.ok) return reportOf([checkOf("answer", parsed)]);
  return reportOf(fetchedChecks(trust, parsed.value, evidence));
}

/** The checks of {@link verifyFetchAnswer} on what was fetched; where there is no answer, without those of its other members. */
export function fetchedChecks(
  trust: Trust,
  fetched: FetchedRecord,
  evidence: AnswerEvidence,
): readonly Check[] {
  const hash = hashOf(fetched.bytes, trust.sha256);
  const receipt = fetchReceipt(trust, fetched, hash, evidence);
  const servedAt = receipt.ok ? receipt.value.served_at : null;
  const { checks, seal } = businessChecks(trust, fetched, { ...evidence, servedAt });
  const sidecar = fetchSidecar(trust, fetched, hash, seal);
  const fault = typeFault(fetched, sidecar, seal) ?? answerFault(trust, fetched, { sidecar, evidence });
  return [
    ...(fault === null ? [] : [checkOf("answer", fault)]),
    checkOf("receipt", receipt, receiptFound),
    checkOf("sidecar", sidecar, (found) => `Published at ${found.published_at} on path ${found.path}.`),
    ...sourceLineCheck(fetched, { hash, sidecar, servedAt, evidence }),
    ...checks,
    ...openChecks(fetched, evidence),
  ];
}

/** The type that the answer gives for the record, by what is signed of it. */
function typeFault(
  { type }: FetchedRecord,
  sidecar: Verdict<Sidecar>,
  seal: Verdict<SealReport> | null,
): Refusal<ReasonCode> | null {
  const signed = [seal, sidecar].flatMap((each) => (each?.ok === true ? [each.value.record_type] : []));
  if (signed.every((each) => each === type)) return null;
  return refuse(
    "record_type_mismatch",
    "The answer calls the record something else than is signed.",
    "/type",
  );
}

/** A sidecar is checked against the record, and against its seal if that seal is valid. */
function fetchSidecar(
  trust: Trust,
  { sidecar, recordId, businessUuid }: FetchedRecord,
  hash: string,
  seal: Verdict<SealReport> | null,
): Verdict<Sidecar> {
  const subject = { record_id: recordId, business_uuid: businessUuid, hash };
  const stated = verifySidecar(trust, sidecar, subject);
  const underSeal = seal?.ok === true ? seal.value.sidecar : null;
  return stated.ok && underSeal?.ok === false ? underSeal : stated;
}

/** The receipt of a fetch must list exactly the one record. */
function fetchReceipt(
  trust: Trust,
  fetched: FetchedRecord,
  hash: string,
  evidence: AnswerEvidence,
): Verdict<Receipt> {
  const receipt = verifyReceipt(trust, fetched.receipt, { ...presenterOf(evidence), kind: "fetch" });
  if (!receipt.ok) return receipt;
  const [entry, ...others] = receipt.value.rows;
  if (entry === undefined || others.length > 0 || entry.record_id !== fetched.recordId) {
    return refuse("receipt_row_mismatch", "The receipt is not of this record.");
  }
  return entry.adl_origin === hash
    ? receipt
    : refuse("receipt_row_mismatch", "The receipt is of other record bytes.");
}

function sourceLineCheck(
  { answer, recordId }: FetchedRecord,
  {
    hash,
    sidecar,
    servedAt,
    evidence,
  }: {
    readonly hash: string;
    readonly sidecar: Verdict<Sidecar>;
    readonly servedAt: string | null;
    readonly evidence: AnswerEvidence;
  },
): readonly Check[] {
  if (answer === null) return [];
  const { source_line: text } = answer.members["provenance"] as JsonObject;
  const line = parseSourceLine(typeof text === "string" ? text : "");
  if (!line.ok) return [checkOf("source_line", line)];
  const { verifyUrl = line.value.verify_url } = evidence;
  const expected: SourceLine = {
    record_id: recordId,
    origin: hash,
    cert_id: sidecar.ok ? sidecar.value.cert_id : line.value.cert_id,
    served_at: servedAt ?? line.value.served_at,
    verify_url: verifyUrl,
  };
  const verdict: Verdict<SourceLine> =
    formatSourceLine(expected) === text
      ? line
      : refuse("hash_mismatch", "The source line is of something else than was served.");
  return [checkOf("source_line", verdict)];
}

interface BusinessChecks {
  readonly checks: readonly Check[];
  /** Null if the seal was not checked. */
  readonly seal: Verdict<SealReport> | null;
}

type DatedEvidence = AnswerEvidence & {
  /** The time of serving according to a valid receipt; null without one. */
  readonly servedAt: string | null;
};

function businessChecks(trust: Trust, fetched: FetchedRecord, evidence: DatedEvidence): BusinessChecks {
  const uuid = fetched.businessUuid;
  const { certificate, businessKeys } = evidence;
  const keys = businessKeys === undefined ? null : verifyBusinessKeys(trust, uuid, businessKeys);
  const known = keys?.ok ? keys.value : null;
  const stale = known === null ? null : staleness(known, evidence.servedAt);
  const certificates = certificate === undefined ? null : certificatesOf(trust, uuid, certificate, known);
  const mandate = mandateCheck(trust, evidence.mandate, stale === null ? known : null);
  const made = [
    certificateCheck(certificates, known, stale),
    keys === null
      ? unchecked("business_keys", "The published keys of the business are not given.")
      : stale === null
        ? checkOf("business_keys", keys, (found) => `Issued at ${found.issued_at}.`)
        : unchecked("business_keys", stale),
  ];
  if (certificates?.ok !== true || known === null || stale !== null) {
    const why = `Needs the certificate and the keys of the business${stale === null ? "" : " as they were when it was served"}.`;
    const others = ["seal", "ai_policy", "key_custody"].map((name) => unchecked(name, why));
    return { checks: [...made, ...others, ...mandate], seal: null };
  }
  const business = { certificates: certificates.value, keys: known };
  const policy = policySeal(trust, fetched.policy, business);
  const seal = recordSeal(trust, fetched, { ...business, policy }, evidence);
  const found = sealCheckOf(
    "seal",
    seal,
    (report) => `Sealed at ${report.sealed_at} by the ${report.key_kind} key ${report.key_id}.`,
  );
  const checks = [
    ...made,
    found,
    policyCheck(fetched.policy, policy, seal),
    custodyCheck(trust, uuid, seal, evidence),
    ...mandate,
  ];
  return { checks, seal };
}

/** The certificates of the business; where its keys are known, the history must include the issuance that they name. */
export function certificatesOf(
  trust: Trust,
  uuid: string,
  answer: JsonValue,
  keys: BusinessKeys | null,
): Verdict<CertificateHistory> {
  const history = verifyCertificateAnswer(trust, uuid, answer);
  return history.ok && keys !== null ? (withheldFault(history.value, keys) ?? history) : history;
}

/** The check `certificate`; `stale` says why the keys are too old to tell whether the certificates are complete. */
function certificateCheck(
  certificates: Verdict<CertificateHistory> | null,
  keys: BusinessKeys | null,
  stale: string | null,
): Check {
  if (certificates === null) return unchecked("certificate", "The certificate of the business is not given.");
  if (certificates.ok && keys !== null && stale !== null)
    return unchecked("certificate", `Known to be complete only as of ${keys.issued_at}.`);
  const asOf =
    keys === null ? "Nothing given says whether it is the newest." : `Complete as of ${keys.issued_at}.`;
  return checkOf("certificate", certificates, (found) => `${statusOf(found)} ${asOf}`);
}

function statusOf({ issuances: [newest] }: CertificateHistory): string {
  if (newest === undefined) return "";
  const { legal_name: name, country, status, status_effective_from: from } = newest.certificate;
  return `${name} (${country}): ${status} from ${from} on.`;
}

function recordSeal(
  trust: Trust,
  fetched: FetchedRecord,
  { policy, ...business }: ServedBusiness & { readonly policy: Verdict<SealReport | null> },
  evidence: AnswerEvidence,
): SealVerdict {
  const policies = timelineOf(policy);
  const given: SealEvidence = {
    ...business,
    bytes: fetched.bytes,
    seal: fetched.seal,
    sidecar: fetched.sidecar,
    ...(policies === null ? {} : { policies }),
    ...(evidence.mandate === undefined
      ? {}
      : { mandates: [{ envelope: evidence.mandate, revoked_at: null }] }),
  };
  return verifySeal(trust, withStatedHash(trust, given));
}

/**
 * Versions only increase, so the version in force when a record is served cannot be older than the one it was sealed
 * under.
 */
function policyCheck(
  { version }: FetchedPolicy,
  policy: Verdict<SealReport | null>,
  record: Verdict<SealReport>,
): Check {
  const sealedUnder = record.ok ? (record.value.ai_policy_version ?? 0) : 0;
  const verdict: Verdict<SealReport | null> =
    policy.ok && sealedUnder > version
      ? refuse(
          "ai_policy_version_mismatch",
          `The record was sealed under AI policy version ${sealedUnder}, the answer names ${version}.`,
        )
      : policy;
  return checkOf("ai_policy", verdict, () =>
    version === 0 ? "No AI policy is sealed: nothing is permitted." : `Version ${version} is in force.`,
  );
}

/** A mandate that is given counts for the seal of an integration key; it has to be genuine in any case. */
function mandateCheck(
  trust: Trust,
  mandate: JsonValue | undefined,
  keys: BusinessKeys | null,
): readonly Check[] {
  if (mandate === undefined) return [];
  return [
    keys === null
      ? unchecked("mandate", "Needs the keys of the business as they were when it was served.")
      : checkOf("mandate", verifyMandate(trust, keys, mandate), ({ mandate_id: id }) => `${id}.`),
  ];
}

function custodyCheck(
  trust: Trust,
  uuid: string,
  seal: Verdict<SealReport>,
  evidence: AnswerEvidence,
): Check {
  if (evidence.keyCustody === undefined)
    return unchecked("key_custody", "The custody statements are not given.");
  if (!seal.ok) return unchecked("key_custody", "Needs a seal that stands.");
  const { key_id: keyId, sealed_at: at } = seal.value;
  const custody = custodyAt(trust, evidence.keyCustody, { business_uuid: uuid, key_id: keyId, at });
  return checkOf("key_custody", custody, (state) => `The sealing key's custody was ${state}.`);
}

// What a fetch answer says beside the documents that are signed in it, and the record: each member is compared with them, or named.

/** The first member of the answer that is not what follows from its signed documents. */
function answerFault(
  { sha256 }: Trust,
  { answer, bytes, seal, type, businessUuid }: FetchedRecord,
  { sidecar, evidence }: { readonly sidecar: Verdict<Sidecar>; readonly evidence: AnswerEvidence },
): Refusal<ReasonCode> | null {
  if (answer === null) return null;
  const { published_at: publishedAt, provenance, represent_us, endpoints } = answer.members;
  const { certificate_url: url, projection_version: version, log_leaf: leaf } = provenance as JsonObject;
  const other = (what: string, pointer: string) =>
    refuse("hash_mismatch", `The answer has another ${what} than follows from what was signed.`, pointer);
  if (sidecar.ok && publishedAt !== sidecar.value.published_at)
    return other("time of publication", "/published_at");
  const parsed = parseRecordSeal(seal);
  if (parsed.ok && leaf !== sealLeafOf(parsed.value.envelope, sha256))
    return other("leaf of the transparency log", "/provenance/log_leaf");
  const path = `/v1/certificates/${businessUuid}`;
  if (!leadsTo(url, path, evidence.verifyUrl))
    return other("certificate's address", "/provenance/certificate_url");
  return projectionFault(version, type) ?? businessFileFault({ represent_us, endpoints }, type, bytes);
}

/** Whether an address leads to the path, at the address of the verification surface if that is given. */
function leadsTo(url: JsonValue | undefined, path: string, base: string | undefined): boolean {
  if (typeof url !== "string") return false;
  return base === undefined ? /^https?:\/\/[!-~]+$/.test(url) && url.endsWith(path) : url === base + path;
}

/** As long as a type has one projection that is known, its name follows from the type. */
function projectionFault(version: JsonValue | undefined, type: string): Refusal<ReasonCode> | null {
  const pointer = "/provenance/projection_version";
  const known = typeof version === "string" ? projectionByName(version) : null;
  if (known === null)
    return refuse("projection_unknown", "The answer names a projection that is not known.", pointer);
  return known.record_type === type
    ? null
    : refuse("record_type_mismatch", "The answer names the projection of another type.", pointer);
}

const endpointStatuses: readonly (JsonValue | undefined)[] = ["authorised", "unconfirmed", "suspended"];

/** What is shown of a business file beside its record stands in the record; nothing of the kind is shown of any other type. */
function businessFileFault(
  { represent_us: texts, endpoints }: Readonly<Record<"represent_us" | "endpoints", JsonValue | undefined>>,
  type: string,
  bytes: Uint8Array,
): Refusal<ReasonCode> | null {
  if (type !== "business_files") {
    if (texts === undefined && endpoints === undefined) return null;
    return malformed("Only a business file has this.", texts === undefined ? "/endpoints" : "/represent_us");
  }
  const record = parseObject(bytes);
  if (!record.ok) return record;
  const { represent_us: sealed, endpoints: items = [] } = record.value;
  const isShown = (name: string) =>
    isObject(texts) && isSame(texts[name], isObject(sealed) ? (sealed[name] ?? null) : null);
  const name = representUsNames.find((each) => !isShown(each));
  if (name !== undefined)
    return refuse("hash_mismatch", "The text is not the sealed one.", `/represent_us/${name}`);
  if (!isObject(endpoints) || !isSame(endpoints["items"], items))
    return refuse("hash_mismatch", "The addresses are not the sealed ones.", "/endpoints/items");
  return endpointStatuses.includes(endpoints["status"])
    ? null
    : malformed("Must be authorised, unconfirmed or suspended.", "/endpoints/status");
}

/** What was not checked of the answer, by name. */
function openChecks({ answer, type }: FetchedRecord, { verifyUrl }: AnswerEvidence): readonly Check[] {
  if (answer === null) return [];
  return [
    ...unsignedChecks("fetch", type === "business_files" ? ["/endpoints/status"] : []),
    ...unsignedChecks(
      "fetch",
      verifyUrl === undefined ? ["/provenance/certificate_url", "/provenance/source_line"] : [],
    ),
    ...unknownChecks(answer.unknown),
  ];
}

// The whole answer of GET /v1/catalogue/{record_id}: a business's own record with its seal. It has no receipt, no sidecar and no AI policy,
// so it proves that the business sealed these bytes, and nothing of what is served. A page of the catalogue has nothing that is signed.

export interface CatalogueEvidence extends Pick<AnswerEvidence, "certificate" | "businessKeys" | "mandate"> {
  /** Whose catalogue it is; the answer does not say it. */
  readonly businessUuid: string;
}

/**
 * Checks the body of the answer, exactly as received. The checks are `certificate`, `business_keys`, `seal` and `ai_policy`, and `mandate`
 * where one is given; those whose evidence is missing are `not_checked`, and `ai_policy` always is. `unsigned/…` and `unknown/…` are as
 * in `verifyFetchAnswer`, and so is a failed check `answer`.
 */
export function verifyCatalogueAnswer(trust: Trust, body: Uint8Array, evidence: CatalogueEvidence): Report {
  const parsed = parseAnswer(body);
  if (!parsed.ok) return reportOf([checkOf("answer", parsed)]);
  const { fault, unknown, bytes, seal: sealed } = parsed.value;
  const { businessUuid: uuid, certificate, businessKeys, mandate } = evidence;
  const keys = businessKeys === undefined ? null : verifyBusinessKeys(trust, uuid, businessKeys);
  const known = keys?.ok ? keys.value : null;
  const certificates = certificate === undefined ? null : certificatesOf(trust, uuid, certificate, known);
  const seal: SealVerdict | null =
    certificates?.ok !== true || known === null
      ? null
      : verifySeal(trust, {
          bytes,
          seal: sealed,
          certificates: certificates.value,
          keys: known,
          ...(mandate === undefined ? {} : { mandates: [{ envelope: mandate, revoked_at: null }] }),
        });
  const isOfType = seal?.ok !== true || seal.value.record_type === parsed.value.type;
  const answerFault = isOfType ? fault : otherType();
  return reportOf([
    ...(answerFault === null ? [] : [checkOf("answer", answerFault)]),
    certificateCheck(certificates, known, null),
    keys === null
      ? unchecked("business_keys", "The published keys of the business are not given.")
      : checkOf("business_keys", keys, (found) => `Issued at ${found.issued_at}.`),
    sealCheck(seal),
    unchecked("ai_policy", "The answer has no AI policy: whether the version was in force is not known."),
    ...mandateCheck(trust, mandate, known),
    ...unsignedChecks("catalogue", ["/record_id", "/live_in", "/last_updated", "/source"]),
    ...unknownChecks(unknown),
  ]);
}

function sealCheck(seal: SealVerdict | null): Check {
  if (seal === null) return unchecked("seal", "Needs the certificate and the keys of the business.");
  return sealCheckOf("seal", seal, ({ sealed_at, key_kind, key_id }) => {
    return `Sealed at ${sealed_at} by the ${key_kind} key ${key_id}.`;
  });
}

interface Parsed {
  readonly type: JsonValue | undefined;
  readonly bytes: Uint8Array;
  readonly seal: JsonValue;
  readonly unknown: readonly string[];
  /** The first member that is not what follows from the others. */
  readonly fault: Refusal<ReasonCode> | null;
}

function parseAnswer(body: Uint8Array): Verdict<Parsed> {
  const parsed = parseObject(body);
  if (!parsed.ok) return parsed;
  const answer = parsed.value;
  const { unknown, missing } = compareMembers(catalogueRecord.schema, answer);
  if (missing !== null) return missing;
  const { record_id: id, type, record, seal = null, business_product_id: ownId } = answer;
  const bytes = memberBytes(new TextDecoder().decode(body), "record");
  if (bytes === null || !isObject(record)) return malformed("Must be an object.", "/record");
  if (typeof id !== "string" || !isRecordId(id)) return malformed("Must be a record id.", "/record_id");
  const fault =
    ownId === record["business_product_id"]
      ? null
      : refuse("hash_mismatch", "The own id is not the sealed one.", "/business_product_id");
  return { ok: true, value: { type, bytes, seal, unknown, fault } };
}

function otherType(): Refusal<ReasonCode> {
  return refuse(
    "record_type_mismatch",
    "The answer calls the record something else than is sealed.",
    "/type",
  );
}
