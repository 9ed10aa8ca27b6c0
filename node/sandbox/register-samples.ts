// Registers the sample parties: certificates, keys, custody, mandates, AI policies. Every step is idempotent, also when two
// nodes do it concurrently.

import type { KeyFacts } from "../../actors/messages/business.ts";
import { type PrivateJwk, publicHalfOf } from "../../crypto/private-jwk.ts";
import { aiPolicyBytes } from "../../protocol/ai-policy.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import type { CertificateStatus } from "../../protocol/keys/certificate.ts";
import { type PublicJwk, thumbprint } from "../../protocol/keys/jwk.ts";
import { mandateLifeMaxMs } from "../../protocol/limits.ts";
import { mandatePayload } from "../../protocol/mandate.ts";
import { sealPayload } from "../../protocol/seal.ts";
import { sandboxKeyFacts, sandboxScope } from "../../service/authentication/sandbox-grants.ts";
import { type Parties, RegisterRefused } from "../../service/register/parties.ts";
import type {
  SampleBusiness,
  SampleCompany,
  SampleEnding,
  SampleIntegrationKey,
  SampleKey,
  SampleMandate,
} from "./sample.ts";
import type { Sealer } from "./sealer.ts";

export interface RegisteredKey<K extends SampleKey = SampleKey> {
  readonly sample: K;
  readonly jwk: PrivateJwk;
  readonly publicJwk: PublicJwk;
  readonly keyId: string;
}

/** The parts of the node that are needed, and the timestamps of events. */
export interface RegisterDeps {
  readonly parties: Parties;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** The instant at which everything came into force. */
  readonly since: string;
  /** A later instant: the keys and mandates that a sample describes as ended or revoked ended then. */
  readonly endedAt: string;
}

const sealerLeadMs = 86_400_000;

type SampleParty = SampleBusiness | SampleCompany;

/** The certificate in force. */
export interface InForce {
  readonly certId: string;
  readonly status: CertificateStatus;
}

export function registeredKey<K extends SampleKey>(sample: K, jwk: PrivateJwk): RegisteredKey<K> {
  const publicJwk = publicHalfOf(jwk);
  return { sample, jwk, publicJwk, keyId: thumbprint(publicJwk) };
}

export async function certificateInForce(parties: Parties, uuid: string): Promise<InForce | null> {
  const { certificate } = await parties.facts(uuid, "");
  return certificate && { certId: certificate.cert_id, status: certificate.status };
}

/** Registers the party with its certificate, keys and mandates. */
export async function registerBusiness(
  deps: RegisterDeps,
  business: SampleBusiness,
  keys: { readonly sealer: Sealer; readonly integration: readonly RegisteredKey<SampleIntegrationKey>[] },
): Promise<void> {
  const { uuid } = business;
  const { sealer } = keys;
  await openWithCertificate(deps, business, "business");
  await registerSealer(deps, uuid, sealer);
  await stateCustody(deps, uuid, sealer);
  for (const key of keys.integration) {
    if (key.sample.fate === "unregistered") continue;
    await registerKey(deps, keyFacts(deps, uuid, key));
    await stateCustody(deps, uuid, { keyId: key.keyId, custody: "self" });
    await ensureMandate(deps, uuid, { sealer, key });
    await revokeKey(deps, uuid, key);
  }
  for (const group of business.blocks) await deps.parties.setBlocked({ uuid, group, blocked: true });
}

function registerSealer(deps: RegisterDeps, uuid: string, sealer: Sealer): Promise<void> {
  const { role, cose } = sealer;
  const owner = role === "sealing" ? { person_role: "owner" as const } : {};
  // It seals from `since` on, whichever node registers the same samples, even one that started a little earlier.
  const valid_from = formatTimestamp((parseTimestamp(deps.since) ?? 0) - sealerLeadMs);
  return registerKey(deps, { ...keyFacts(deps, uuid, sealer), valid_from, role, cose, ...owner });
}

/** The passkey of the owner of a business whose records are sealed by a key that the service holds. */
export async function registerOwner(deps: RegisterDeps, uuid: string, owner: Sealer): Promise<void> {
  // A business that was closed meanwhile gets no key any more.
  if ((await certificateInForce(deps.parties, uuid))?.status !== "active") return;
  await registerSealer(deps, uuid, owner);
  await stateCustody(deps, uuid, owner);
}

export async function registerCompany(
  deps: RegisterDeps,
  company: SampleCompany,
  keys: readonly RegisteredKey[],
): Promise<void> {
  await openWithCertificate(deps, company, "ai_company");
  for (const key of keys) {
    if (key.sample.fate === "unregistered") continue;
    await registerKey(deps, { ...keyFacts(deps, company.uuid, key), role: "retrieval" });
    await revokeKey(deps, company.uuid, key);
  }
}

async function openWithCertificate(
  deps: RegisterDeps,
  party: SampleParty,
  kind: "business" | "ai_company",
): Promise<void> {
  const { uuid, legalName: legal_name, country } = party;
  await deps.parties.open({ uuid, kind, legal_name, country, group: uuid, blocked_groups: [] });
  // Whatever the certificate has become since, an active one is issued once.
  if ((await certificateInForce(deps.parties, uuid)) !== null) return;
  await deps.parties.issueCertificate({
    uuid,
    kind,
    legal_name,
    country,
    verified_since: deps.since,
    status: "active",
    status_effective_from: deps.since,
    status_reason: null,
  });
}

/** Ends the certificate of a party whose certificate is meant to end; returns the one in force. */
export async function endCertificate(
  deps: Pick<RegisterDeps, "parties" | "since" | "now">,
  party: SampleParty,
  { kind, ending }: { readonly kind: "business" | "ai_company"; readonly ending: SampleEnding },
): Promise<InForce> {
  const inForce = await certificateInForce(deps.parties, party.uuid);
  if (inForce !== null && inForce.status !== "active") return inForce;
  try {
    const certId = await deps.parties.issueCertificate({
      uuid: party.uuid,
      kind,
      legal_name: party.legalName,
      country: party.country,
      verified_since: deps.since,
      status: ending.status,
      status_effective_from: ending.reachesBack ? deps.since : formatTimestamp(deps.now()),
      status_reason: ending.reason,
    });
    return { certId, status: ending.status };
  } catch (error) {
    // Another node that fills the same sandbox has ended it a moment before, from then on.
    if (!(error instanceof RegisterRefused) || error.code !== "certificate_transition") throw error;
    const ended = await certificateInForce(deps.parties, party.uuid);
    if (ended === null || ended.status === "active") throw error;
    return ended;
  }
}

function keyFacts(
  deps: RegisterDeps,
  partyUuid: string,
  key: Pick<RegisteredKey, "keyId" | "publicJwk"> & { readonly sample?: SampleKey },
): KeyFacts {
  const { keyId, publicJwk: jwk, sample } = key;
  const facts = sandboxKeyFacts({ keyId, partyUuid, role: "integration", jwk, validFrom: deps.since });
  return sample?.fate === "ended" ? { ...facts, valid_until: deps.endedAt } : facts;
}

/** A key that has been revoked since is not registered again. */
function registerKey({ parties }: RegisterDeps, facts: KeyFacts): Promise<void> {
  const isDone = async () => (await parties.facts(facts.party_uuid, facts.key_id)).key !== "unknown";
  return unlessDone(isDone, () => parties.registerKey(facts));
}

/** Another node that registers the same samples may have been a moment earlier, with its own instants. */
async function unlessDone(isDone: () => Promise<boolean>, run: () => Promise<void>): Promise<void> {
  if (await isDone()) return;
  try {
    await run();
  } catch (error) {
    if (!(error instanceof RegisterRefused) || !(await isDone())) throw error;
  }
}

async function stateCustody(
  deps: RegisterDeps,
  uuid: string,
  { keyId, custody }: Pick<Sealer, "keyId" | "custody">,
): Promise<void> {
  await deps.parties.stateCustody({ uuid, key_id: keyId, custody, effective_from: deps.since });
}

async function revokeKey(
  { parties, endedAt }: RegisterDeps,
  uuid: string,
  { keyId, sample: { fate } }: RegisteredKey,
): Promise<void> {
  if (fate !== "revoked" && fate !== "compromised") return;
  const compromised_from = fate === "compromised" ? endedAt : null;
  await parties.revokeKey({ uuid, key_id: keyId, revoked_at: endedAt, compromised_from });
}

/** The id of a sample key's first mandate; the grant of an unregistered key uses it as well. */
export function firstMandateId(keyId: string): string {
  return `mdt_${keyId}_1`;
}

/** The first mandate of a key that has none yet; later ones follow it (service/authentication/mandate-renewal.ts). */
async function ensureMandate(
  deps: RegisterDeps,
  uuid: string,
  { sealer, key }: { readonly sealer: Sealer; readonly key: RegisteredKey<SampleIntegrationKey> },
): Promise<void> {
  const { mandate } = key.sample;
  if (mandate === null) return;
  const mandate_id = firstMandateId(key.keyId);
  const isDone = async () => {
    const facts = await deps.parties.facts(uuid, key.keyId);
    return facts.key === "revoked" || facts.mandates.length > 0;
  };
  await unlessDone(isDone, async () => {
    const payload = mandatePayload({
      v: 1,
      mandate_id,
      business_uuid: uuid,
      key_id: key.keyId,
      scope: { ...sandboxScope, ...mandate?.scope },
      valid_from: deps.since,
      valid_until: endOf(deps, mandate),
    });
    await deps.parties.acceptMandate(await sealer.seal(payloadTypes["mandate.v1"], payload));
  });
  if (mandate?.fate === "revoked") {
    await deps.parties.revokeMandate({ uuid, mandate_id, revoked_at: deps.endedAt });
  }
}

function endOf({ since, endedAt }: RegisterDeps, mandate: SampleMandate | undefined): string {
  return mandate?.fate === "ended"
    ? endedAt
    : formatTimestamp((parseTimestamp(since) ?? 0) + mandateLifeMaxMs);
}

/**
 * Seals and registers the AI policies, version by version, in force from the same instant as everything else. Returns when
 * the last one came into force, as a timestamp, or null if the business has none.
 */
export async function registerPolicies(
  deps: RegisterDeps,
  business: SampleBusiness,
  sealing: { readonly sealer: Sealer; readonly certId: string },
): Promise<string | null> {
  for (const [index, policy] of business.policies.entries()) {
    const record = aiPolicyBytes(policy);
    const payload = sealPayload({
      v: 2,
      key_id: sealing.sealer.keyId,
      cert_id: sealing.certId,
      hash: hashOf(record),
      sealed_at: formatTimestamp(deps.now()),
      record_type: "ai_policy",
      ai_policy_version: index + 1,
    });
    const seal = await sealing.sealer.seal(payloadTypes["seal.v2"], payload);
    await deps.parties.acceptPolicy({ uuid: business.uuid, record, seal, inForceSince: deps.since });
  }
  return (await deps.parties.facts(business.uuid, "")).policy.live_from;
}
