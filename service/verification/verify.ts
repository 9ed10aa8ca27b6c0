// POST /v1/verify: the record in the caller's hands, judged by the same pure functions that anyone can run, with what
// only the service knows added. A failed check is an answer, not an error.
//   V1. The record's bytes are required: a bare id or hash is never accepted, so nobody learns which ids exist.
//   V2. The statement says what the answer says, and nothing else is signed.
//   V3. A seal is refused, or a check of it failed, for something missing from the register only if the register was
//       refreshed since the request came: a key, a certificate or an AI policy that this node has not heard of yet is no
//       reason.

import { hashOf, parseBase64, parseUtf8, utf8 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import type { Entitlement } from "../../protocol/entitlement.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import type { Refusal } from "../../protocol/result.ts";
import type {
  AdSection,
  EntitlementSection,
  VerifyAnswer,
  VerifyRequest,
} from "../../protocol/wire/verify.ts";
import { isObject } from "../../std/json-pointer.ts";
import { verifyAdItem } from "../../verifier/ad-item.ts";
import type { Check, Report } from "../../verifier/members.ts";
import { verifySeal } from "../../verifier/seal.ts";
import type { SealVerdict } from "../../verifier/seal-report.ts";
import { verifyEntitlement } from "../../verifier/service-statements.ts";
import type { Trust } from "../../verifier/trust.ts";
import { answerJson, type Outcome } from "../answer.ts";
import type { ServiceKeys } from "../register/service-keys.ts";
import { signEnvelope } from "../register/service-keys.ts";
import { acceptedFault, certificateWarnings, registerReasons } from "../register/standing.ts";
import type { RequestServices } from "./verify-evidence.ts";
import {
  type Claimed,
  findLoggedSeal,
  findStanding,
  findUnsealed,
  readClaims,
  type VerifyInput,
} from "./verify-evidence.ts";
import {
  bitsSection,
  type Judged,
  judgeSeal,
  logSection,
  projectionSection,
  type SealJudgement,
  sealSection,
  sidecarSection,
} from "./verify-sections.ts";

export interface VerifyServices extends Omit<RequestServices, "trust"> {
  /** The current trust in this service's own keys. */
  readonly trust: () => Trust;
  readonly keys: ServiceKeys;
}

type Judging = RequestServices & Pick<VerifyServices, "keys">;

/** `request` fits its shape, and `body` is its exact text, if that is at hand. */
export type Verify = (request: VerifyRequest, body?: Uint8Array) => Promise<Outcome>;

/** POST /v1/verify: judges the documents at hand, and signs what it found. */
export function createVerify(deps: VerifyServices): Verify {
  return async (request, body) => {
    const ofRequest = { ...deps, trust: deps.trust() };
    if (request.entitlement !== undefined) return answerEntitlement(ofRequest, request.entitlement);
    if (request.ad_item === undefined) return answer(ofRequest, readInput(deps, request));
    return answerAd(ofRequest, request.ad_item, body);
  };
}

const noSections = { seal: null, log_inclusion: null, sidecar: null, projection: null, ai_policy_bits: null };

async function answerAd(
  deps: Judging,
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
  deps: Judging,
  entitlement: NonNullable<VerifyRequest["entitlement"]>,
): Promise<Outcome> {
  const checkedAt = formatTimestamp(deps.clock.now());
  const { section, warnings } = await judgeEntitlement(deps, entitlement, checkedAt);
  const findings = { valid: section.valid, ...noSections, ad: null, entitlement: section, warnings };
  const recordHash = hashOf(canonicalBytes(entitlement), deps.crypto.sha256);
  return stated(deps, findings, { checkedAt, recordHash });
}

function readInput({ crypto }: VerifyServices, request: VerifyRequest): VerifyInput {
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

async function answer(deps: Judging, input: VerifyInput): Promise<Outcome> {
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
  deps: Judging,
  findings: Omit<VerifyAnswer, "checked_at" | "statement">,
  { checkedAt, recordHash }: { readonly checkedAt: string; readonly recordHash: string },
): Promise<Outcome> {
  const payload = canonicalBytes({
    v: 1,
    checked_at: checkedAt,
    record_hash: recordHash,
    ...(deps.keys.environment === "sandbox" ? { sandbox: true } : {}),
    ...findings,
  });
  const statement = await signEnvelope(payloadTypes["verify-statement.v1"], payload, [
    deps.keys.statement(checkedAt),
  ]);
  const body: VerifyAnswer = { ...findings, checked_at: checkedAt, statement };
  return answerJson(200, body, { "cache-control": "no-store" });
}

type Found = SealJudgement & Pick<Judged, "standing" | "logged" | "unsealed">;

/** See V3. */
async function judge(
  deps: Judging,
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

// An entitlement in a verification: judged now, with nothing but what is in it, as anyone can judge it. What the register knows
// that it does not say becomes a warning.

async function judgeEntitlement(
  { trust, register }: RequestServices,
  entitlement: JsonObject,
  at: string,
): Promise<{ readonly section: EntitlementSection; readonly warnings: readonly string[] }> {
  const verdict = verifyEntitlement(trust, entitlement, { at });
  if (!verdict.ok) {
    const { code: reason, detail, pointer } = verdict;
    const where = pointer === undefined ? {} : { pointer };
    return { section: { valid: false, reason, detail, ...where }, warnings: [] };
  }
  const { v: _version, sandbox: _mark, ...members } = verdict.value;
  const section = { valid: true, ...members } as const;
  return { section, warnings: await warningsOf(register, verdict.value, at) };
}

async function warningsOf(
  register: RequestServices["register"],
  { ai_company_uuid: uuid, key_ids: keyIds }: Entitlement,
  at: string,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  const [newest] = await register.certificates(uuid);
  if (newest === undefined) warnings.push("The company of the entitlement is not known here.");
  else if (newest.status !== "active")
    warnings.push(
      `The certificate of AI company ${uuid} is ${newest.status} from ${newest.status_effective_from} on.`,
    );
  for (const keyId of keyIds) {
    const key = await register.key(keyId);
    const end = [key?.revoked_at, key?.compromised_from].filter((each) => typeof each === "string").sort()[0];
    if (end !== undefined && end <= at) warnings.push(`Key ${keyId} is revoked from ${end} on.`);
  }
  return warnings;
}

// The item of an ad in a verification: judged with nothing but what is in it, as anyone can judge it, and its seal once more by what
// the register knows now, because an item is as old as its keys. What else the register knows that the item does not say
// becomes a warning.

interface AdInput {
  readonly item: JsonObject & { readonly record_base64: string };
  /** The exact text of the request, if it is at hand. */
  readonly body: Uint8Array | undefined;
  readonly at: string;
}

async function judgeAdItem(
  deps: RequestServices,
  input: AdInput,
): Promise<{ readonly section: AdSection; readonly warnings: readonly string[] }> {
  const text = input.body === undefined ? null : parseUtf8(input.body);
  const exact = text === null ? null : exactMember(text, "ad_item");
  const report = verifyAdItem(deps.trust, exact === null ? input.item : utf8(exact));
  const section = sectionOf(report, input.item);
  if (!section.valid) return { section, warnings: [] };
  const first = await judgeNow(deps, input);
  if (first.refusal === null || !registerReasons.includes(first.refusal.code))
    return { section: fallen(section, first.refusal), warnings: first.warnings };
  await deps.register.refresh();
  const { refusal, warnings } = await judgeNow(deps, input);
  return { section: fallen(section, refusal), warnings };
}

function fallen(section: AdSection, refusal: Refusal<ReasonCode> | null): AdSection {
  if (refusal === null) return section;
  const { code: reason } = refusal;
  const detail = `By what is registered now, the seal in the item is refused: ${refusal.detail}`;
  const checks = section.checks.map((check) =>
    check.name === "seal" ? { ...check, state: "failed" as const, reason, detail } : check,
  );
  return { valid: false, reason, detail, checks };
}

function sectionOf(report: Report, item: JsonObject): AdSection {
  // The service states what it judged; what no signature covers is the same of every item, and published.
  const checks = report.checks.flatMap(({ name, state, reason, detail }) =>
    state === "unsigned"
      ? []
      : {
          name: name as AdSection["checks"][number]["name"],
          state,
          ...(reason === undefined ? {} : { reason }),
          ...(detail === undefined ? {} : { detail }),
        },
  );
  const failed = report.checks.find(isFailed);
  if (failed !== undefined) {
    const { reason, detail = "" } = failed;
    return { valid: false, reason, detail, checks };
  }
  const { record_id: adId, business_uuid: uuid } = item["row"] as JsonObject;
  return { valid: true, ad_id: adId as string, business_uuid: uuid as string, checks };
}

function isFailed(check: Check): check is Check & { readonly reason: NonNullable<Check["reason"]> } {
  return check.state === "failed" && check.reason !== undefined;
}

interface JudgedNow {
  readonly refusal: Refusal<ReasonCode> | null;
  readonly warnings: readonly string[];
}

async function judgeNow({ trust, standings }: RequestServices, { item, at }: AdInput): Promise<JudgedNow> {
  const { row, sidecar } = item;
  const uuid = isObject(row) ? row["business_uuid"] : undefined;
  const standing = typeof uuid === "string" ? await standings.read(uuid, at) : null;
  const bytes = parseBase64(item.record_base64);
  if (standing === null || bytes === null || !isObject(row))
    return { refusal: null, warnings: [unknownBusiness] };
  const { certificates, keys, policies } = standing;
  const seal = verifySeal(trust, {
    document: "ad",
    bytes,
    certificates,
    keys,
    policies,
    judgedAt: at,
    seal: row["adl_origin_seal"] as JsonValue,
    sidecar: sidecar as JsonValue,
  });
  return { refusal: seal.ok ? null : seal, warnings: certificateWarnings(standing) };
}

const unknownBusiness = "The business of the ad is not known here.";
