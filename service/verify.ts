// POST /v1/verify: the record in the caller's hands, judged by the same pure functions that anyone can run, with what
// only the service knows added. A failed check is an answer, not an error.
//   V1. The record's bytes are required: a bare id or hash is never accepted, so nobody learns which ids exist.
//   V2. The statement says what the answer says, and nothing else is signed.
//   V3. A seal is refused, or a check of it failed, for something missing from the register only if the register was
//       refreshed since the request came: a key, a certificate or an AI policy that this node has not heard of yet is no
//       reason.

import type { Clock, CryptoPort, SignerAt } from "../crypto/port.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { canonicalBytes } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { VerifyAnswer, VerifyRequest } from "../protocol/wire/verify.ts";
import type { SealVerdict } from "../verifier/seal-report.ts";
import type { Trust } from "../verifier/trust.ts";
import { answerJson, type Outcome } from "./answer.ts";
import { findLoggedSeal } from "./logged-seal.ts";
import type { FindingRecords } from "./published-version.ts";
import type { Environment } from "./service-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";
import { acceptedFault, certificateWarnings, registerReasons, type Standings } from "./standing.ts";
import { judgeAdItem } from "./verify-ad.ts";
import { judgeEntitlement } from "./verify-entitlement.ts";
import { type Claimed, findStanding, findUnsealed, readClaims, type VerifyInput } from "./verify-evidence.ts";
import {
  bitsSection,
  type Judged,
  judgeSeal,
  logSection,
  projectionSection,
  type SealJudgement,
  type SectionDeps,
  sealSection,
  sidecarSection,
} from "./verify-sections.ts";

export interface VerifyDeps extends Omit<SectionDeps, "trust"> {
  readonly records: SectionDeps["records"] & FindingRecords;
  readonly environment: Environment;
  readonly standings: Standings;
  /** The current trust in this service's own keys. */
  readonly trust: () => Trust;
  readonly statement: SignerAt;
  readonly crypto: Pick<CryptoPort, "sha256">;
  readonly clock: Clock;
}

/** The dependencies of one request: it is judged with one trust, even if the key set changes in the meantime. */
type RequestDeps = Omit<VerifyDeps, "trust"> & SectionDeps;

/** `request` fits its shape, and `body` is its exact text, if that is at hand. */
export type Verify = (request: VerifyRequest, body?: Uint8Array) => Promise<Outcome>;

export function createVerify(deps: VerifyDeps): Verify {
  return async (request, body) => {
    const ofRequest = { ...deps, trust: deps.trust() };
    if (request.entitlement !== undefined) return answerEntitlement(ofRequest, request.entitlement);
    if (request.ad_item === undefined) return answer(ofRequest, readInput(deps, request));
    return answerAd(ofRequest, request.ad_item, body);
  };
}

const noSections = { seal: null, log_inclusion: null, sidecar: null, projection: null, ai_policy_bits: null };

async function answerAd(
  deps: RequestDeps,
  item: NonNullable<VerifyRequest["ad_item"]>,
  body: Uint8Array | undefined,
): Promise<Outcome> {
  const checkedAt = formatTimestamp(deps.clock.now());
  const bytes = parseBase64(item.record_base64);
  if (bytes === null) throw new Error("A verification is judged by its shape before it comes here.");
  const { section: ad, warnings } = await judgeAdItem(deps, { item, body, at: checkedAt });
  const findings = { valid: ad.valid, ...noSections, ad, warnings };
  return stated(deps, findings, { checkedAt, recordHash: hashOf(bytes, deps.crypto.sha256) });
}

async function answerEntitlement(
  deps: RequestDeps,
  entitlement: NonNullable<VerifyRequest["entitlement"]>,
): Promise<Outcome> {
  const checkedAt = formatTimestamp(deps.clock.now());
  const { section, warnings } = await judgeEntitlement(deps, entitlement, checkedAt);
  const findings = { valid: section.valid, ...noSections, ad: null, entitlement: section, warnings };
  const recordHash = hashOf(canonicalBytes(entitlement), deps.crypto.sha256);
  return stated(deps, findings, { checkedAt, recordHash });
}

function readInput({ crypto }: VerifyDeps, request: VerifyRequest): VerifyInput {
  const bytes = parseBase64(request.record_base64 ?? "");
  if (bytes === null) throw new Error("A verification is judged by its shape before it comes here.");
  return {
    bytes,
    hash: hashOf(bytes, crypto.sha256),
    seal: request.seal ?? null,
    sidecar: request.sidecar ?? null,
    row: request.row ?? null,
    policyBits: request.ai_policy_bits ?? null,
    keyEvents: request.key_events ?? "warn",
  };
}

async function answer(deps: RequestDeps, input: VerifyInput): Promise<Outcome> {
  const checkedAt = formatTimestamp(deps.clock.now());
  const claimed = readClaims(deps.trust, input);
  const {
    seal: verdict,
    standing,
    logged,
    receipt,
    unsealed,
  } = await judge(deps, { input, claimed, at: checkedAt });
  const warnings: string[] = [];
  const judged: Judged = { input, claimed, standing, logged, at: checkedAt, receipt, unsealed, warnings };
  const seal = await sealSection(deps.register, verdict, judged);
  const sidecar = sidecarSection(judged, verdict);
  const projection = projectionSection(deps, judged);
  const policyBits = bitsSection(deps, judged);
  if (isOfRegister(verdict)) warnings.push(registerWarning);
  warnings.push(...certificateWarnings(standing));
  const log = logSection(input, logged);
  const areValid = [seal, sidecar, projection, policyBits].every(
    (section) => section === null || section.valid,
  );
  const findings = {
    valid: areValid && log?.status !== "invalid",
    seal,
    log_inclusion: log,
    sidecar,
    projection,
    ai_policy_bits: policyBits,
    ad: null,
    warnings,
  };
  return stated(deps, findings, { checkedAt, recordHash: input.hash });
}

/** See V2. */
async function stated(
  deps: RequestDeps,
  findings: Omit<VerifyAnswer, "checked_at" | "statement">,
  { checkedAt, recordHash }: { readonly checkedAt: string; readonly recordHash: string },
): Promise<Outcome> {
  const payload = canonicalBytes({
    v: 1,
    checked_at: checkedAt,
    record_hash: recordHash,
    ...(deps.environment === "sandbox" ? { sandbox: true } : {}),
    ...findings,
  });
  const statement = await signEnvelope(payloadTypes["verify-statement.v1"], payload, [
    deps.statement(checkedAt),
  ]);
  const body: VerifyAnswer = { ...findings, checked_at: checkedAt, statement };
  return answerJson(200, body, { "cache-control": "no-store" });
}

type Found = SealJudgement & Pick<Judged, "standing" | "logged" | "unsealed">;

/** See V3. */
async function judge(
  deps: RequestDeps,
  asked: { readonly input: VerifyInput; readonly claimed: Claimed; readonly at: string },
): Promise<Found> {
  const { input, claimed, at } = asked;
  const once = async (): Promise<Found> => {
    const standing = await findStanding(deps, claimed, at);
    const logged = await findLoggedSeal(deps, input, { claimed, standing });
    const accepted = standing === null ? null : await findUnsealed(deps.records, input, claimed);
    const unsealed = standing === null || accepted === null ? null : acceptedFault(standing, accepted);
    const judged = await judgeSeal(deps, { input, claimed, standing, logged, at });
    return { standing, logged, unsealed, ...judged };
  };
  const first = await once();
  const isUnsealedOfRegister = first.unsealed !== null && registerReasons.includes(first.unsealed.code);
  if (!isOfRegister(first.seal) && !isUnsealedOfRegister) return first;
  await deps.register.refresh();
  return once();
}

function isOfRegister(seal: SealVerdict | null): boolean {
  if (seal === null || seal.ok) return false;
  return registerReasons.includes(seal.code) || Object.values(seal.checks).includes("failed");
}

const registerWarning =
  "The seal was judged by the register of this region; what was registered in another region moments ago may not have reached it yet.";
