// The evidence that the service adds to what the caller of a verification holds: whose seal it is, and everything that
// the register knows about that business.

import type { BusinessCommand, MandateFacts } from "../../actors/messages/business.ts";
import type { PushCommand } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { type Envelope, openEnvelope, parseEnvelope } from "../../protocol/dsse.ts";
import { pushIdOf } from "../../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { keyAddedEntry, sealEntry, sealLeafOf } from "../../protocol/log/leaves.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import type { IndexRow } from "../../protocol/row.ts";
import { type BatchSeal, parseRecordSeal, type Seal } from "../../protocol/seal.ts";
import type { Sidecar } from "../../protocol/signed-version.ts";
import { parseWithdrawal } from "../../protocol/withdrawal.ts";
import type { LogStore } from "../../storage/log-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { verifyMandate } from "../../verifier/mandate.ts";
import { sidecarFault, verifyRowSignature, verifySidecar } from "../../verifier/row.ts";
import { openRecordSeal, type SealEvidence, verifySealMaker } from "../../verifier/seal.ts";
import type { SealVerdict } from "../../verifier/seal-report.ts";
import { adRecordType, aiPolicyRecordType, type SealedDocument } from "../../verifier/sealed-document.ts";
import type { AcceptedSeal } from "../../verifier/standing.ts";
import type { Trust } from "../../verifier/trust.ts";
import { failureAnswer } from "../failure.ts";
import { findInLog, type LogFinding } from "../log/log-reads.ts";
import type { Register } from "../register/register.ts";
import { type Standing, type Standings, statedSeal } from "../register/standing.ts";
import { findPublished } from "./published-version.ts";

/** A withdrawal document has about 120 bytes. */
const withdrawalBytesMax = 1_024;

export interface VerifyInput {
  readonly bytes: Uint8Array;
  /** The hash of the bytes. */
  readonly hash: string;
  readonly seal: JsonValue | null;
  readonly sidecar: JsonValue | null;
  readonly row: JsonObject | null;
  readonly policyBits: JsonObject | null;
  readonly keyEvents: "warn" | "require";
}

/**
 * What the caller's documents say. For a seal it is what was read; a sidecar and a row are here only if the service
 * signed them, and each may be about anything.
 */
export interface Claimed {
  readonly seal: Seal | BatchSeal | null;
  readonly sidecar: Verdict<Sidecar> | null;
  readonly row: Verdict<IndexRow> | null;
}

/** What the documents of a request say of themselves; null for those that are absent. */
export function readClaims(trust: Trust, input: VerifyInput): Claimed {
  return {
    seal: input.seal === null ? null : readSeal(input.seal),
    sidecar: input.sidecar === null ? null : verifySidecar(trust, input.sidecar),
    row: input.row === null ? null : verifyRowSignature(trust, input.row),
  };
}

function readSeal(value: JsonValue): Seal | BatchSeal | null {
  const parsed = parseRecordSeal(value);
  const opened = parsed.ok ? openRecordSeal(parsed.value) : parsed;
  return opened.ok ? opened.value.payload : null;
}

/**
 * The business that the documents are about: the one to which the sealing key is registered. The caller's other
 * documents say nothing about who sealed; they count if there is no seal.
 */
export async function findStanding(
  deps: { readonly register: Register; readonly standings: Standings },
  { seal, sidecar, row }: Claimed,
  at: string,
): Promise<Standing | null> {
  if (seal !== null) {
    const key = await deps.register.key(seal.key_id);
    return key === null ? null : deps.standings.read(key.party_uuid, at);
  }
  const uuid = heldOf(sidecar)?.business_uuid ?? heldOf(row)?.business_uuid;
  return uuid === undefined ? null : deps.standings.read(uuid, at);
}

/**
 * The evidence for {@link verifySeal}; the mandates are the one that the sidecar names, or those in force at the
 * sealing. `at` is when the verdict is given.
 */
export function sealEvidence(
  trust: Trust,
  input: VerifyInput,
  {
    claimed,
    standing,
    logged,
    at,
  }: {
    readonly claimed: Claimed;
    readonly standing: Standing;
    readonly logged: LoggedSeal;
    readonly at: string;
  },
  receipt?: SealReceipt | null,
): SealEvidence {
  const receivedAt = receipt?.received_at ?? null;
  const mandates = findMandates(trust, standing, claimed, { hash: input.hash, receivedAt });
  return {
    document: documentOf(claimed.seal, input.bytes),
    bytes: input.bytes,
    seal: input.seal,
    certificates: standing.certificates,
    keys: standing.keys,
    policies: standing.policies,
    ...(input.sidecar === null ? {} : { sidecar: input.sidecar }),
    ...(receipt === undefined ? {} : { received: { at: receivedAt } }),
    mandates: mandates.map(({ envelope, revoked_at }) => {
      return { envelope: JSON.parse(envelope) as JsonValue, revoked_at };
    }),
    keyEvent: { found: logged.keyEvent.kind === "proven", isRequired: input.keyEvents === "require" },
    judgedAt: at,
  };
}

/** No record has the form of a withdrawal document: every record names its schema. */
function documentOf(seal: Claimed["seal"], bytes: Uint8Array): SealedDocument {
  if (seal?.record_type === aiPolicyRecordType) return "ai_policy";
  if (seal?.record_type === adRecordType) return "ad";
  return bytes.length <= withdrawalBytesMax && parseWithdrawal(bytes).ok ? "withdrawal" : "record";
}

/** A hash other than that of the bytes, if every hash named by the caller's service-signed documents differs from it. */
export function otherHash({ sidecar, row }: Claimed, hash: string): string | null {
  const named = [heldOf(sidecar)?.sha256, heldOf(row)?.adl_origin].filter((each) => each !== undefined);
  return named.includes(hash) ? null : (named[0] ?? null);
}

/**
 * The seal of the version of these bytes that a sidecar or a row of the service is about, where the caller gives no seal; null for none.
 */
export async function findUnsealed(
  records: RecordStore,
  { seal, hash }: Pick<VerifyInput, "seal" | "hash">,
  { sidecar, row }: Claimed,
): Promise<AcceptedSeal | null> {
  if (seal !== null) return null;
  const stated = heldOf(sidecar);
  if (stated?.sha256 === hash) return statedSeal(stated);
  const signed = heldOf(row);
  if (signed?.adl_origin !== hash) return null;
  const published = await findPublished(records, { recordId: signed.record_id, hash, servedAtMs: null });
  return published === null ? null : statedSeal(published.sidecar);
}

function heldOf<T>(verdict: Verdict<T> | null): T | null {
  return verdict?.ok === true ? verdict.value : null;
}

function findMandates(
  trust: Trust,
  { mandates, keys }: Standing,
  { seal, sidecar }: Claimed,
  { hash, receivedAt }: { readonly hash: string; readonly receivedAt: string | null },
): readonly MandateFacts[] {
  if (seal === null) return [];
  const ofKey = mandates.filter((mandate) => mandate.key_id === seal.key_id);
  const stated = heldOf(sidecar);
  if (stated !== null && sidecarFault(stated, { hash, seal }) === null) {
    // If this register has not heard of that mandate, its authority is what the sidecar states.
    return ofKey.filter((mandate) => mandate.mandate_id === stated.scope.mandate_id);
  }
  return mandatesThen(trust, { mandates, keys }, { ...seal, receivedAt });
}

/**
 * The mandates under which a system may have sealed, where no sidecar names one: those that publishing went by then, the newest first.
 * None for a key without any.
 */
export function mandatesThen(
  trust: Trust,
  { mandates, keys }: Pick<Standing, "mandates" | "keys">,
  {
    receivedAt,
    ...seal
  }: Pick<Seal | BatchSeal, "key_id" | "sealed_at"> & { readonly receivedAt: string | null },
): readonly MandateFacts[] {
  const ofKey = mandates.filter((mandate) => mandate.key_id === seal.key_id);
  const covers = ({ valid_from: from, valid_until: until, revoked_at: revoked }: MandateFacts): boolean =>
    from <= seal.sealed_at && seal.sealed_at < until && (revoked === null || seal.sealed_at < revoked);
  // Any that covered the sealing and stands may allow it (F1 in register/find-mandate.ts).
  const stands = ({ envelope }: MandateFacts): boolean =>
    verifyMandate(trust, keys, JSON.parse(envelope) as JsonValue).ok;
  const newestFirst = ofKey.toSorted((a, b) => (a.valid_from < b.valid_from ? 1 : -1));
  // A mandate that the register accepted later, whenever it starts, was not the one that publishing used.
  const wasKnown = ({ accepted_at: at }: MandateFacts): boolean => at <= (receivedAt ?? seal.sealed_at);
  const [known, later] = [newestFirst.filter(wasKnown), newestFirst.filter((each) => !wasKnown(each))];
  const covering = [...known, ...later].filter(covers);
  if (covering.length < 2) return covering.length === 0 ? newestFirst.slice(0, 1) : covering;
  // What is said of a record that none allows is the reason of the first.
  return [...covering.filter(stands), ...covering.filter((each) => !stands(each))];
}

// What the transparency log has of a seal: the seal itself, and the registration of the key that made it.

export interface LoggedSeal {
  readonly seal: LogFinding;
  readonly keyEvent: LogFinding;
}

const absent: LoggedSeal = { seal: { kind: "absent" }, keyEvent: { kind: "absent" } };

/** The log is asked about a seal as it was given, whatever else is wrong with it: other signatures make it another leaf. */
export async function findLoggedSeal(
  { logStore: log, trust }: RequestServices,
  input: Pick<VerifyInput, "seal">,
  { claimed, standing }: { readonly claimed: Claimed; readonly standing: Standing | null },
): Promise<LoggedSeal> {
  const parsed = input.seal === null ? null : parseRecordSeal(input.seal);
  if (standing === null || claimed.seal === null || parsed?.ok !== true) return absent;
  const { sha256 } = trust;
  const [seal = absent.seal, keyEvent = absent.keyEvent] = await findInLog(log, trust, [
    sealEntry(standing.uuid, sealLeafOf(parsed.value.envelope, sha256)),
    keyAddedEntry(standing.uuid, claimed.seal.key_id, sha256),
  ]);
  return { seal, keyEvent };
}

// What the service itself received of a seal, and when: until there is a transparency log, nothing else distinguishes a
// genuine old seal from one made today with a stolen key.
//   R1. A seal is identified by its signed payload. For a batch that was received, every leaf was sealed, whatever
//       became of it.
//   R2. Nothing is looked up for a seal that the business did not make.
//   R3. Where the answer decides whether a seal is valid, failing to reach the source is an error: it never counts as
//       «not received».

/** What one verification is judged with: one trust, even if the key set changes in the meantime. */
export interface RequestServices extends Platform, Actors {
  readonly trust: Trust;
  readonly register: Register;
  readonly standings: Standings;
  readonly records: RecordStore;
  readonly logStore: LogStore;
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
  deps: RequestServices,
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
  deps: RequestServices,
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
  { register }: RequestServices,
  { keys }: SealEvidence,
  { payload }: Envelope,
): Promise<SealReceipt | null> {
  const policies = await register.policies(keys.uuid);
  const known = policies.find((policy) => {
    const sealed = parseEnvelope(JSON.parse(policy.seal));
    return sealed.ok && sealed.value.payload === payload;
  });
  return known === undefined ? null : { received_at: known.live_from, isPublished: true };
}

async function removalReceipt(
  { trust, actors }: RequestServices,
  { keys, bytes }: SealEvidence,
  { payload }: Envelope,
): Promise<SealReceipt | null> {
  const read: BusinessCommand = { type: "removal.read", document_hash: hashOf(bytes, trust.sha256) };
  const { removal } = await actors.ask(businessRef(keys.uuid), read, { timeoutMs: askMs });
  const sealed = removal === null ? null : parseEnvelope(JSON.parse(removal.seal));
  if (removal === null || sealed?.ok !== true || sealed.value.payload !== payload) return null;
  return { received_at: removal.received_at, isPublished: true };
}

async function pushReceipt(
  { trust, actors }: RequestServices,
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
