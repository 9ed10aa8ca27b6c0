// Registers the sample parties: certificates, keys, custody, mandates, AI policies. Every step can be repeated.

import type { KeyFacts } from "../../actors/messages/business.ts";
import { type PrivateJwk, publicHalfOf } from "../../crypto/private-jwk.ts";
import { aiPolicyBytes } from "../../protocol/ai-policy.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import { collectionNames, formatTimestamp } from "../../protocol/identifiers.ts";
import { algorithmOf, type PublicJwk, thumbprint } from "../../protocol/jwk.ts";
import { mandateLifeMaxMs, mandatePayload } from "../../protocol/mandate.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { Parties } from "../../service/parties.ts";
import type { SampleBusiness, SampleCompany } from "./sample.ts";
import type { Sealer } from "./sealer.ts";

export interface RegisteredKey {
  readonly jwk: PrivateJwk;
  readonly publicJwk: PublicJwk;
  readonly keyId: string;
}

/** What is needed of the node, besides the parties themselves. */
export interface RegisterDeps {
  readonly parties: Parties;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** From when certificates and keys are valid: a timestamp. */
  readonly validFrom: string;
}

const dayMs = 86_400_000;
/** A mandate that ends sooner is followed by a new one. */
const mandateDaysLeftMin = 30;
/** Generous: a sandbox is for trying. */
const caps = { records_per_hour: 1_000_000, bytes_per_day: 8_589_934_592 };

export function registeredKey(jwk: PrivateJwk): RegisteredKey {
  const publicJwk = publicHalfOf(jwk);
  return { jwk, publicJwk, keyId: thumbprint(publicJwk) };
}

/** The party with its certificate and keys; answers the cert_id in force. */
export async function registerBusiness(
  deps: RegisterDeps,
  business: SampleBusiness,
  keys: { readonly sealer: Sealer; readonly integration: readonly RegisteredKey[] },
): Promise<string> {
  const { uuid } = business;
  const certId = await openWithCertificate(deps, business, "business");
  const { sealer, integration } = keys;
  const facts = keyFactsFor(deps, uuid);
  await deps.parties.registerKey(facts({ ...sealer, role: sealer.role, cose: sealer.cose }));
  await deps.parties.stateCustody({
    uuid,
    key_id: sealer.keyId,
    custody: sealer.custody,
    effective_from: deps.validFrom,
  });
  for (const key of integration) {
    await deps.parties.registerKey(facts({ ...key, role: "integration", cose: null }));
    await deps.parties.stateCustody({
      uuid,
      key_id: key.keyId,
      custody: "self",
      effective_from: deps.validFrom,
    });
  }
  for (const group of business.blocks) await deps.parties.setBlocked({ uuid, group, blocked: true });
  return certId;
}

export async function registerCompany(
  deps: RegisterDeps,
  company: SampleCompany,
  keys: readonly RegisteredKey[],
): Promise<void> {
  await openWithCertificate(deps, company, "ai_company");
  const facts = keyFactsFor(deps, company.uuid);
  for (const key of keys) await deps.parties.registerKey(facts({ ...key, role: "retrieval", cose: null }));
}

async function openWithCertificate(
  deps: RegisterDeps,
  party: SampleBusiness | SampleCompany,
  kind: "business" | "ai_company",
): Promise<string> {
  const { uuid, legalName: legal_name, country } = party;
  await deps.parties.open({ uuid, kind, legal_name, country, group: uuid, blocked_groups: [] });
  return await deps.parties.issueCertificate({
    uuid,
    kind,
    legal_name,
    country,
    verified_since: deps.validFrom,
    status: "active",
    status_effective_from: deps.validFrom,
    status_reason: null,
  });
}

function keyFactsFor(deps: RegisterDeps, partyUuid: string) {
  return (key: {
    readonly keyId: string;
    readonly publicJwk: PublicJwk;
    readonly role: KeyFacts["role"];
    readonly cose: string | null;
  }): KeyFacts => ({
    key_id: key.keyId,
    party_uuid: partyUuid,
    role: key.role,
    ...(key.role === "sealing" ? { person_role: "owner" } : {}),
    alg: algorithmOf(key.publicJwk),
    public_key: { ...key.publicJwk },
    cose: key.cose,
    valid_from: deps.validFrom,
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  });
}

/** Seals and registers the AI policies, version by version; answers when the last came into force: a timestamp, or null. */
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
    await deps.parties.acceptPolicy({ uuid: business.uuid, record, seal });
  }
  return (await deps.parties.facts(business.uuid, "")).policy.live_from;
}

/** A mandate in force for some time to come, sealed anew where there is none; answers its id. */
export async function ensureMandate(
  deps: RegisterDeps,
  business: SampleBusiness,
  keys: { readonly sealer: Sealer; readonly key: RegisteredKey },
): Promise<string> {
  const { key, sealer } = keys;
  const nowMs = deps.now();
  const { mandates } = await deps.parties.facts(business.uuid, key.keyId);
  const enough = formatTimestamp(nowMs + mandateDaysLeftMin * dayMs);
  const inForce = mandates.find((mandate) => mandate.revoked_at === null && mandate.valid_until >= enough);
  if (inForce !== undefined) return inForce.mandate_id;
  const mandate_id = `mdt_${key.keyId}_${mandates.length + 1}`;
  const payload = mandatePayload({
    v: 1,
    mandate_id,
    business_uuid: business.uuid,
    key_id: key.keyId,
    scope: {
      record_types: collectionNames,
      countries: [...countries.codes],
      directions: ["publish"],
      caps,
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(nowMs),
    valid_until: formatTimestamp(nowMs + mandateLifeMaxMs),
  });
  await deps.parties.acceptMandate(await sealer.seal(payloadTypes["mandate.v1"], payload));
  return mandate_id;
}
