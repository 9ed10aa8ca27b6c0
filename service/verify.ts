// POST /v1/verify: the record in the caller's hands, judged by the same pure functions that anyone can run, with what
// only the service knows added. A check that fails is an answer, not an error.
//   V1. The record's bytes are required: a bare id or hash is never accepted, so nobody learns which ids exist.
//   V2. The statement says what the answer says, and nothing else is signed.

import type { CustodyFacts } from "../actors/messages/business.ts";
import type { Clock, CryptoPort, SignerAt } from "../crypto/port.ts";
import { blockedNames } from "../protocol/ai-policy.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { type CustodyState, custodyInForce } from "../protocol/key-custody.ts";
import { problem } from "../protocol/problem.ts";
import type { ReasonCode, Refusal } from "../protocol/result.ts";
import { refuse } from "../protocol/result.ts";
import { verifyPolicyBits } from "../verifier/policy-bits.ts";
import { verifyProjection, verifyRowSignature } from "../verifier/row.ts";
import { type SealReport, verifySeal } from "../verifier/seal.ts";
import { verifySidecar } from "../verifier/sidecar.ts";
import type { Trust } from "../verifier/trust.ts";
import { answerJson, type Outcome, type Refused, refused } from "./answer.ts";
import type { Register } from "./register.ts";
import type { Environment } from "./service-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";
import type { Standing, Standings } from "./standing.ts";
import {
  type Claimed,
  findStanding,
  objectMember,
  readClaims,
  sealEvidence,
  type VerifyInput,
} from "./verify-evidence.ts";

export interface VerifyDeps {
  readonly environment: Environment;
  readonly register: Register;
  readonly standings: Standings;
  /** Trust in this service's own keys, as it is now. */
  readonly trust: () => Trust;
  readonly statement: SignerAt;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
}

export type Verify = (body: JsonObject) => Promise<Outcome>;

/** Characters of `record_base64` at most (specification, «POST /v1/verify»). */
export const recordCharactersMax = 204_800;

/** `body` has passed the request schema: its members are those of the specification, and of their types. */
export function createVerify(deps: VerifyDeps): Verify {
  return async (body) => {
    const input = readInput(body);
    return "kind" in input ? input : answer(deps, input);
  };
}

function readInput(body: JsonObject): VerifyInput | Refused {
  if (body["ad_item"] !== undefined) {
    if (Object.keys(body).length > 1) {
      return refused(problem("request_invalid", "ad_item is verified alone.", { pointer: "/ad_item" }));
    }
    return refused(
      problem("not_offered", "Ads are not offered by this version of the service.", { pointer: "/ad_item" }),
    );
  }
  const { record_base64: record, seal, sidecar, key_events: keyEvents } = body;
  if (record === undefined) {
    return refused(
      problem("request_invalid", "record_base64 is required: what is verified is the record you hold.", {
        pointer: "/record_base64",
      }),
    );
  }
  const bytes =
    typeof record === "string" && record.length <= recordCharactersMax ? parseBase64(record) : null;
  if (bytes === null) {
    return refused(
      problem("request_invalid", "record_base64 is base64 of the record's exact bytes.", {
        pointer: "/record_base64",
      }),
    );
  }
  const input: VerifyInput = {
    bytes,
    seal: seal ?? null,
    sidecar: sidecar ?? null,
    row: objectMember(body["row"]),
    policyBits: objectMember(body["ai_policy_bits"]),
    keyEvents: keyEvents === "require" ? "require" : "warn",
  };
  if (input.seal === null && input.sidecar === null && input.row === null) {
    const detail = "Give what the record is to be verified against: its seal, its sidecar or its row.";
    return refused(problem("request_invalid", detail, { allowed: ["seal", "sidecar", "row"] }));
  }
  if (input.policyBits !== null && input.seal === null) {
    return refused(
      problem("request_invalid", "ai_policy_bits need the AI policy record and its seal.", {
        pointer: "/seal",
      }),
    );
  }
  return input;
}

async function answer(deps: VerifyDeps, input: VerifyInput): Promise<Outcome> {
  const checkedAt = formatTimestamp(deps.clock.now());
  const claimed = readClaims(input);
  const standing = await findStanding(deps, claimed, { row: input.row, at: checkedAt });
  const warnings: string[] = [];
  const sections: readonly (Section | null)[] = [
    await sealSection(deps, { input, claimed, standing, warnings }),
    input.seal === null ? sidecarSection(deps, input) : null,
    projectionSection(deps, input),
    bitsSection(deps, { input, claimed, standing, warnings }),
  ];
  warnAboutCertificate(standing, warnings);
  const [seal = null, sidecar = null, projection = null, policyBits = null] = sections;
  const findings: JsonObject = {
    valid: sections.every((section) => section === null || section.valid),
    seal,
    log_inclusion: { status: "not_in_log", checkpoint: null },
    sidecar,
    projection,
    ai_policy_bits: policyBits,
    ad: null,
    warnings,
  };
  const payload = canonicalBytes({
    v: 1,
    checked_at: checkedAt,
    record_hash: hashOf(input.bytes, deps.crypto.sha256),
    ...(deps.environment === "sandbox" ? { sandbox: true } : {}),
    ...findings,
  });
  const statement = await signEnvelope(payloadTypes["verify-statement.v1"], payload, [
    deps.statement(checkedAt),
  ]);
  return answerJson(200, { ...findings, checked_at: checkedAt, statement }, { "cache-control": "no-store" });
}

type Section = JsonObject & { readonly valid: boolean };

interface Judged {
  readonly input: VerifyInput;
  readonly claimed: Claimed;
  readonly standing: Standing | null;
  readonly warnings: string[];
}

function invalid(refusal: Refusal<ReasonCode>, members: JsonObject = {}): Section {
  const { code, detail, pointer } = refusal;
  return { valid: false, reason: code, detail, ...(pointer === undefined ? {} : { pointer }), ...members };
}

async function sealSection(
  deps: VerifyDeps,
  { input, claimed, standing, warnings }: Judged,
): Promise<Section | null> {
  if (input.seal === null) return null;
  const verdict =
    standing === null
      ? sealOfNobody(deps, input)
      : verifySeal(deps.trust(), sealEvidence(input, claimed, standing));
  if (!verdict.ok || standing === null)
    return invalid(verdict as Refusal<ReasonCode>, { checks: failedChecks(verdict as Refusal<ReasonCode>) });
  const report = verdict.value;
  const custody = custodyOf(await deps.register.custody(standing.uuid), report);
  if (report.checks.key_event === "missing") {
    warnings.push(
      "The registration of the sealing key is in no transparency log yet; the seal stands without it.",
    );
  }
  if (custody === "unstated") warnings.push("Nothing is stated about who holds the sealing key.");
  return sealFound(report, standing.uuid, custody);
}

/** What can be said of a seal by a key that no business here has: what is wrong with its form, else that. */
function sealOfNobody(deps: VerifyDeps, input: VerifyInput) {
  const nobody = {
    bytes: input.bytes,
    seal: input.seal,
    certificates: { uuid: "", issuances: [] },
    keys: { v: 1, uuid: "", cert_id: "", issued_at: "", keys: [] },
  } as const;
  const verdict = verifySeal(deps.trust(), nobody);
  return verdict.ok ? refuse("key_unknown", "The sealing key is not registered here.") : verdict;
}

function sealFound(report: SealReport, businessUuid: string, custody: CustodyState): Section {
  return {
    valid: true,
    business_uuid: businessUuid,
    key_id: report.key_id,
    key_kind: report.key_kind,
    custody,
    cert_id: report.cert_id,
    ...(report.format === 2
      ? { ai_policy_version: report.ai_policy_version }
      : { terms_version: report.terms_version }),
    sealed_at: report.sealed_at,
    record_type: report.record_type,
    format: report.format,
    path: report.path,
    hash: report.hash,
    leaf: report.leaf === null ? null : { ...report.leaf },
    checks: { ...report.checks },
    // Where the log has the leaf of the key's registration; null while it is in no log.
    key_event: null,
  };
}

const checkOfReason: Readonly<Partial<Record<ReasonCode, keyof SealReport["checks"]>>> = {
  certificate_not_in_force: "certificate",
  certificate_withdrawn: "certificate",
  certificate_unknown: "certificate",
  ai_policy_version_mismatch: "ai_policy",
  out_of_scope: "scope",
  key_event_missing: "key_event",
};

function failedChecks(refusal: Refusal<ReasonCode>): JsonObject {
  const checks: Record<string, string> = {
    certificate: "not_checked",
    ai_policy: "not_checked",
    scope: "not_checked",
    key_event: "not_checked",
  };
  const failed = checkOfReason[refusal.code];
  if (failed !== undefined) checks[failed] = failed === "key_event" ? "missing" : "failed";
  return checks;
}

function custodyOf(facts: readonly CustodyFacts[], report: SealReport): CustodyState {
  const [first] = facts;
  if (first === undefined) return "unstated";
  const statements = facts.map(({ business_uuid, key_id, custody, issued_at, effective_from }) => ({
    v: 1 as const,
    business_uuid,
    key_id,
    custody,
    issued_at,
    effective_from,
  }));
  const about = { business_uuid: first.business_uuid, key_id: report.key_id, at: report.sealed_at };
  return custodyInForce(statements, about)?.custody ?? "unstated";
}

function sidecarSection(deps: VerifyDeps, input: VerifyInput): Section | null {
  if (input.sidecar === null) return null;
  const verdict = verifySidecar(deps.trust(), input.sidecar, {
    hash: hashOf(input.bytes, deps.crypto.sha256),
  });
  return verdict.ok
    ? { valid: true, record_id: verdict.value.record_id, generation: verdict.value.generation }
    : invalid(verdict);
}

function projectionSection(deps: VerifyDeps, { row, bytes }: VerifyInput): Section | null {
  if (row === null) return null;
  const signature = verifyRowSignature(deps.trust(), row);
  if (!signature.ok) return invalid(signature, { row_signature: invalid(signature), projection: null });
  const version = signature.value.adl_proj;
  const projected = verifyProjection(deps.trust(), signature.value, bytes);
  const members = { version, row_signature: { valid: true } };
  return projected.ok
    ? { valid: true, ...members, projection: { valid: true } }
    : invalid(projected, { ...members, projection: invalid(projected) });
}

function bitsSection(deps: VerifyDeps, { input, claimed, standing, warnings }: Judged): Section | null {
  if (input.policyBits === null) return null;
  if (standing === null) return invalid(refuse("key_unknown", "The sealing key is not registered here."));
  const verdict = verifyPolicyBits(
    deps.trust(),
    input.policyBits as JsonValue,
    sealEvidence(input, claimed, standing),
  );
  if (!verdict.ok) return invalid(verdict);
  const { bits, blocked, isPurchaseWithheld } = verdict.value;
  if (isPurchaseWithheld)
    warnings.push(
      "The purchase permission that the sealed AI policy grants is withheld from the served bits.",
    );
  return {
    valid: true,
    ai_policy_version: bits.ai_policy_version,
    blocked: blocked.map((name) => ({ code: `bc${blockedNames.indexOf(name) + 1}`, name })),
    purchase_withheld: isPurchaseWithheld,
  };
}

function warnAboutCertificate(standing: Standing | null, warnings: string[]): void {
  const today = standing?.certificates.issuances[0]?.certificate;
  if (today !== undefined && today.status !== "active") {
    warnings.push(`The business's certificate is ${today.status} from ${today.status_effective_from} on.`);
  }
}
