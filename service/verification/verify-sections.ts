// The sections of a verification: the findings on the seal, the sidecar, the row and the AI policy bits.
//   S1. A section says only what is true of its own document. If two documents are each valid but belong to different
//       versions, the section of the sidecar or the row says so, never that of the seal.
//       Without a seal, a sidecar and a row are refused as well once the seal of their version does not stand any more.
//   S2. What a refused seal claims appears under `claimed`, and nowhere else.

import type { CustodyFacts } from "../../actors/messages/business.ts";
import type { PushCommand } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import { blockedNames } from "../../protocol/ai-policy.ts";
import { hashOf, toHex } from "../../protocol/bytes.ts";
import { openEnvelope } from "../../protocol/dsse.ts";
import { pushIdOf } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { type CustodyState, custodyInForce } from "../../protocol/keys/key-directory.ts";
import { leafHash } from "../../protocol/merkle.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import { type Refusal, refuse } from "../../protocol/result.ts";
import { parseRow } from "../../protocol/row.ts";
import { type BatchSeal, type InclusionSeal, parseRecordSeal } from "../../protocol/seal.ts";
import type {
  BitsSection,
  FailedSection,
  LogSection,
  ProjectionSection,
  SealSection,
  SidecarSection,
} from "../../protocol/wire/verify.ts";
import { verifyPolicyBits } from "../../verifier/policy-bits.ts";
import { sidecarFault, verifyProjection } from "../../verifier/row.ts";
import {
  leadsToRoot,
  openRecordSeal,
  type SealEvidence,
  verifySeal,
  verifySealMaker,
} from "../../verifier/seal.ts";
import {
  nothingChecked,
  type SealClaims,
  type SealRefusal,
  type SealReport,
  type SealVerdict,
} from "../../verifier/seal-report.ts";
import type { StandingFault } from "../../verifier/standing.ts";
import type { Trust } from "../../verifier/trust.ts";
import { failureAnswer } from "../failure.ts";
import type { Register } from "../register/register.ts";
import type { Standing } from "../register/standing.ts";
import type { RequestServices } from "./verify-evidence.ts";
import {
  askedReceipt,
  type Claimed,
  type LoggedSeal,
  otherHash,
  type SealReceipt,
  sealEvidence,
  type VerifyInput,
} from "./verify-evidence.ts";

export interface Judged {
  readonly input: VerifyInput;
  readonly claimed: Claimed;
  readonly standing: Standing | null;
  readonly logged: LoggedSeal;
  /** When the verdict is given. */
  readonly at: string;
  /** What the service itself received of the seal; undefined if nothing depended on it, or it could not be determined. */
  readonly receipt: SealReceipt | null | undefined;
  /** Why the seal of the version that a sidecar or a row is about does not stand any more; null with a seal, which is judged itself. */
  readonly unsealed: StandingFault | null;
  readonly warnings: string[];
}

export type SealJudgement = Pick<Judged, "receipt"> & { readonly seal: SealVerdict | null };

function invalid(refusal: Refusal<ReasonCode>): FailedSection {
  const { code, detail, pointer } = refusal;
  return { valid: false, reason: code, detail, ...(pointer === undefined ? {} : { pointer }) };
}

/** Null without a seal. */
export async function judgeSeal(
  deps: RequestServices,
  { input, claimed, standing, logged, at }: Pick<Judged, "input" | "claimed" | "standing" | "logged" | "at">,
): Promise<SealJudgement> {
  if (input.seal === null) return { seal: null, receipt: undefined };
  if (standing === null) return { seal: sealOfNobody(deps, input), receipt: undefined };
  const evidence = sealEvidence(deps.trust, input, { claimed, standing, logged, at });
  const verdict = verifySeal(deps.trust, evidence);
  if (!verdict.ok && verdict.code === "inclusion_invalid") {
    const expectedHash = (await findLeafHash(deps, evidence)) ?? otherHash(claimed, input.hash);
    const again = expectedHash === null ? verdict : verifySeal(deps.trust, { ...evidence, expectedHash });
    return { seal: again, receipt: undefined };
  }
  const receipt = await askedReceipt(deps, evidence, verdict);
  if (receipt === undefined) return { seal: verdict, receipt };
  return {
    seal: verifySeal(deps.trust, sealEvidence(deps.trust, input, { claimed, standing, logged, at }, receipt)),
    receipt,
  };
}

/**
 * The verdict on a seal by a key that no business here has: a fault in its form if there is one, otherwise that the key
 * is unknown. There is no register to check anything else against.
 */
function sealOfNobody({ trust }: RequestServices, { bytes, seal }: VerifyInput): SealRefusal {
  const verdict = verifySeal(trust, {
    bytes,
    seal,
    certificates: { issuances: [] },
    keys: { v: 1, uuid: "", cert_id: "", issued_at: "", keys: [] },
  });
  if (verdict.ok) throw new Error("A seal verified although no key was given.");
  const nobody = { ...verdict, checks: nothingChecked };
  if (verdict.code !== "key_unknown") return nobody;
  return { ...nobody, detail: "No business with a certificate is known here to have the sealing key." };
}

/** The seal's part of the answer; null without a seal. */
export async function sealSection(
  register: Register,
  verdict: SealVerdict | null,
  { standing, logged, receipt, warnings }: Judged,
): Promise<SealSection | null> {
  if (verdict === null) return null;
  const keyEvent = logged.keyEvent.kind === "proven" ? logged.keyEvent.evidence : null;
  if (!verdict.ok) {
    const claimed = verdict.claimed === null ? null : claimedMembers(verdict.claimed);
    return { ...invalid(verdict), claimed, checks: verdict.checks, key_event: keyEvent };
  }
  const uuid = standing?.uuid ?? "";
  const report = verdict.value;
  const custody = custodyOf(await register.custody(uuid), uuid, report);
  if (report.checks.key_event === "missing") {
    warnings.push(
      "The registration of the sealing key is not in the transparency log, or not yet; the seal stands without it.",
    );
  }
  if (custody === "unstated") warnings.push("Nothing is stated about who holds the sealing key.");
  if (receipt === null || receipt?.isPublished === false)
    warnings.push("The record was not published through this service under this seal.");
  return { ...sealFound(report, uuid, custody), key_event: keyEvent };
}

function claimedMembers({ leaf, ...claims }: SealClaims) {
  const { ai_policy_version: policy, terms_version: terms, ...members } = claims;
  return { ...members, ...versionMember(policy, terms), leaf };
}

/** Each format of a seal names one of the two. */
function versionMember(policy: number | null, terms: number | null) {
  if (policy !== null) return { ai_policy_version: policy };
  return terms === null ? {} : { terms_version: terms };
}

function sealFound(report: SealReport, businessUuid: string, custody: CustodyState) {
  return {
    valid: true,
    business_uuid: businessUuid,
    key_id: report.key_id,
    key_kind: report.key_kind,
    custody,
    cert_id: report.cert_id,
    ...versionMember(report.ai_policy_version, report.terms_version),
    sealed_at: report.sealed_at,
    record_type: report.record_type,
    format: report.format,
    path: report.path,
    hash: report.hash,
    leaf: report.leaf,
    checks: report.checks,
  } as const;
}

function custodyOf(facts: readonly CustodyFacts[], uuid: string, report: SealReport): CustodyState {
  const statements = facts.map(({ business_uuid, key_id, custody, issued_at, effective_from }) => ({
    v: 1 as const,
    business_uuid,
    key_id,
    custody,
    issued_at,
    effective_from,
  }));
  const about = { business_uuid: uuid, key_id: report.key_id, at: report.sealed_at };
  return custodyInForce(statements, about)?.custody ?? "unstated";
}

/** Judged against the record, and against the seal only if that is valid, since an invalid seal is not a reference. */
export function sidecarSection(
  { input, claimed, unsealed }: Pick<Judged, "input" | "claimed" | "unsealed">,
  seal: SealVerdict | null,
): SidecarSection | null {
  const { sidecar } = claimed;
  if (sidecar === null) return null;
  if (!sidecar.ok) return invalid(sidecar);
  const fault =
    sidecarFault(sidecar.value, { hash: input.hash }) ??
    (seal?.ok === true && seal.value.sidecar?.ok === false ? seal.value.sidecar : unsealed);
  const { record_id, business_uuid, generation } = sidecar.value;
  return fault === null ? { valid: true, record_id, business_uuid, generation } : invalid(fault);
}

/** Whether the seal that was given is in the log; null if none was. That it is not there yet refuses nothing. */
export function logSection(input: Pick<VerifyInput, "seal">, { seal }: LoggedSeal): LogSection | null {
  if (input.seal === null) return null;
  if (seal.kind === "proven") return { status: "proven", ...seal.evidence };
  if (seal.kind === "absent") return { status: "not_in_log", checkpoint: null };
  const { code, detail } = seal.refusal;
  return { status: "invalid", reason: code, detail, checkpoint: null };
}

/** Whether the projection gives the row is one thing, and whether the service signed the row another. */
export function projectionSection(
  deps: RequestServices,
  { claimed, input, unsealed }: Judged,
): ProjectionSection | null {
  const { row: signature } = claimed;
  const row = input.row === null ? null : parseRow(input.row);
  if (signature === null || row === null) return null;
  if (!row.ok) return { ...invalid(row), row_signature: invalid(row), projection: null };
  const projected = verifyProjection(deps.trust, row.value, input.bytes);
  const sections = {
    version: row.value.adl_proj,
    row_signature: signature.ok ? valid : invalid(signature),
    projection: projected.ok ? valid : invalid(projected),
  };
  if (!signature.ok) return { ...invalid(signature), ...sections };
  if (!projected.ok) return { ...invalid(projected), ...sections };
  if (unsealed !== null) return { ...invalid(unsealed), ...sections };
  return { valid: true, ...sections, row_signature: valid, projection: valid };
}

const valid = { valid: true } as const;

/** The part of the AI policy bits; null without them. */
export function bitsSection(
  deps: RequestServices,
  { input, claimed, standing, logged, at, receipt, warnings }: Judged,
): BitsSection | null {
  if (input.policyBits === null) return null;
  if (standing === null) {
    const detail = "No business with a certificate is known here to have the sealing key.";
    return invalid(refuse("key_unknown", detail));
  }
  const evidence = sealEvidence(deps.trust, input, { claimed, standing, logged, at }, receipt);
  const verdict = verifyPolicyBits(deps.trust, input.policyBits as JsonValue, evidence);
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

// What the service itself knows about a leaf of a batch, so that a verification can distinguish altered bytes from a
// wrong path.
//   L1. Nothing is looked up for a batch seal that the business did not make: a forged seal reveals nothing.
//   L2. All that is revealed is that the path of a record seal is that leaf's own. A caller who has that path was served
//       the record; it is not possible to ask which leaves of a batch were published.
//   L3. If a store or an actor is unreachable, or too little is left of a version, the leaf counts as unknown. So does a leaf of
//       an uploaded file until its record is published: nobody but its business can have been given its path, and the file
//       may be in the folder of another node.

/** The maximum time that a verification waits for the push's actor, which may live in another region. */
const askMs = 2_000;

interface Leaf {
  readonly businessUuid: string;
  readonly pushId: string;
  readonly payload: BatchSeal;
  readonly inclusion: InclusionSeal;
}

/** The hash of the record at the leaf whose own path the record seal carries; null if that is not known. */
async function findLeafHash(deps: RequestServices, evidence: SealEvidence): Promise<string | null> {
  const leaf = genuineLeaf(deps.trust, evidence);
  if (leaf === null) return null;
  try {
    return (await publishedHash(deps, leaf)) ?? (await stagedHash(deps, leaf));
  } catch (error) {
    if (failureAnswer(error) === null) throw error;
    return null;
  }
}

/** See L1. */
function genuineLeaf(trust: Trust, evidence: SealEvidence): Leaf | null {
  const seal = parseRecordSeal(evidence.seal);
  const opened = seal.ok ? openRecordSeal(seal.value) : seal;
  if (!seal.ok || !opened.ok || opened.value.kind !== "batch") return null;
  const { payload, inclusion } = opened.value;
  if (inclusion.tree_size !== payload.tree_size || inclusion.leaf_index >= payload.tree_size) return null;
  if (!verifySealMaker(trust, evidence, seal.value).ok) return null;
  const { batch_seal: envelope } = inclusion;
  const bytes = openEnvelope(envelope, envelope.payloadType);
  if (!bytes.ok) return null;
  const { uuid } = evidence.keys;
  return { businessUuid: uuid, pushId: pushIdOf(uuid, bytes.value, trust.sha256), payload, inclusion };
}

async function publishedHash(
  { records, actors }: RequestServices,
  { businessUuid, pushId, inclusion }: Leaf,
): Promise<string | null> {
  const { leaf_index: index } = inclusion;
  const status: PushCommand = { type: "push.status", outcome: null, from_leaf: index, limit: 1 };
  const push = pushRef(businessUuid, pushId);
  const report = await actors.ask(push, status, { timeoutMs: askMs });
  const outcome = report?.results.find(({ leaf_index }) => leaf_index === index);
  const { record_id: recordId = null, version: generation = null } = outcome ?? {};
  if (recordId === null || generation === null) return null;
  const path = inclusion.proof.map((node) => node.slice("sha256:".length)).join("");
  for (const version of await records.listVersions(recordId, generation + 1, 1)) {
    const published = await records.readPublished({ record_id: recordId, generation, hash: version.hash });
    const isIt = published?.seal_id === pushId && published.leaf_index === index;
    if (isIt && toHex(published.proof) === path) return version.hash;
  }
  return null;
}

/** For a push that is not finished: its leaves are staged, whatever becomes of them. */
async function stagedHash({ records, trust }: RequestServices, leaf: Leaf): Promise<string | null> {
  const { id } = pushRef(leaf.businessUuid, leaf.pushId);
  const [bytes] = await records.loadLeaves(id, leaf.inclusion.leaf_index, 1);
  if (bytes === undefined || !leadsToRoot(trust, leaf, leafHash(bytes, trust.sha256))) return null;
  return hashOf(bytes, trust.sha256);
}
