// What the service itself received of a seal, and when: until there is a transparency log, nothing else distinguishes a
// genuine old seal from one made today with a stolen key.
//   R1. A seal is identified by its signed payload. For a batch that was received, every leaf was sealed, whatever
//       became of it.
//   R2. Nothing is looked up for a seal that the business did not make.
//   R3. Where the answer decides whether a seal is valid, failing to reach the source is an error: it never counts as
//       «not received».

import type { BusinessCommand } from "../actors/messages/business.ts";
import type { PushCommand } from "../actors/messages/push.ts";
import { businessRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Envelope, openEnvelope, parseEnvelope } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { pushIdOf } from "../protocol/identifiers.ts";
import { parseRecordSeal } from "../protocol/seal.ts";
import { type SealEvidence, verifySealMaker } from "../verifier/seal.ts";
import type { SealVerdict } from "../verifier/seal-report.ts";
import type { SealedDocument } from "../verifier/sealed-document.ts";
import type { Trust } from "../verifier/trust.ts";
import { failureAnswer } from "./failure.ts";
import type { Register } from "./register.ts";

export interface SealReceiptDeps {
  readonly trust: Trust;
  readonly register: Pick<Register, "policies">;
  readonly actors: Pick<ActorSystem, "ask">;
}

export interface SealReceipt {
  readonly received_at: string;
  /** Whether a version with these bytes was published under this seal, or the AI policy or removal was accepted. */
  readonly isPublished: boolean;
}

/** The maximum time that a verification waits for the push's actor, which may live in another region. */
const askMs = 2_000;

/**
 * Null when the service never received the seal; undefined when there is no need to know, or nothing depends on it and
 * the source cannot be reached. `verdict` is the verdict on the seal from the documents at hand alone.
 */
export async function askedReceipt(
  deps: SealReceiptDeps,
  evidence: SealEvidence,
  verdict: SealVerdict,
): Promise<SealReceipt | null | undefined> {
  if (verdict.ok ? verdict.value.sidecar?.ok === true : verdict.code !== "key_compromised") return undefined;
  const { document = "record" } = evidence;
  const envelope = genuineEnvelope(deps.trust, evidence);
  // The sidecar in an ad's item is what the service states of its receipt; it is not looked up.
  if (envelope === null || document === "ad" || document === "campaign" || document === "ad_product")
    return undefined;
  try {
    return await receiptOf[document](deps, evidence, envelope);
  } catch (error) {
    if (failureAnswer(error) === null || hasEnded(evidence, envelope)) throw error;
    return undefined;
  }
}

type FindReceipt = (
  deps: SealReceiptDeps,
  evidence: SealEvidence,
  envelope: Envelope,
) => Promise<SealReceipt | null>;

const receiptOf: Readonly<Record<Exclude<SealedDocument, "ad" | "campaign" | "ad_product">, FindReceipt>> = {
  ai_policy: policyReceipt,
  withdrawal: removalReceipt,
  record: pushReceipt,
};

/** See R2. */
function genuineEnvelope(trust: Trust, evidence: SealEvidence): Envelope | null {
  const seal = parseRecordSeal(evidence.seal);
  if (!seal.ok || !verifySealMaker(trust, evidence, seal.value).ok) return null;
  return seal.value.envelope;
}

/** See R3. */
function hasEnded({ keys }: SealEvidence, { signatures: [signature] }: Envelope): boolean {
  const key = keys.keys.find(({ key_id: keyId }) => keyId === signature?.keyid);
  return key === undefined || key.revoked_at !== null || key.compromised_from !== null;
}

async function policyReceipt(
  { register }: SealReceiptDeps,
  { keys }: SealEvidence,
  { payload }: Envelope,
): Promise<SealReceipt | null> {
  const policies = await register.policies(keys.uuid);
  const known = policies.find((policy) => {
    const sealed = parseEnvelope(JSON.parse(policy.seal) as JsonValue);
    return sealed.ok && sealed.value.payload === payload;
  });
  return known === undefined ? null : { received_at: known.live_from, isPublished: true };
}

async function removalReceipt(
  { trust, actors }: SealReceiptDeps,
  { keys, bytes }: SealEvidence,
  { payload }: Envelope,
): Promise<SealReceipt | null> {
  const read: BusinessCommand = { type: "removal.read", document_hash: hashOf(bytes, trust.sha256) };
  const { removal } = await actors.ask(businessRef(keys.uuid), read, { timeoutMs: askMs });
  const sealed = removal === null ? null : parseEnvelope(JSON.parse(removal.seal) as JsonValue);
  if (removal === null || sealed?.ok !== true || sealed.value.payload !== payload) return null;
  return { received_at: removal.received_at, isPublished: true };
}

async function pushReceipt(
  { trust, actors }: SealReceiptDeps,
  { keys, seal }: SealEvidence,
  envelope: Envelope,
): Promise<SealReceipt | null> {
  const payload = openEnvelope(envelope, envelope.payloadType);
  if (!payload.ok) return null;
  const parsed = parseRecordSeal(seal);
  const leaf = parsed.ok && parsed.value.kind === "batch" ? parsed.value.inclusion.leaf_index : 0;
  const status: PushCommand = { type: "push.status", outcome: null, from_leaf: leaf, limit: 1 };
  const push = pushRef(keys.uuid, pushIdOf(keys.uuid, payload.value, trust.sha256));
  const report = await actors.ask(push, status, { timeoutMs: askMs });
  if (report === null) return null;
  const outcome = report.results.find(({ leaf_index: index }) => index === leaf);
  return { received_at: report.facts.received_at, isPublished: (outcome?.version ?? null) !== null };
}
