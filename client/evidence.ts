// Evidence files: an answer with everything needed to verify it offline (format `svc-evidence/1`), the proof of one price that was shown
// (`svc-evidence/3`), and their verification against anchors chosen by the verifying side.

import { parseBase64, parseUtf8, utf8 } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { exactMember, parseStrictJson } from "../protocol/json/strict-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import { certIdOf } from "../protocol/keys/certificate.ts";
import { openKeyCertificate } from "../protocol/keys/key-set.ts";
import { openReceipt, type Receipt } from "../protocol/receipt.ts";
import { ok, type Refusal, type Result, refuse } from "../protocol/result.ts";
import { formatSourceLine } from "../protocol/source-line.ts";
import type { PoolAnswer } from "../protocol/wire/ad-requests.ts";
import type { FetchedRecord, SearchAnswer } from "../protocol/wire/retrieval.ts";
import { isObject } from "../std/json-pointer.ts";
import { certificateEnvelopes } from "../verifier/certificate.ts";
import { answerKind, type EvidenceTexts, evidenceText, parseEvidence } from "../verifier/evidence.ts";
import { checkOf, type Report, reportOf } from "../verifier/members.ts";
import { isSealedByPerson } from "../verifier/sealed-words.ts";
import { parseShownPrice, type ShownPrice, shownPriceFormat } from "../verifier/shown-price.ts";
import { statedAnswer, verifyStatedAnswer } from "../verifier/stated-answer.ts";
import type { Trust } from "../verifier/trust.ts";
import { createVerifier, verifyEvidence, verifyServed } from "../verifier/verifier.ts";
import { readAnchors, verify } from "../verifier/verify.ts";
import type { JsonAnswer } from "./json-answer.ts";
import type { SvcClient } from "./service-client.ts";

export type { Check, Report } from "../verifier/members.ts";

/**
 * The text of an evidence file (`svc-evidence/1`), which `verify` and {@link verifyEvidenceFile} read, about what a search, a fetch or a
 * request for a pool of ads was answered: the answer itself and the key set, and about a fetched record the certificate of its business, that
 * one's keys and their custody, as the verification surface publishes them. Throws what {@link SvcClient} throws.
 */
export async function evidenceOf(
  client: Pick<SvcClient, "verificationRead">,
  { text, requestHash }: Pick<JsonAnswer<SearchAnswer | PoolAnswer | FetchedRecord>, "text" | "requestHash">,
  caller: { readonly environment: "production" | "sandbox"; readonly keyId: string },
): Promise<string> {
  const kind = answerKind(text);
  if (kind === null) throw new TypeError("Evidence is of the answer of a search, a fetch or a pool.");
  const published =
    kind === "fetched"
      ? await readPublished(client, String(JSON.parse(exactMember(text, "business_uuid") ?? "null")))
      : { keySet: (await client.verificationRead("/.well-known/keys")).text };
  return evidenceText({
    environment: caller.environment,
    answer: { kind, text },
    ...published,
    callerKeyId: caller.keyId,
    ...(requestHash === null ? {} : { requestHash }),
  });
}

/** What the verification surface publishes about a business, and the key set, as the texts of its answers. */
export async function readPublished(
  client: Pick<SvcClient, "verificationRead">,
  businessUuid: string,
): Promise<
  Pick<EvidenceTexts, "keySet"> & Required<Pick<EvidenceTexts, "certificate" | "businessKeys" | "keyCustody">>
> {
  const about = `/v1/certificates/${encodeURIComponent(businessUuid)}`;
  const read = async (path: string): Promise<string> => (await client.verificationRead(path)).text;
  // The keys name the newest certificate, so everything they name is already published once they have been read.
  const businessKeys = await read(`${about}/keys`);
  const paths = ["/.well-known/keys", about, `${about}/key-custody`];
  const [keySet = "", certificate = "", keyCustody = ""] = await Promise.all(paths.map(read));
  return { keySet, certificate, businessKeys, keyCustody };
}

/** A report, or why there is none. */
export type FileVerdict = Result<Report, "anchors_unusable" | "evidence_unusable" | "not_a_statement">;

export interface AnchorsChoice {
  readonly anchorsText: string;
  readonly allowSandbox: boolean;
}

function anchorsOf({ anchorsText, allowSandbox }: AnchorsChoice): Result<Anchors, "anchors_unusable"> {
  return readAnchors(anchorsText, allowSandbox);
}

/**
 * Verifies an evidence file using only anchors (given as JSON text). Sandbox anchors must be allowed explicitly; without
 * that, or for a text that contains no anchors, the result is `anchors_unusable`. `keySet` is for the proof of a shown price.
 */
export function verifyEvidenceFile(
  file: Uint8Array,
  options: AnchorsChoice & { readonly keySet?: Uint8Array },
): Result<Report, "anchors_unusable"> {
  const anchors = anchorsOf(options);
  const { keySet } = options;
  return anchors.ok
    ? ok(verifyEvidence({ anchors: anchors.value, ...(keySet === undefined ? {} : { keySet }) }, file))
    : anchors;
}

/** Whether a file is the proof of a shown price, for {@link verifyEvidenceFile}. */
export function isShownPriceFile(file: Uint8Array): boolean {
  return parseShownPrice(file) !== null;
}

// The proof of one shown price, from one row of a search whose evidence was kept.

export interface ShownPriceChoice extends AnchorsChoice {
  /** Which row, counted from 1. */
  readonly row: number;
  /** The public address of the verification surface, to which the source line leads. */
  readonly verifyUrl: string;
  /** A saved answer of `GET /v1/certificates/{uuid}`: without one, nothing says the name of the business. */
  readonly certificate?: Uint8Array;
  /** False for a reader who has verified the key set. */
  readonly hasChain: boolean;
}

/** The text of the file, and what it discloses beside the row, a sentence each. */
export interface ShownPriceProof {
  readonly text: string;
  readonly discloses: readonly string[];
}

/**
 * Makes the proof of one price (`svc-evidence/3`) out of an evidence file of a search of products. `evidence_unusable`: the file is
 * another, does not verify, has no such row, or the certificate is not the one that the row names.
 */
export function proveShownPrice(
  file: Uint8Array,
  choice: ShownPriceChoice,
): Result<ShownPriceProof, "anchors_unusable" | "evidence_unusable"> {
  const anchors = anchorsOf(choice);
  if (!anchors.ok) return anchors;
  const kept = parseEvidence(file);
  if (!kept.ok || kept.value.answer.kind !== "search")
    return unusable("This is not the evidence of a search: svc search --save writes it.");
  const { environment, keySet, answer } = kept.value;
  const verifier = createVerifier({ anchors: anchors.value, keySet });
  if (!verifier.ok) return unusable(`The key set does not verify: ${verifier.code}: ${verifier.detail}`);
  const wrong = verifyServed(verifier.value, answer, kept.value).checks.find(
    ({ state }) => state === "failed",
  );
  if (wrong !== undefined) return unusable(`The answer does not verify: ${wrong.name}: ${wrong.reason}.`);
  const { rows, receipt: given } = JSON.parse(parseUtf8(answer.body) ?? "") as SearchAnswer;
  const row = rows[choice.row - 1];
  if (row === undefined) return unusable(`The answer has ${rows.length} rows, and no row ${choice.row}.`);
  const receipt = openReceipt(given);
  if (!receipt.ok) return unusable(`The receipt cannot be read: ${receipt.detail}`);
  const named = namedPayload(choice.certificate, row.adl_origin_cert);
  if (!named.ok) return named;
  const { record_id, adl_origin: origin, adl_origin_cert: cert_id } = row;
  const { served_at } = receipt.value;
  const signers = [row.adl_key_id, given.signatures[0]?.keyid ?? ""];
  const price: ShownPrice = {
    format: shownPriceFormat,
    environment,
    row,
    receipt: given,
    source_line: formatSourceLine({ record_id, origin, cert_id, served_at, verify_url: choice.verifyUrl }),
    ...(named.value === null ? {} : { certificate_base64: named.value }),
    ...(choice.hasChain ? { key_certificates: chainOf(verifier.value.trust, signers) } : {}),
  };
  const text = `${JSON.stringify(price)}\n`;
  // By the chain as its reader has it, or by the keys that were verified above.
  const { checks } = choice.hasChain
    ? verifyEvidence({ anchors: anchors.value }, utf8(text))
    : verifier.value.shownPrice(utf8(text));
  const failed = checks.find(({ state }) => state === "failed");
  return failed === undefined
    ? ok({ text, discloses: disclosed(receipt.value, record_id) })
    : unusable(`It does not verify: ${failed.name}: ${failed.reason}: ${failed.detail}`);
}

function unusable(detail: string): Refusal<"evidence_unusable"> {
  return refuse("evidence_unusable", detail);
}

/** The payload in base64 of the issuance that a row names, null where no certificate is given. */
function namedPayload(
  certificate: Uint8Array | undefined,
  certId: string,
): Result<string | null, "evidence_unusable"> {
  if (certificate === undefined) return ok(null);
  const parsed = parseStrictJson(certificate);
  const envelopes = parsed.ok ? certificateEnvelopes(parsed.value) : parsed;
  const payloads = (envelopes.ok ? envelopes.value : []).map((each) => {
    const payload = isObject(each) ? each["payload"] : undefined;
    return typeof payload === "string" ? payload : "";
  });
  const named = payloads.find((each) => certIdOf(parseBase64(each) ?? utf8("")) === certId);
  return named === undefined
    ? unusable(`The certificate has no issuance ${certId}, which the row names.`)
    : ok(named);
}

/** The certificates of keys, and of their issuers up to the pinned roots. */
function chainOf({ anchors, keySet }: Trust, keyIds: readonly string[]): readonly Envelope[] {
  const wanted = new Set(keyIds);
  const pinned = new Set(anchors.roots.map((root) => root.key_id));
  const chain = new Set<Envelope>();
  // A set goes on to what is added to it.
  for (const keyId of wanted) {
    for (const envelope of pinned.has(keyId) ? [] : keySet.certificates) {
      const certificate = openKeyCertificate(envelope);
      if (!certificate.ok || !certificate.value.keys.some(({ key_id }) => key_id === keyId)) continue;
      chain.add(envelope);
      for (const issuer of certificate.value.issuer) wanted.add(issuer);
    }
  }
  return [...chain];
}

function disclosed(receipt: Receipt, recordId: string): readonly string[] {
  const others = receipt.rows.map(({ record_id }) => record_id).filter((id) => id !== recordId);
  const { served_at, country, ai_company_uuid, retrieval_id, request_hash } = receipt;
  return [
    `The caller: the AI company ${ai_company_uuid}${receipt.v === 1 ? "" : ` and its key ${receipt.key_id}`}.`,
    `The request: at ${served_at}, for ${country}, with the retrieval id ${retrieval_id} and the hash ${request_hash}.`,
    `The ${others.length} other rows that the receipt lists, with the hash of each record${others.length === 0 ? "." : `: ${others.join(", ")}.`}`,
  ];
}

/** Whether a file holds an answer, or only its envelope, for {@link verifyStatementFile}. */
export function isStatementFile(file: Uint8Array): boolean {
  return statedAnswer(file) !== null;
}

/**
 * Verifies a saved answer of `POST /v1/verify`, `GET /v1/verify/{record_id}`, `GET /.well-known/svc-keys` or
 * `GET /v1/entitlement` with anchors and a saved answer of `GET /.well-known/keys`. `record` are the exact bytes that a
 * statement must be about, and `nowMs` (Unix milliseconds) is when an entitlement has to be valid, by default now. Any other
 * file is `not_a_statement`.
 */
export function verifyStatementFile(
  file: Uint8Array,
  options: AnchorsChoice & {
    readonly keySet: Uint8Array;
    readonly record?: Uint8Array;
    readonly nowMs?: number;
  },
): FileVerdict {
  const anchors = anchorsOf(options);
  if (!anchors.ok) return anchors;
  const answer = statedAnswer(file);
  if (answer === null) return refuse("not_a_statement", "The file holds no statement of the service.");
  const { keySet, record, nowMs = Date.now() } = options;
  const subject = { at: formatTimestamp(nowMs), ...(record === undefined ? {} : { record }) };
  return ok(verifyStatedAnswer({ anchors: anchors.value, keySet }, answer, subject));
}

/** Whether a file holds the bare answer of a search, a fetch or a pool of ads, for {@link verifyAnswerFile}. */
export function isAnswerFile(file: Uint8Array): boolean {
  return answerKind(parseUtf8(file) ?? "") !== null;
}

/** What {@link verifyAnswerFile} judges the answer by: saved answers of the verification surface, exactly as received. */
export interface AnswerFiles extends AnchorsChoice {
  /** Of `GET /.well-known/keys`. */
  readonly keySet: Uint8Array;
  /** Of `GET /v1/certificates/{uuid}` and `GET /v1/certificates/{uuid}/keys`, about the business of a fetched record. */
  readonly certificate?: Uint8Array;
  readonly businessKeys?: Uint8Array;
}

/** Verifies a saved answer of a search, a fetch or a pool of ads. A certificate or keys that are no JSON are `evidence_unusable`. */
export function verifyAnswerFile(
  file: Uint8Array,
  { keySet, certificate, businessKeys, ...choice }: AnswerFiles,
): Result<Report, "anchors_unusable" | "evidence_unusable"> {
  const anchors = anchorsOf(choice);
  if (!anchors.ok) return anchors;
  const parsed = [certificate, businessKeys].map((each) =>
    each === undefined ? ok(undefined) : parseStrictJson(each),
  );
  if (parsed.some((each) => !each.ok))
    return refuse("evidence_unusable", "The certificate and the keys must be JSON.");
  const [about, keys] = parsed.map((each) => (each.ok ? each.value : undefined));
  const evidence = {
    ...(about === undefined ? {} : { certificate: about }),
    ...(keys === undefined ? {} : { businessKeys: keys }),
  };
  const { allowSandbox } = choice;
  return ok(verify(file, { ...anchors.value }, { allowSandbox, keySet, ...evidence }));
}

/** What {@link verifyCatalogueFile} judges the answer by: saved answers of the verification surface, exactly as received. */
export interface CatalogueFiles extends AnchorsChoice {
  /** Of `GET /.well-known/keys`. */
  readonly keySet: Uint8Array;
  /** Of `GET /v1/certificates/{uuid}`. */
  readonly certificate: Uint8Array;
  /** Of `GET /v1/certificates/{uuid}/keys`: the business that it names is the one that has to have sealed the record. */
  readonly businessKeys: Uint8Array;
}

/** Whether a file holds an answer of `GET /v1/catalogue/{record_id}`, for {@link verifyCatalogueFile}. */
export function isCatalogueFile(file: Uint8Array): boolean {
  const parsed = parseStrictJson(file);
  return parsed.ok && isObject(parsed.value) && "live_in" in parsed.value && "seal" in parsed.value;
}

/**
 * Verifies a saved answer of `GET /v1/catalogue/{record_id}`, which is never complete: it has no receipt, no sidecar and no AI
 * policy. Keys or a certificate that are no such answers are `evidence_unusable`.
 */
export function verifyCatalogueFile(
  file: Uint8Array,
  files: CatalogueFiles,
): Result<Report, "anchors_unusable" | "evidence_unusable"> {
  const read = readFiles(files);
  if (!read.ok) return read;
  const { verifier, chain, uuid, values } = read.value;
  if (verifier === null) return ok(reportOf([chain]));
  return ok(reportOf([chain, ...verifier.catalogueAnswer(file, { businessUuid: uuid, ...values }).checks]));
}

/** The saved answers as JSON, whose business the keys are of, and the verifier under the key set; null where that is not trusted. */
function readFiles({
  keySet,
  businessKeys,
  certificate,
  ...choice
}: Omit<CatalogueFiles, "certificate"> & { readonly certificate?: Uint8Array }) {
  const anchors = anchorsOf(choice);
  if (!anchors.ok) return anchors;
  const parsed = {
    keySet: parseStrictJson(keySet),
    businessKeys: parseStrictJson(businessKeys),
    certificate: certificate === undefined ? null : parseStrictJson(certificate),
  };
  if (!parsed.keySet.ok || !parsed.businessKeys.ok || parsed.certificate?.ok === false)
    return refuse("evidence_unusable", "The key set, the certificate and the keys must be JSON.");
  const uuid = isObject(parsed.businessKeys.value) ? parsed.businessKeys.value["uuid"] : undefined;
  if (typeof uuid !== "string")
    return refuse(
      "evidence_unusable",
      "The keys are no answer of GET /v1/certificates/{uuid}/keys: no uuid.",
    );
  const verifier = createVerifier({ anchors: anchors.value, keySet: parsed.keySet.value });
  return ok({
    uuid,
    verifier: verifier.ok ? verifier.value : null,
    chain: checkOf("key_set", verifier, ({ trust }) => `Issued at ${trust.keySet.issued_at}.`),
    values: {
      businessKeys: parsed.businessKeys.value,
      ...(parsed.certificate === null ? {} : { certificate: parsed.certificate.value }),
    },
  });
}

/** What {@link verifySealedFile} judges a document by; `certificate` and `document` are for a seal alone. */
export interface SealedFiles extends Omit<CatalogueFiles, "certificate"> {
  readonly certificate?: Uint8Array;
  /** The exact bytes that the seal is over. */
  readonly document?: Uint8Array;
}

/** Whether a file holds the envelope of a document that a person sealed, for {@link verifySealedFile}. */
export function isSealedFile(file: Uint8Array): boolean {
  const parsed = parseStrictJson(file);
  return parsed.ok && isSealedByPerson(parsed.value);
}

/** Verifies a document that a person sealed, and says what it says in words. Files that are no JSON are `evidence_unusable`. */
export function verifySealedFile(
  file: Uint8Array,
  { certificate, document, ...files }: SealedFiles,
): Result<Report, "anchors_unusable" | "evidence_unusable"> {
  const read = readFiles({ ...files, ...(certificate === undefined ? {} : { certificate }) });
  if (!read.ok) return read;
  const { verifier, chain, uuid, values } = read.value;
  const envelope = parseStrictJson(file);
  if (!envelope.ok) return refuse("evidence_unusable", envelope.detail);
  if (verifier === null) return ok(reportOf([chain]));
  const { checks, words = [] } = verifier.sealedByPerson(envelope.value, {
    businessUuid: uuid,
    ...values,
    ...(document === undefined ? {} : { document }),
  });
  return ok({ ...reportOf([chain, ...checks]), words });
}
