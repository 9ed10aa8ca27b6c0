// The whole answer of a fetch: receipt, sidecar, source line, and with what the verification surface publishes of the
// business its certificate, keys, custody, the seal and the AI policy now in force.

import type { BusinessKeys } from "../protocol/business-keys.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { openSeal, sealedAtSkewMs } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/sidecar.ts";
import { parseSourceLine, type SourceLine } from "../protocol/source-line.ts";
import { type AnswerEvidence, presenterOf, receiptFound } from "./answer-evidence.ts";
import { verifyBusinessKeys } from "./business-keys.ts";
import { type CertificateHistory, certificateEnvelopes, verifyCertificates } from "./certificate.ts";
import { type FetchedPolicy, type FetchedRecord, parseFetched } from "./fetched-record.ts";
import { custodyAt } from "./key-custody.ts";
import type { PolicyTimeline } from "./policy-timeline.ts";
import { verifyReceipt } from "./receipt.ts";
import { type Check, checkOf, type Report, reportOf, unchecked } from "./report.ts";
import { type SealReport, verifySeal } from "./seal.ts";
import { verifySidecar } from "./sidecar.ts";
import type { Trust } from "./trust.ts";

/**
 * Checks the body of a fetch answer, exactly as it was received. The checks are `receipt`, `sidecar`, `source_line`,
 * `certificate`, `business_keys`, `seal`, `ai_policy` and `key_custody`; those whose evidence is missing are
 * `not_checked`.
 */
export function verifyFetchAnswer(trust: Trust, body: Uint8Array, evidence: AnswerEvidence = {}): Report {
  const parsed = parseFetched(body, { record: evidence.record, policyRecord: evidence.policyRecord });
  if (!parsed.ok) return reportOf([checkOf("answer", parsed)]);
  const fetched = parsed.value;
  const hash = hashOf(fetched.bytes, trust.sha256);
  const sidecar = verifySidecar(trust, fetched.sidecar, {
    record_id: fetched.recordId,
    business_uuid: fetched.businessUuid,
    hash,
  });
  return reportOf([
    checkOf("receipt", fetchReceipt(trust, fetched, hash, evidence), receiptFound),
    checkOf("sidecar", sidecar, (found) => `Published at ${found.published_at} on path ${found.path}.`),
    sourceLineCheck(fetched, hash, sidecar),
    ...businessChecks(trust, fetched, evidence),
  ]);
}

/** The receipt of a fetch lists the one record. */
function fetchReceipt(
  trust: Trust,
  fetched: FetchedRecord,
  hash: string,
  evidence: AnswerEvidence,
): Verdict<Receipt> {
  const receipt = verifyReceipt(trust, fetched.receipt, presenterOf(evidence));
  if (!receipt.ok) return receipt;
  const [entry, ...others] = receipt.value.rows;
  if (entry === undefined || others.length > 0 || entry.record_id !== fetched.recordId) {
    return refuse("receipt_row_mismatch", "The receipt is not of this record.");
  }
  return entry.adl_origin === hash
    ? receipt
    : refuse("receipt_row_mismatch", "The receipt is of other record bytes.");
}

function sourceLineCheck(fetched: FetchedRecord, hash: string, sidecar: Verdict<Sidecar>): Check {
  if (fetched.sourceLine === null) return unchecked("source_line", "The answer has none.");
  const line = parseSourceLine(fetched.sourceLine);
  if (!line.ok) return checkOf("source_line", line);
  const certId = sidecar.ok ? sidecar.value.cert_id : line.value.cert_id;
  const { record_id: recordId, origin, cert_id: named } = line.value;
  const agrees = recordId === fetched.recordId && origin === hash && named === certId;
  const verdict: Verdict<SourceLine> = agrees
    ? line
    : refuse("hash_mismatch", "The source line is of another version.");
  return checkOf("source_line", verdict);
}

interface Business {
  readonly certificates: CertificateHistory;
  readonly keys: BusinessKeys;
}

function businessChecks(trust: Trust, fetched: FetchedRecord, evidence: AnswerEvidence): readonly Check[] {
  const uuid = fetched.businessUuid;
  const { certificate, businessKeys } = evidence;
  const certificates = certificate === undefined ? null : certificatesOf(trust, uuid, certificate);
  const keys = businessKeys === undefined ? null : verifyBusinessKeys(trust, uuid, businessKeys);
  const made = [
    certificates === null
      ? unchecked("certificate", "The certificate of the business is not given.")
      : checkOf("certificate", certificates, statusOf),
    keys === null
      ? unchecked("business_keys", "The published keys of the business are not given.")
      : checkOf("business_keys", keys, (found) => `Issued at ${found.issued_at}.`),
  ];
  if (certificates?.ok !== true || keys?.ok !== true) {
    const why = "Needs the certificate and the keys of the business.";
    return [...made, ...["seal", "ai_policy", "key_custody"].map((name) => unchecked(name, why))];
  }
  const business = { certificates: certificates.value, keys: keys.value };
  const seal = recordSeal(trust, fetched, business, evidence);
  const found = checkOf(
    "seal",
    seal,
    (report) => `Sealed at ${report.sealed_at} by the ${report.key_kind} key ${report.key_id}.`,
  );
  return [
    ...made,
    found,
    policyCheck(trust, fetched.policy, business),
    custodyCheck(trust, uuid, seal, evidence),
  ];
}

function certificatesOf(trust: Trust, uuid: string, answer: JsonValue): Verdict<CertificateHistory> {
  const envelopes = certificateEnvelopes(answer);
  return envelopes.ok ? verifyCertificates(trust, uuid, envelopes.value) : envelopes;
}

function statusOf({ issuances: [newest] }: CertificateHistory): string {
  if (newest === undefined) return "";
  const { legal_name: name, country, status, status_effective_from: from } = newest.certificate;
  return `${name} (${country}): ${status} from ${from} on.`;
}

function recordSeal(
  trust: Trust,
  fetched: FetchedRecord,
  business: Business,
  evidence: AnswerEvidence,
): Verdict<SealReport> {
  const stated = verifySidecar(trust, fetched.sidecar);
  const policies = timelineOf(fetched.policy);
  const seal = verifySeal(trust, {
    ...business,
    bytes: fetched.bytes,
    seal: fetched.seal,
    ...(stated.ok ? { sidecar: fetched.sidecar, expectedHash: stated.value.sha256 } : {}),
    ...(policies === null ? {} : { policies }),
    ...(evidence.mandate === undefined ? {} : { mandate: { envelope: evidence.mandate, revoked_at: null } }),
  });
  if (!seal.ok || seal.value.record_type === fetched.type) return seal;
  return refuse(
    "record_type_mismatch",
    "The answer calls the record something else than the seal does.",
    "/type",
  );
}

/** An answer carries only the AI policy in force when it was served: what was in force before is not in it. */
function timelineOf(policy: FetchedPolicy): PolicyTimeline | null {
  if (policy.version === 0) return { versions: [], isComplete: true };
  const envelope = parseEnvelope(policy.seal);
  const seal = envelope.ok ? openSeal(envelope.value) : envelope;
  if (!seal.ok) return null;
  return {
    versions: [{ version: policy.version, live_from: seal.value.sealed_at }],
    isComplete: false,
    uncertainMs: sealedAtSkewMs,
  };
}

function policyCheck(trust: Trust, policy: FetchedPolicy, business: Business): Check {
  if (policy.version === 0)
    return checkOf("ai_policy", ok(undefined), () => "No AI policy is sealed: nothing is permitted.");
  if (policy.bytes === null)
    return checkOf("ai_policy", refuse("payload_malformed", "The AI policy record is missing."));
  const seal = verifySeal(trust, {
    ...business,
    document: "ai_policy",
    bytes: policy.bytes,
    seal: policy.seal,
  });
  const isOther = seal.ok && seal.value.ai_policy_version !== policy.version;
  const verdict: Verdict<SealReport> = isOther
    ? refuse(
        "ai_policy_version_mismatch",
        "The seal creates another AI policy version than the answer names.",
      )
    : seal;
  return checkOf("ai_policy", verdict, () => `Version ${policy.version} is in force.`);
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
