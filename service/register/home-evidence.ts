// What the home of a business knows about it now, in the form in which the verifier judges evidence. Publishing and all
// verifiers therefore judge a seal by the same functions; a copy of the register elsewhere may be some seconds behind.

import type {
  BusinessCommand,
  CertificateFacts,
  KeyFacts,
  PublishingFacts,
} from "../../actors/messages/business.ts";
import type { KeyRole } from "../../actors/messages/party.ts";
import { bindsBusiness } from "../../actors/messages/party.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { CryptoPort } from "../../crypto/port.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { type Envelope, openStored } from "../../protocol/dsse.ts";
import { formatTimestamp, isKeyId, parseTimestamp } from "../../protocol/identifiers.ts";
import type { BusinessKey, BusinessKeys } from "../../protocol/keys/business-keys.ts";
import { type Certificate, openCertificate } from "../../protocol/keys/certificate.ts";
import { windowFault } from "../../protocol/keys/signatures.ts";
import { sealedAtSkewMs } from "../../protocol/limits.ts";
import { type Mandate, scopeAllows } from "../../protocol/mandate.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import { ownNames } from "../../protocol/records/company-name-rule.ts";
import { assignedNames, type ContentLists } from "../../protocol/records/name-index.ts";
import { ok, type Refusal, type Result, refuse } from "../../protocol/result.ts";
import type { BatchSealV2, SealV2 } from "../../protocol/seal.ts";
import { verifySealer } from "../../verifier/business-keys.ts";
import { type CertificateStanding, certificateAt, type Issuances } from "../../verifier/certificate.ts";
import { judgePolicyVersion, type PolicyTimeline } from "../../verifier/policy-timeline.ts";
import type { Trust } from "../../verifier/trust.ts";
import { type Refused, type SealReason, sealRefused } from "../answer.ts";

type InForce = NonNullable<PublishingFacts["certificate"]>;

/** The issuances of one party, newest first, in the form in which seals are judged by them. */
export function issuancesOf(newestFirst: readonly InForce[]): Issuances {
  return {
    issuances: newestFirst.map((each) => ({ certId: each.cert_id, certificate: standingOf(each) })),
  };
}

/**
 * Maximum number of issuances of one party to walk through to find one; there are only a few, one for each change of its
 * standing.
 */
const issuancesMax = 1_000;

/** The existing register entries, by `table/key`. */
export async function readEntries(
  actors: ActorSystem,
  uuid: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const command: BusinessCommand = { type: "register.read", keys };
  const { entries } = await actors.ask(businessRef(uuid), command);
  return new Map(entries.map((entry) => [`${entry.table}/${entry.key}`, entry.body]));
}

/** One entry of a party's register as the party's actor has it, which may be ahead of every region's; null if there is none. */
export async function readEntry<T>(actors: ActorSystem, uuid: string, name: string): Promise<T | null> {
  return (await readNumbered<T>(actors, uuid, name)).facts;
}

/** Like {@link readEntry}, with the number of the entry's last change, which is 0 where there is none. */
export async function readNumbered<T>(
  actors: ActorSystem,
  uuid: string,
  name: string,
): Promise<{ readonly facts: T | null; readonly change: number }> {
  const command: BusinessCommand = { type: "register.read", keys: [name] };
  const [entry] = (await actors.ask(businessRef(uuid), command)).entries;
  return entry === undefined
    ? { facts: null, change: 0 }
    : { facts: JSON.parse(entry.body) as T, change: entry.change };
}

/** The key that an envelope names as its signer, if the business has it. It proves nothing yet. */
export async function readSigner(
  actors: ActorSystem,
  uuid: string,
  envelope: Envelope,
): Promise<KeyFacts | null> {
  const keyId = envelope.signatures[0]?.keyid ?? "";
  return isKeyId(keyId) ? await readEntry<KeyFacts>(actors, uuid, `key/${keyId}`) : null;
}

/** The content of an issuance; null if the party has none with this id. */
export async function readCertificate(
  actors: ActorSystem,
  uuid: string,
  certId: string,
): Promise<Certificate | null> {
  const facts = await readEntry<CertificateFacts>(actors, uuid, `certificate/${certId}`);
  return facts && certificateOf(facts);
}

/** The certificate in force is not the one that the sender of an act saw. */
export function otherCertificate(inForce: string | null): Refusal<"changed"> {
  return refuse("changed", `Another certificate is in force by now: ${inForce ?? "none"}.`);
}

/**
 * The newest issuance and, if a seal names another one, all those back to it: what came in between decides whether the
 * seal is valid. If the party never had the one named, it is absent.
 */
export async function readIssuances(
  actors: ActorSystem,
  uuid: string,
  inForce: InForce | null,
  named: string,
): Promise<Issuances> {
  if (inForce === null) return { issuances: [] };
  const issuances = [{ certId: inForce.cert_id, certificate: standingOf(inForce) }];
  if (named === inForce.cert_id) return { issuances };
  let next: string | null = inForce.cert_id;
  while (next !== null && issuances.length <= issuancesMax) {
    const facts: CertificateFacts | null = await readEntry(actors, uuid, `certificate/${next}`);
    if (facts === null) break;
    if (next !== inForce.cert_id) issuances.push({ certId: next, certificate: standingOf(facts) });
    next = next === named ? null : previousOf(facts);
  }
  return { issuances };
}

function previousOf(facts: CertificateFacts): string | null {
  return readableCertificate(facts)?.previous ?? null;
}

/** What a stored certificate says. Throws for one that cannot be read, since it was read before it was stored. */
export function certificateOf(facts: Pick<CertificateFacts, "cert_id" | "envelope">): Certificate {
  const certificate = readableCertificate(facts);
  if (certificate === null) throw new Error(`The stored certificate ${facts.cert_id} cannot be read.`);
  return certificate;
}

function readableCertificate({ envelope }: Pick<CertificateFacts, "envelope">): Certificate | null {
  const issued = openStored(envelope, openCertificate);
  return issued.ok ? issued.value.certificate : null;
}

function standingOf({
  status,
  status_effective_from,
  status_reason,
  issued_at,
}: InForce): CertificateStanding {
  return { status, status_effective_from, issued_at, ...(status_reason === null ? {} : { status_reason }) };
}

/** The AI policy version in force, without earlier ones: publishing accepts no other. */
export function timelineOf({ version, live_from }: PublishingFacts["policy"]): PolicyTimeline {
  return { versions: live_from === null ? [] : [{ version, live_from }], isComplete: true };
}

// The published keys of a business: every key that ever sealed for it, with the instants that bound it (specification,
// «Published keys of a business»). Keys that only read or search are not included.

const sealers: Readonly<Partial<Record<KeyRole, Pick<BusinessKey, "purpose" | "kind">>>> = {
  integration: { purpose: "integration", kind: "system" },
  sealing: { purpose: "sealing", kind: "passkey" },
  hosted: { purpose: "sealing", kind: "hosted" },
};

/** The payload that the statement key signs; oldest key first. */
export function publishedKeys(facts: {
  readonly uuid: string;
  readonly certId: string;
  readonly issuedAt: string;
  readonly keys: readonly KeyFacts[];
}): BusinessKeys {
  return {
    v: 1,
    uuid: facts.uuid,
    cert_id: facts.certId,
    issued_at: facts.issuedAt,
    keys: facts.keys.flatMap((key) => publishedKey(key) ?? []).sort(byAge),
  };
}

/** The keys of a business in published form, unsigned. */
export function keysOf(uuid: string, keys: readonly (KeyFacts | null)[]): BusinessKeys {
  const known = keys.filter((key) => key !== null);
  return publishedKeys({ uuid, certId: "", issuedAt: "", keys: known });
}

function publishedKey(key: KeyFacts): BusinessKey | null {
  const sealer = sealers[key.role];
  if (sealer === undefined) return null;
  return {
    key_id: key.key_id,
    ...sealer,
    public_key: key.public_key,
    ...(key.cose === null ? {} : { cose: key.cose }),
    valid_from: key.valid_from,
    valid_until: key.valid_until,
    revoked_at: key.revoked_at,
    compromised_from: key.compromised_from,
  };
}

function byAge(a: BusinessKey, b: BusinessKey): number {
  const [left, right] = [`${a.valid_from} ${a.key_id}`, `${b.valid_from} ${b.key_id}`];
  return left < right ? -1 : left > right ? 1 : 0;
}

// What only the service knows about a sealing key: whether it is live now, and who holds it. Verifiers judge the key as
// it was at sealing, and are never informed about persons.

/** A revoked key takes part in nothing new, whatever it sealed before; nor does one that is not valid now. */
export function judgeLive(key: KeyFacts, nowMs: number): Result<void, "key_not_valid" | "key_compromised"> {
  if (key.revoked_at !== null || key.compromised_from !== null)
    return refuse("key_not_valid", "The seal's key was revoked.");
  return windowFault(key, formatTimestamp(nowMs)) ?? ok(undefined);
}

/** Like {@link judgeLive}, for a seal that binds the whole business: a mandate or an AI policy. */
export function mayBind(
  key: KeyFacts,
  nowMs: number,
): Result<void, "key_not_valid" | "key_compromised" | "role_not_allowed"> {
  const live = judgeLive(key, nowMs);
  if (!live.ok || bindsBusiness(key)) return live;
  return refuse("role_not_allowed", "Only an owner or admin may seal what binds the business.");
}

// A seal that the service has accepted before, presented again: to ask for its outcome, a caller shows a seal of the
// business over the same bytes; what is in force now does not matter.

export interface Sealed {
  readonly seal: SealV2;
  /** The key that the envelope names as its signer, if the business has it. */
  readonly key: KeyFacts | null;
}

/** The kinds of key that may seal a single record. */
const aloneSealers = ["passkey", "hosted"] as const;

/** Judges again the seal of a document that was accepted before: its bytes, its key and its signature. */
export function judgeKnown(
  { crypto, trust }: { readonly crypto: CryptoPort; readonly trust: () => Trust },
  shown: { readonly uuid: string; readonly record: Uint8Array; readonly envelope: Envelope },
  { seal, key }: Sealed,
): Verdict<unknown> {
  if (seal.hash !== hashOf(shown.record, crypto.sha256)) {
    return refuse("hash_mismatch", "The seal covers other bytes.");
  }
  const rule = { keyId: seal.key_id, kinds: aloneSealers };
  return verifySealer(trust(), keysOf(shown.uuid, [key]), shown.envelope, rule);
}

// Whether a seal is valid when it is received: in time, and by a key, a certificate, an AI policy and a mandate in
// force. Pure: it judges what the home actor reported.
//   J1. Whatever a verifier judges is judged by the verifier's own functions, in their order, so that what is published
//       verifies, and what is refused for its seal is refused by everybody with the same reason.
//   J2. What only the receiver of a seal can know (when it arrived, what was in force then) is refused in addition, and
//       reported as such.

export interface StandingQuestion {
  readonly facts: PublishingFacts;
  /** The certificates of the business, as far back as the seal needs. */
  readonly issuances: Issuances;
  readonly mandate: Mandate;
  readonly key: KeyFacts;
  readonly nowMs: number;
}

/**
 * Judges the seal as of the moment of sealing: its key, certificate, AI policy version and mandate. Done only for a push
 * that was not accepted before. Verifiers judge the seal by `sealed_at`, so what was not in force then is refused even
 * if it is now.
 */
export function checkStanding(seal: BatchSealV2, question: StandingQuestion): Refused | null {
  const judged = judgeStanding(seal, question);
  return judged.ok ? null : standingRefused(judged, question.facts, "Seal the batch again.");
}

/** The refusal of a seal that is not in force, naming what is in force instead. */
export function standingRefused(
  { code, detail }: Refusal<SealReason>,
  facts: PublishingFacts,
  advice: string,
): Refused {
  return sealRefused(code, `${detail} ${advice}`, {
    ...(isAboutCertificate(code) && facts.certificate ? { cert_id: facts.certificate.cert_id } : {}),
    ...(code === "ai_policy_version_mismatch" ? { ai_policy_version: facts.policy.version } : {}),
  });
}

function isAboutCertificate(code: SealReason): boolean {
  return (
    code === "certificate_not_in_force" || code === "certificate_unknown" || code === "certificate_withdrawn"
  );
}

function judgeStanding(seal: BatchSealV2, question: StandingQuestion): Result<unknown, SealReason> {
  const { facts, issuances, mandate, key, nowMs } = question;
  const inTime = receivedInTime(seal, nowMs);
  if (!inTime.ok) return inTime;
  const fault = windowFault(key, seal.sealed_at);
  if (fault !== null) return fault;
  const certificate = certificateAt(issuances, seal);
  if (!certificate.ok) return certificate;
  const policy = judgePolicyVersion(timelineOf(facts.policy), seal.ai_policy_version, seal.sealed_at);
  if (!policy.ok) return policy;
  const scope = scopeAllows(mandate, {
    business_uuid: key.party_uuid,
    key_id: seal.key_id,
    record_type: seal.record_type,
    // Judged for each record separately, when it is published.
    countries: [],
    at: seal.sealed_at,
  });
  return scope.ok ? namesWhatIsInForce(seal, facts) : scope;
}

/** Everyone judges by `sealed_at`, so it cannot be chosen freely: it must be close to when the seal was received. */
export function receivedInTime(
  seal: { readonly sealed_at: string },
  nowMs: number,
): Result<void, "sealed_at_skew"> {
  const sealedAt = parseTimestamp(seal.sealed_at);
  return sealedAt !== null && Math.abs(nowMs - sealedAt) <= sealedAtSkewMs
    ? ok(undefined)
    : refuse("sealed_at_skew", "sealed_at must be within five minutes of receipt.");
}

/**
 * A seal that is valid by its `sealed_at` is still refused if another certificate or AI policy came into force before it
 * was received.
 */
export function namesWhatIsInForce(
  seal: Pick<SealV2, "cert_id" | "ai_policy_version">,
  { certificate, policy }: PublishingFacts,
): Verdict<void> {
  if (certificate?.cert_id !== seal.cert_id) {
    return refuse("certificate_not_in_force", "The seal names a certificate other than the one in force.");
  }
  return policy.version === seal.ai_policy_version
    ? ok(undefined)
    : refuse("ai_policy_version_mismatch", "The AI policy version that the seal names is not in force.");
}

/** Whether the business was verified once, whatever became of its certificate. */
export function judgeCertified({
  party,
  certificate,
}: PublishingFacts): Result<void, "business_not_verified"> {
  return party?.kind === "business" && certificate !== null
    ? ok(undefined)
    : refuse("business_not_verified", "Only a business that was certified has published anything.");
}

/** Whether the business may publish now. */
export function judgeVerified({
  party,
  certificate,
}: PublishingFacts): Result<void, "business_not_verified"> {
  return party?.kind === "business" && certificate?.status === "active"
    ? ok(undefined)
    : refuse("business_not_verified", "Only a business with an active certificate may publish.");
}

// The names that a business may use as its own: decided once for a push, before it is admitted, and stored with its
// facts, so that all who judge it judge alike.

/** The names under which the business was verified, then those that the operator's lists assign to it. */
export function decideOwnNames(
  lists: ContentLists,
  businessUuid: string,
  { party }: Pick<PublishingFacts, "party">,
): readonly string[] {
  const certified = lists.certified.legalNameOf(businessUuid);
  const legalNames = [certified, party?.legal_name].filter((name) => typeof name === "string");
  return ownNames(legalNames, assignedNames(lists, businessUuid));
}
