// Seals: that a business published exactly these bytes, by a key of its own, under its certificate, its AI policy and
// the authority of that key, all as they were when it sealed.
//   Every check is against the moment of sealing; what happened later changes nothing unless it is stated to reach
//   back (a revocation's effective date, a key's `compromised_from`).

import type { BusinessKey, BusinessKeys } from "../protocol/business-keys.ts";
import { equalBytes } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { hashOf, parseHash } from "../protocol/hash.ts";
import { leafHash, rootFromPath } from "../protocol/merkle.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import {
  type BatchSeal,
  type InclusionSeal,
  openBatchSeal,
  openSeal,
  parseRecordSeal,
  type RecordSeal,
  type Seal,
} from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/sidecar.ts";
import { verifySealer } from "./business-keys.ts";
import { certificateAt, type Issuances } from "./certificate.ts";
import { windowFault } from "./key-window.ts";
import { judgePolicyVersion, type PolicyTimeline } from "./policy-timeline.ts";
import { judgeScope } from "./scope.ts";
import { type SealedDocument, sealedDocument } from "./sealed-document.ts";
import { verifySidecar } from "./sidecar.ts";
import type { Trust } from "./trust.ts";

export interface SealEvidence {
  /** What the bytes are; a record unless stated. */
  readonly document?: SealedDocument;
  /** The exact bytes that were sealed. */
  readonly bytes: Uint8Array;
  /** An envelope, or for a pushed record `{batch_seal, leaf_index, tree_size, proof[]}`; parsed JSON. */
  readonly seal: JsonValue;
  /** Verified, complete back to the certificate that the seal names. */
  readonly certificates: Issuances;
  /** Verified. */
  readonly keys: BusinessKeys;
  /** Hash of the bytes as learned elsewhere (a row's `adl_origin`): tells altered bytes from a wrong proof. */
  readonly expectedHash?: string;
  /** Mandate envelope of an integration key, and when it was revoked. */
  readonly mandate?: { readonly envelope: JsonValue; readonly revoked_at: string | null };
  /** Sidecar envelope. */
  readonly sidecar?: JsonValue;
  /** Absent: the AI policy version is compared with nothing but the sidecar. */
  readonly policies?: PolicyTimeline;
  /** Where the log has the leaf of the sealing key's registration; absent when the log was not asked. */
  readonly keyEvent?: { readonly found: boolean; readonly isRequired: boolean };
}

export type CheckState = "ok" | "missing" | "not_checked";

/** What a seal that stands proves, and which checks there was evidence for. */
export interface SealReport {
  readonly format: 1 | 2;
  readonly path: "A" | "B";
  readonly key_id: string;
  readonly key_kind: BusinessKey["kind"];
  readonly cert_id: string;
  readonly sealed_at: string;
  readonly record_type: string;
  /** Null under format 1. */
  readonly ai_policy_version: number | null;
  /** Null under format 2. */
  readonly terms_version: number | null;
  /** Null for a record sealed alone. */
  readonly leaf: { readonly index: number; readonly tree_size: number; readonly root: string } | null;
  readonly hash: string;
  readonly checks: {
    readonly certificate: "ok";
    readonly ai_policy: CheckState;
    readonly scope: CheckState;
    readonly key_event: CheckState;
  };
  readonly sidecar: Sidecar | null;
}

/**
 * Verifies a seal over bytes with the evidence given. The first failed check is the reason: envelope and payload, hash
 * or inclusion, key, signature, the key's window, record type, certificate, sidecar, AI policy version, scope, key event
 * (specification, «Errors», verification reason codes).
 */
export function verifySeal(trust: Trust, evidence: SealEvidence): Verdict<SealReport> {
  const parsed = parseRecordSeal(evidence.seal);
  if (!parsed.ok) return parsed;
  const opened = openAny(parsed.value);
  if (!opened.ok) return opened;
  const { payload } = opened.value;
  const document = evidence.document ?? "record";
  const hash = hashOf(evidence.bytes, trust.sha256);
  const bound = judgeBytes(trust, evidence, opened.value, hash);
  if (!bound.ok) return bound;
  const key = judgeKey(trust, evidence.keys, parsed.value, { payload, document });
  if (!key.ok) return key;
  const content = sealedDocument(document, evidence.bytes, payload.record_type);
  if (!content.ok) return content;
  const certificate = certificateAt(evidence.certificates, payload);
  if (!certificate.ok) return certificate;
  const standing = judgeStanding(trust, evidence, {
    payload,
    document,
    hash,
    key: key.value,
    content: content.value,
  });
  if (!standing.ok) return standing;
  return ok({
    format: payload.v,
    path: key.value.kind === "system" ? "A" : "B",
    key_id: payload.key_id,
    key_kind: key.value.kind,
    cert_id: payload.cert_id,
    sealed_at: payload.sealed_at,
    record_type: payload.record_type,
    ai_policy_version: payload.v === 2 ? payload.ai_policy_version : null,
    terms_version: payload.v === 1 ? payload.terms_version : null,
    leaf: bound.value,
    hash,
    checks: { certificate: "ok", ...standing.value.checks },
    sidecar: standing.value.sidecar,
  });
}

type OpenedSeal =
  | { readonly kind: "single"; readonly payload: Seal }
  | { readonly kind: "batch"; readonly payload: BatchSeal; readonly inclusion: InclusionSeal };

function openAny(seal: RecordSeal): Verdict<OpenedSeal> {
  if (seal.kind === "single") {
    const payload = openSeal(seal.envelope);
    return payload.ok ? ok({ kind: "single", payload: payload.value }) : payload;
  }
  const payload = openBatchSeal(seal.envelope);
  return payload.ok ? ok({ kind: "batch", payload: payload.value, inclusion: seal.inclusion }) : payload;
}

/** That the seal is over these bytes; for a batch, the leaf's place. */
function judgeBytes(
  trust: Trust,
  evidence: SealEvidence,
  opened: OpenedSeal,
  hash: string,
): Verdict<SealReport["leaf"]> {
  if (evidence.expectedHash !== undefined && evidence.expectedHash !== hash) return otherBytes();
  if (opened.kind === "single") return opened.payload.hash === hash ? ok(null) : otherBytes();
  const { payload, inclusion } = opened;
  const { leaf_index: index, tree_size: size } = inclusion;
  const path = inclusion.proof.map(parseHash).filter((node) => node !== null);
  const root = rootFromPath(
    { leafHash: leafHash(evidence.bytes, trust.sha256), index, treeSize: size, path },
    trust.sha256,
  );
  if (root === null || size !== payload.tree_size) {
    return refuse("inclusion_invalid", "The proof does not fit a tree of the sealed size.");
  }
  const sealed = parseHash(payload.root);
  if (sealed !== null && equalBytes(root, sealed)) return ok({ index, tree_size: size, root: payload.root });
  // The only record of a batch has no path that could be wrong.
  return size === 1
    ? otherBytes()
    : refuse("inclusion_invalid", "The proof does not lead from these bytes to the sealed root.");
}

function otherBytes(): Verdict<never> {
  return refuse("hash_mismatch", "The seal is over other bytes than these.");
}

/** Batches are sealed by systems; single records by people and hosted keys; withdrawals by any key of the business. */
function judgeKey(
  trust: Trust,
  keys: BusinessKeys,
  seal: RecordSeal,
  sealed: { readonly payload: Seal | BatchSeal; readonly document: SealedDocument },
): Verdict<BusinessKey> {
  const people = ["passkey", "hosted"] as const;
  const single = sealed.document === "withdrawal" ? ([...people, "system"] as const) : people;
  const kinds = seal.kind === "batch" ? (["system"] as const) : single;
  const key = verifySealer(trust, keys, seal.envelope, { keyId: sealed.payload.key_id, kinds });
  if (!key.ok) return key;
  return windowFault(key.value, sealed.payload.sealed_at) ?? key;
}

interface Standing {
  readonly payload: Seal | BatchSeal;
  readonly document: SealedDocument;
  readonly hash: string;
  readonly key: BusinessKey;
  readonly content: JsonObject;
}

function judgeStanding(
  trust: Trust,
  evidence: SealEvidence,
  seal: Standing,
): Verdict<{ readonly checks: Omit<SealReport["checks"], "certificate">; readonly sidecar: Sidecar | null }> {
  const { payload, hash, key, content } = seal;
  const sidecar = evidence.sidecar === undefined ? ok(null) : sidecarOf(trust, evidence, payload, hash);
  if (!sidecar.ok) return sidecar;
  const policy = judgePolicy(evidence.policies, seal, sidecar.value);
  if (!policy.ok) return policy;
  const scope = judgeScope(trust, { ...evidence, payload, key, content, sidecar: sidecar.value });
  if (!scope.ok) return scope;
  const event = judgeKeyEvent(evidence.keyEvent);
  if (!event.ok) return event;
  return ok({
    checks: { ai_policy: policy.value, scope: scope.value, key_event: event.value },
    sidecar: sidecar.value,
  });
}

function sidecarOf(
  trust: Trust,
  evidence: SealEvidence,
  seal: Seal | BatchSeal,
  hash: string,
): Verdict<Sidecar> {
  const subject = { business_uuid: evidence.keys.uuid, hash, seal };
  return verifySidecar(trust, evidence.sidecar ?? null, subject);
}

function judgePolicy(
  timeline: PolicyTimeline | undefined,
  seal: Standing,
  sidecar: Sidecar | null,
): Verdict<CheckState> {
  const { payload } = seal;
  // An AI policy's own seal names the version that it creates, and format 1 names none.
  if (payload.v === 1 || seal.document === "ai_policy") return ok("not_checked");
  if (timeline === undefined) return ok(sidecar === null ? "not_checked" : "ok");
  const atSealing = judgePolicyVersion(timeline, payload.ai_policy_version, payload.sealed_at);
  // The sealer's clock may differ from the service's by what publishing allows: what was in force when the service
  // received the seal, by its own signed word, is as good.
  const verdict =
    atSealing.ok || sidecar === null
      ? atSealing
      : judgePolicyVersion(timeline, payload.ai_policy_version, sidecar.received_at);
  return verdict.ok ? ok("ok") : verdict;
}

function judgeKeyEvent(event: SealEvidence["keyEvent"]): Verdict<CheckState> {
  if (event === undefined) return ok("not_checked");
  if (event.found) return ok("ok");
  return event.isRequired
    ? refuse("key_event_missing", "The log has no leaf of this key's registration.")
    : ok("missing");
}
