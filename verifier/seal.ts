// Seals: that a business published exactly these bytes, with a key of its own, under its certificate, its AI policy and
// the authority of that key, all as they were when it sealed.
// {@link verifySeal} proceeds in this order, and the first failed check is the reason (specification, «Errors»):
//   1. The seal is read, with its payload, which says what was sealed and when: `openRecordSeal`.
//   2. The bytes are those that it covers: their hash, or the path from their leaf to the sealed root: `judgeBytes`.
//   3. A key of the business signed it within the key's window, and before the key was compromised: `judgeKey`, `ageFault`.
//   4. The bytes are a document of the record type that the seal names: `sealedDocument`.
//   5. The certificate, the AI policy version, the scope and the key event are in order: `judgeStanding`.
//   6. A sidecar is evidence for 3 and 5 if it is valid and concerns these bytes under this seal: `sidecarOf`.
//   Every check is made as of the moment of sealing; later events change nothing unless they are declared to be
//   retroactive (a revocation's effective date) or cast doubt on that moment (a key's `compromised_from`, see
//   standing.ts).

import { equalBytes, hashOf, parseHash } from "../protocol/bytes.ts";
import { parseObject } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKey, BusinessKeys } from "../protocol/keys/business-keys.ts";
import { windowFault } from "../protocol/keys/signatures.ts";
import { sealedAtSkewMs } from "../protocol/limits.ts";
import { scopeAllows } from "../protocol/mandate.ts";
import { leafHash, rootFromPath } from "../protocol/merkle.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import { ok, type Refusal, refuse } from "../protocol/result.ts";
import {
  type BatchSeal,
  type InclusionSeal,
  openBatchSeal,
  openSeal,
  parseRecordSeal,
  type RecordSeal,
  type Seal,
} from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/signed-version.ts";
import { verifySealer } from "./business-keys.ts";
import { certificateAt, type Issuances, instantOf, withheldFault } from "./certificate.ts";
import { mandateEndFault, verifyMandate } from "./mandate.ts";
import { judgePolicyRecord, judgePolicyVersion, type PolicyTimeline } from "./policy-timeline.ts";
import { verifySidecar } from "./row.ts";
import {
  type CheckState,
  nothingChecked,
  type OpenedSeal,
  type SealChecks,
  type SealVerdict,
  sealClaims,
} from "./seal-report.ts";
import { type SealedDocument, sealedDocument } from "./sealed-document.ts";
import { ageFault } from "./standing.ts";
import type { Trust } from "./trust.ts";

export interface SealEvidence {
  /** What the bytes are (default: a record). */
  readonly document?: SealedDocument;
  /** The exact bytes that were sealed. */
  readonly bytes: Uint8Array;
  /** An envelope, or for a pushed record `{batch_seal, leaf_index, tree_size, proof[]}`; parsed JSON. */
  readonly seal: JsonValue;
  /** The verified issuances, complete back to the certificate that the seal names. */
  readonly certificates: Issuances;
  /** The verified keys of the business. */
  readonly keys: BusinessKeys;
  /**
   * The hash of the record, learned from another verified source: if the path does not lead to the root, it
   * distinguishes altered bytes (`hash_mismatch`) from a wrong path (`inclusion_invalid`). On its own it never refuses a
   * seal.
   */
  readonly expectedHash?: string;
  /**
   * The mandates of an integration key; empty if it is known never to have had one, or not the one that the sidecar names.
   */
  readonly mandates?: readonly MandateEvidence[];
  /** The sidecar envelope; see {@link verifySeal} for when it counts. */
  readonly sidecar?: JsonValue;
  /** If absent, the AI policy version is compared only with the sidecar. */
  readonly policies?: PolicyTimeline;
  /** When the service received the seal according to its own records, null if it never did; absent if it was not asked. */
  readonly received?: { readonly at: string | null };
  /** Whether the log has the leaf of the sealing key's registration; absent if the log was not asked. */
  readonly keyEvent?: { readonly found: boolean; readonly isRequired: boolean };
  /**
   * When the verdict is given. A seal from more than five minutes later is refused with `certificate_not_in_force`: nobody
   * knows what will be in force then. If absent, nothing is compared with the present.
   */
  readonly judgedAt?: string;
}

/**
 * Verifies a seal over bytes with the given evidence, in the order above. A refusal has the reason, and the same named checks
 * as a verdict, each with the value that it has whatever else failed.
 */
export function verifySeal(trust: Trust, evidence: SealEvidence): SealVerdict {
  const parsed = parseRecordSeal(evidence.seal);
  if (!parsed.ok) return { ...parsed, claimed: null, checks: nothingChecked };
  const opened = openRecordSeal(parsed.value);
  if (!opened.ok) return { ...opened, claimed: null, checks: nothingChecked };
  return judgeSeal(trust, evidence, { seal: parsed.value, opened: opened.value });
}

/**
 * The evidence with the hash of the record as a sidecar that the service signed names it, unless another source was given. It
 * only decides which reason a wrong path has.
 */
export function withStatedHash(trust: Trust, evidence: SealEvidence): SealEvidence {
  if (evidence.expectedHash !== undefined || evidence.sidecar === undefined) return evidence;
  const stated = verifySidecar(trust, evidence.sidecar);
  return stated.ok ? { ...evidence, expectedHash: stated.value.sha256 } : evidence;
}

/**
 * Whether a key of the business made a seal, regardless of the bytes it covers: checks the key, its signature and its
 * window.
 */
export function verifySealMaker(
  trust: Trust,
  { keys, document = "record" }: Pick<SealEvidence, "keys" | "document">,
  seal: RecordSeal,
): Verdict<BusinessKey> {
  const opened = openRecordSeal(seal);
  return opened.ok
    ? judgeKey(trust, keys, seal, {
        payload: opened.value.payload,
        document,
        by: opened.value.payload.sealed_at,
      })
    : opened;
}

/** Reads the payload of a seal of either kind without judging it. */
export function openRecordSeal(seal: RecordSeal): Verdict<OpenedSeal> {
  if (seal.kind === "single") {
    const payload = openSeal(seal.envelope);
    return payload.ok ? ok({ kind: "single", payload: payload.value }) : payload;
  }
  const payload = openBatchSeal(seal.envelope);
  return payload.ok ? ok({ kind: "batch", payload: payload.value, inclusion: seal.inclusion }) : payload;
}

interface Opened {
  readonly seal: RecordSeal;
  readonly opened: OpenedSeal;
}

function judgeSeal(trust: Trust, evidence: SealEvidence, { seal, opened }: Opened): SealVerdict {
  const { payload } = opened;
  const { document = "record", bytes } = evidence;
  const hash = hashOf(bytes, trust.sha256);
  const bound = judgeBytes(trust, evidence, opened, hash);
  const sidecar = sidecarOf(trust, evidence, opened, bound.ok ? hash : null);
  const stated = sidecar?.ok ? sidecar.value.received_at : null;
  // A seal that has been received must already have been made: a fast clock writes a later sealed_at, and whatever ended
  // in between does not affect the seal. Only evidence visible to everyone counts; otherwise a seal could be accepted
  // that nobody else can verify.
  const by = stated !== null && stated < payload.sealed_at ? stated : payload.sealed_at;
  const key = judgeKey(trust, evidence.keys, seal, { payload, document, by });
  const age = key.ok ? ageFault(key.value, { stated, received: evidence.received }) : null;
  const content = sealedDocument(document, bytes, payload.record_type);
  const { checks, fault } = judgeStanding(trust, evidence, {
    payload,
    document,
    by,
    sidecar: sidecar?.ok ? sidecar.value : null,
    content: bound.ok && !content.ok ? parseObject(bytes) : bound.ok ? content : bound,
  });
  const refusal = [bound, key, age, content].find((each) => each?.ok === false) ?? fault;
  if (refusal?.ok === false) return { ...refusal, claimed: sealClaims(opened), checks };
  if (!key.ok) throw new Error("A seal without a fault has a key.");
  return ok({
    ...sealClaims(opened),
    path: key.value.kind === "system" ? "A" : "B",
    key_kind: key.value.kind,
    hash,
    checks,
    sidecar,
  });
}

/** Checks that the seal covers these bytes; for a batch, that the path leads from them to the sealed root. */
function judgeBytes(trust: Trust, evidence: SealEvidence, opened: OpenedSeal, hash: string): Verdict<void> {
  if (opened.kind === "single") {
    return opened.payload.hash === hash ? ok(undefined) : otherBytes();
  }
  const { payload, inclusion } = opened;
  const { tree_size: size } = inclusion;
  const leaf = leafHash(evidence.bytes, trust.sha256);
  if (size === payload.tree_size && leadsToRoot(trust, { payload, inclusion }, leaf)) return ok(undefined);
  // The only record of a batch has no path that could be wrong.
  if (size === 1 && payload.tree_size === 1 && inclusion.leaf_index === 0 && inclusion.proof.length === 0)
    return otherBytes();
  return evidence.expectedHash === undefined || evidence.expectedHash === hash
    ? refuse("inclusion_invalid", "The path does not lead from these bytes to the sealed root.")
    : refuse(
        "hash_mismatch",
        "The path does not lead from these bytes to the sealed root, and the record is known with other bytes.",
      );
}

/** Whether the path of a record seal leads from a leaf hash to the root that the batch seal covers. */
export function leadsToRoot(
  trust: Pick<Trust, "sha256">,
  { payload, inclusion }: { readonly payload: BatchSeal; readonly inclusion: InclusionSeal },
  leaf: Uint8Array,
): boolean {
  const path = inclusion.proof.map(parseHash).filter((node) => node !== null);
  const { leaf_index: index, tree_size: treeSize } = inclusion;
  const root = rootFromPath({ leafHash: leaf, index, treeSize, path }, trust.sha256);
  const sealed = parseHash(payload.root);
  return root !== null && sealed !== null && equalBytes(root, sealed);
}

function otherBytes(): Verdict<never> {
  return refuse("hash_mismatch", "The seal is over other bytes than these.");
}

/**
 * Batches are sealed by systems, single records by people and hosted keys, and withdrawals by any key of the business. No key
 * seals a batch of ads.
 */
function judgeKey(
  trust: Trust,
  keys: BusinessKeys,
  seal: RecordSeal,
  sealed: { readonly payload: Seal | BatchSeal; readonly document: SealedDocument; readonly by: string },
): Verdict<BusinessKey> {
  const people = ["passkey", "hosted"] as const;
  const single = sealed.document === "withdrawal" ? ([...people, "system"] as const) : people;
  const isOfAds = (["ad", "campaign", "ad_product"] as readonly SealedDocument[]).includes(sealed.document);
  const inBatches = isOfAds ? [] : (["system"] as const);
  const kinds = seal.kind === "batch" ? inBatches : single;
  const key = verifySealer(trust, keys, seal.envelope, { keyId: sealed.payload.key_id, kinds });
  if (!key.ok) return key;
  return windowFault(key.value, sealed.payload.sealed_at, sealed.by) ?? key;
}

interface Standing {
  readonly payload: Seal | BatchSeal;
  readonly document: SealedDocument;
  /** The instant by which the seal was made. */
  readonly by: string;
  /** A sidecar that counts as evidence. */
  readonly sidecar: Sidecar | null;
  /** What was sealed; refused if that is not at hand. */
  readonly content: Verdict<JsonObject>;
}

/** The named checks, each on its own: by what the seal says of itself, and the key that it names. */
function judgeStanding(
  trust: Trust,
  evidence: SealEvidence,
  seal: Standing,
): { readonly checks: SealChecks; readonly fault: Refusal<ReasonCode> | null } {
  const { payload, sidecar, by } = seal;
  const isAhead = isFromLater(payload, evidence.judgedAt);
  const certificate =
    withheldFault(evidence.certificates, evidence.keys) ??
    (isAhead
      ? fromLater()
      : certificateAt(evidence.certificates, payload, by, { mayBeEnded: seal.document === "withdrawal" }));
  const policy = judgePolicy(evidence.policies, seal);
  const key = evidence.keys.keys.find(({ key_id: id }) => id === payload.key_id);
  const content = seal.content.ok ? seal.content.value : null;
  const scope =
    key === undefined
      ? ok("not_checked" as const)
      : judgeScope(trust, { ...evidence, payload, key, content, sidecar, by });
  const event = judgeKeyEvent(evidence.keyEvent);
  return {
    checks: {
      certificate: certificate.ok ? "ok" : "failed",
      ai_policy: stateOf(policy, isAhead),
      scope: stateOf(scope, isAhead),
      key_event: event.ok ? event.value : "missing",
    },
    fault: [certificate, policy, scope, event].find((each) => !each.ok) ?? null,
  };
}

function isFromLater({ sealed_at: at }: Seal | BatchSeal, judgedAt: string | undefined): boolean {
  return judgedAt !== undefined && instantOf(at) > instantOf(judgedAt) + sealedAtSkewMs;
}

function fromLater(): Refusal<ReasonCode> {
  const detail =
    "The seal says that it is made more than five minutes from now; what is in force then is not known yet.";
  return refuse("certificate_not_in_force", detail);
}

/** What is in order now may not be so at a later moment. */
function stateOf(verdict: Verdict<"ok" | "not_checked">, isAhead: boolean): "ok" | "not_checked" | "failed" {
  if (!verdict.ok) return "failed";
  return isAhead ? "not_checked" : verdict.value;
}

/**
 * The sidecar, if it concerns this seal over the bytes with this hash. Where the bytes are not the sealed ones, it counts
 * for the seal alone, about the bytes that the seal itself names: what else is said of the seal is not to depend on the
 * bytes that somebody put beside it.
 */
function sidecarOf(
  trust: Trust,
  { sidecar, keys }: SealEvidence,
  { kind, payload }: OpenedSeal,
  hash: string | null,
): Verdict<Sidecar> | null {
  if (sidecar === undefined) return null;
  const sealed = kind === "single" ? payload.hash : null;
  const about = hash ?? sealed;
  return verifySidecar(trust, sidecar, {
    business_uuid: keys.uuid,
    seal: payload,
    ...(about === null ? {} : { hash: about }),
  });
}

function judgePolicy(timeline: PolicyTimeline | undefined, seal: Standing): Verdict<"ok" | "not_checked"> {
  const { payload, sidecar } = seal;
  if (seal.document === "ai_policy") return judgeOwnVersion(timeline, payload);
  // Format 1 names none.
  if (payload.v === 1) return ok("not_checked");
  if (timeline === undefined) return ok(sidecar === null ? "not_checked" : "ok");
  const atSealing = judgePolicyVersion(timeline, payload.ai_policy_version, payload.sealed_at);
  // The sealer's clock may differ from the service's by the skew that publishing allows, so the version in force when
  // the service received the seal, according to its own signed statement, is equally acceptable.
  const verdict =
    atSealing.ok || sidecar === null
      ? atSealing
      : judgePolicyVersion(timeline, payload.ai_policy_version, sidecar.received_at);
  return verdict.ok ? ok("ok") : verdict;
}

/** An AI policy's own seal names the version that it creates, which only the register can tell from another of that number. */
function judgeOwnVersion(
  timeline: PolicyTimeline | undefined,
  payload: Seal | BatchSeal,
): Verdict<"ok" | "not_checked"> {
  if (timeline?.records === undefined || !("hash" in payload)) return ok("not_checked");
  const version = payload.v === 1 ? null : payload.ai_policy_version;
  const verdict = judgePolicyRecord(timeline.records, { version, hash: payload.hash });
  return verdict.ok ? ok("ok") : verdict;
}

function judgeKeyEvent(event: SealEvidence["keyEvent"]): Verdict<CheckState> {
  if (event === undefined) return ok("not_checked");
  if (event.found) return ok("ok");
  return event.isRequired
    ? refuse("key_event_missing", "The log has no leaf of this key's registration.")
    : ok("missing");
}

// Scope: whether the key was authorised to publish what it sealed.

export interface ScopeEvidence {
  readonly payload: Seal | BatchSeal;
  readonly key: BusinessKey;
  readonly keys: BusinessKeys;
  /** The instant by which the seal was made: the earlier of `sealed_at` and the time it was received. */
  readonly by: string;
  /** The sealed record, used for its countries; null if it is not at hand. */
  readonly content: JsonObject | null;
  readonly mandates?: readonly MandateEvidence[];
  /** The verified sidecar. */
  readonly sidecar: Sidecar | null;
}

/** A mandate envelope of the sealing key, and when it was revoked. */
interface MandateEvidence {
  readonly envelope: JsonValue;
  readonly revoked_at: string | null;
}

/**
 * Judges the authority of the sealing key. For an integration key it is a mandate or, where none is available,
 * what the service stated in the sidecar; a passkey and a hosted key seal in their own right. Of several mandates, one has to
 * allow the record alone: the one that the sidecar names or, without a sidecar, any of them. Refuses with
 * `out_of_scope` and the reasons of a mandate, those of the first one if there are several. Without either piece of evidence the state is `not_checked`, or it is refused if
 * there is known never to have been a mandate; it is `not_checked` too under a mandate that covers the rest if neither the
 * record nor a sidecar shows the countries.
 */
function judgeScope(trust: Trust, evidence: ScopeEvidence): Verdict<"ok" | "not_checked"> {
  const { payload, key, sidecar, content } = evidence;
  if (sidecar !== null) {
    const stated = judgeStatement(sidecar, payload, key);
    if (!stated.ok) return stated;
  }
  if (key.kind !== "system") return ok("ok");
  if (evidence.mandates === undefined) return ok(sidecar === null ? "not_checked" : "ok");
  let refusal: Verdict<never> | null = null;
  for (const mandate of evidence.mandates) {
    const allowed = judgeUnder(trust, evidence, mandate);
    // Without the record, whether its countries are covered is only what the service stated.
    if (allowed.ok) return ok(content === null && sidecar === null ? "not_checked" : "ok");
    refusal ??= allowed;
  }
  if (refusal !== null) return refusal;
  return sidecar === null ? outOfScope("No mandate was ever given to the key.") : ok("ok");
}

function judgeUnder(
  trust: Trust,
  evidence: ScopeEvidence,
  { envelope, revoked_at: revokedAt }: MandateEvidence,
): Verdict<void> {
  const { payload, sidecar, content } = evidence;
  const mandate = verifyMandate(trust, evidence.keys, envelope);
  if (!mandate.ok) return mandate;
  const ended = mandateEndFault(revokedAt, evidence.by);
  if (ended !== null) return ended;
  if (sidecar !== null && sidecar.scope.mandate_id !== mandate.value.mandate_id) {
    return outOfScope("The record was published under another mandate.");
  }
  return scopeAllows(mandate.value, {
    business_uuid: evidence.keys.uuid,
    key_id: payload.key_id,
    record_type: payload.record_type,
    countries: content === null ? [] : countriesOf(content),
    at: payload.sealed_at,
    by: evidence.by,
  });
}

const basisOf = { system: "mandate", passkey: "role", hosted: "standard_publishing" } as const;

function judgeStatement(
  { scope, path }: Sidecar,
  payload: Seal | BatchSeal,
  key: BusinessKey,
): Verdict<void> {
  const fits =
    scope.kind === key.kind &&
    scope.basis === basisOf[key.kind] &&
    path === (key.kind === "system" ? "A" : "B");
  if (!fits) return outOfScope("The sidecar states another kind of authority than the key has.");
  const allowed = scope.permissions.includes(`publish:${payload.record_type}`);
  return allowed
    ? ok(undefined)
    : outOfScope(`The sidecar does not state a permission to publish ${payload.record_type}.`);
}

/** The countries for which a record is published; every record type lists them. */
function countriesOf(record: JsonObject): readonly string[] {
  const { countries } = record;
  return Array.isArray(countries)
    ? (countries as readonly JsonValue[]).filter((item) => typeof item === "string")
    : [];
}

function outOfScope(detail: string): Verdict<never> {
  return refuse("out_of_scope", detail);
}
