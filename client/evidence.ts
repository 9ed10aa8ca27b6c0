// Evidence files: a fetched record with everything needed to verify it offline (format `svc-evidence/1`), and their
// verification against anchors chosen by the verifying side.

import { utf8 } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { type Anchors, parseAnchors } from "../protocol/keys/anchors.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { isObject } from "../std/json-pointer.ts";
import { type EvidenceTexts, evidenceText } from "../verifier/evidence.ts";
import { checkOf, type Report, reportOf } from "../verifier/members.ts";
import { isSealedByPerson } from "../verifier/sealed-words.ts";
import { statedAnswer, verifyStatedAnswer } from "../verifier/stated-answer.ts";
import { createVerifier, verifyEvidence } from "../verifier/verifier.ts";
import type { RecordAnswer, SvcClient } from "./service-client.ts";

export type { Check, Report } from "../verifier/members.ts";

/**
 * The text of an evidence file (`svc-evidence/1`) about a fetched record, which {@link verifyEvidenceFile} reads: the
 * answer itself, the key set, the certificate of its business, that one's keys and their custody, as the verification
 * surface publishes them. Throws what {@link SvcClient} throws.
 */
export async function collectEvidence(
  client: Pick<SvcClient, "verificationRead">,
  fetched: RecordAnswer,
  caller: { readonly environment: "production" | "sandbox"; readonly keyId: string },
): Promise<string> {
  return evidenceText({
    environment: caller.environment,
    answer: { kind: "fetched", text: fetched.text },
    ...(await readPublished(client, fetched.body.business_uuid)),
    callerKeyId: caller.keyId,
    ...(fetched.requestHash === null ? {} : { requestHash: fetched.requestHash }),
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

/**
 * Verifies an evidence file using only anchors (given as JSON text). Sandbox anchors must be allowed explicitly; without
 * that, or for a text that contains no anchors, the result is `anchors_unusable`.
 */
export function verifyEvidenceFile(
  file: Uint8Array,
  options: AnchorsChoice,
): Result<Report, "anchors_unusable"> {
  const anchors = readAnchors(options);
  return anchors.ok ? ok(verifyEvidence({ anchors: anchors.value }, file)) : anchors;
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
  const anchors = readAnchors(options);
  if (!anchors.ok) return anchors;
  const answer = statedAnswer(file);
  if (answer === null) return refuse("not_a_statement", "The file holds no statement of the service.");
  const { keySet, record, nowMs = Date.now() } = options;
  const subject = { at: formatTimestamp(nowMs), ...(record === undefined ? {} : { record }) };
  return ok(verifyStatedAnswer({ anchors: anchors.value, keySet }, answer, subject));
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
  const anchors = readAnchors(choice);
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

/** Sandbox anchors must be allowed explicitly. */
export function readAnchors({
  anchorsText,
  allowSandbox,
}: AnchorsChoice): Result<Anchors, "anchors_unusable"> {
  const parsed = parseStrictJson(utf8(anchorsText));
  if (!parsed.ok) return refuse("anchors_unusable", `The anchors are not JSON: ${parsed.detail}`);
  const anchors = parseAnchors(parsed.value);
  if (!anchors.ok)
    return refuse(
      "anchors_unusable",
      `These are not valid anchors: ${anchors.detail} (${anchors.pointer ?? ""})`,
    );
  if (anchors.value.environment === "sandbox" && !allowSandbox) {
    return refuse(
      "anchors_unusable",
      "These are sandbox anchors, which vouch for nothing real. Use --sandbox to accept them.",
    );
  }
  return anchors;
}
