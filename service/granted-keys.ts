// Sandbox: the first signed request with a grant opens the party, registers the key and, for an integration key, its
// mandate (specification, «Sandbox»). Every step can be repeated, so a crash in between is repaired by the next request.

import type { KeyFacts, PartyFacts } from "../actors/messages/business.ts";
import type { Clock, Signer } from "../crypto/port.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { collectionNames, formatTimestamp } from "../protocol/identifiers.ts";
import { algorithmOf, type PublicJwk } from "../protocol/jwk.ts";
import { mandateLifeMaxMs, mandatePayload } from "../protocol/mandate.ts";
import { countries } from "../protocol/records/vocabularies/countries.ts";
import { type Parties, RegisterRefused } from "./parties.ts";
import type { GrantRegistration, SandboxGrant } from "./sandbox-grant.ts";
import { signEnvelope } from "./sign-envelope.ts";

export interface GrantedKeysDeps {
  readonly parties: Parties;
  readonly clock: Clock;
  /** The key that the sandbox holds for a business: it seals what an owner would. */
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
}

/** Generous: a sandbox is for trying, and its caps are there to be seen. */
const sandboxCaps = { records_per_hour: 1_000_000, bytes_per_day: 8_589_934_592 };

export function createGrantedKeys(
  deps: GrantedKeysDeps,
): (grant: SandboxGrant, keyId: string) => Promise<GrantRegistration> {
  return async (grant, keyId) => {
    try {
      return await register(deps, grant, keyId);
    } catch (error) {
      if (error instanceof RegisterRefused) return { status: "refused", detail: error.message };
      throw error;
    }
  };
}

async function register(
  deps: GrantedKeysDeps,
  grant: SandboxGrant,
  keyId: string,
): Promise<GrantRegistration> {
  const { party, isNew } = await openParty(deps, grant, keyId);
  if (party.kind !== grant.party.kind)
    return { status: "refused", detail: `The party is registered as ${party.kind}.` };
  const key = keyFacts(
    keyId,
    grant.party.uuid,
    grant.role,
    grant.public_key,
    formatTimestamp(deps.clock.now()),
  );
  if (isNew) await deps.parties.registerKey(key);
  else if ((await deps.parties.facts(grant.party.uuid, keyId)).key === "revoked") {
    return { status: "refused", detail: "The key was revoked." };
  }
  if (grant.role === "integration") await ensureMandate(deps, grant, keyId);
  return { status: "registered", key, party, isNew };
}

async function openParty(
  deps: GrantedKeysDeps,
  grant: SandboxGrant,
  keyId: string,
): Promise<{ party: PartyFacts; isNew: boolean }> {
  const { uuid, kind, legal_name, country } = grant.party;
  const facts = await deps.parties.facts(uuid, keyId);
  const party = facts.party ?? { uuid, kind, legal_name, country, group: uuid, blocked_groups: [] };
  if (facts.party === null) await deps.parties.open(party);
  if (facts.certificate === null) {
    const now = formatTimestamp(deps.clock.now());
    await deps.parties.issueCertificate({
      uuid,
      kind,
      legal_name,
      country,
      verified_since: now,
      status: "active",
      status_effective_from: now,
      status_reason: null,
    });
  }
  return { party, isNew: facts.key === "unknown" };
}

async function ensureMandate(deps: GrantedKeysDeps, grant: SandboxGrant, keyId: string): Promise<void> {
  const { uuid } = grant.party;
  const facts = await deps.parties.facts(uuid, keyId);
  if (facts.mandates.length > 0) return;
  const hosted = await ensureHostedKey(deps, uuid);
  const now = deps.clock.now();
  const payload = mandatePayload({
    v: 1,
    mandate_id: grant.mandate_id ?? `mdt_${keyId}`,
    business_uuid: uuid,
    key_id: keyId,
    scope: {
      record_types: collectionNames,
      countries: [...countries.codes],
      directions: ["publish"],
      caps: sandboxCaps,
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(now),
    valid_until: formatTimestamp(now + mandateLifeMaxMs),
  });
  const envelope = await signEnvelope(payloadTypes["mandate.v1"], payload, [hosted]);
  try {
    await deps.parties.acceptMandate(envelope);
  } catch (error) {
    // Another first request with this key, sealed a moment before, may have been accepted meanwhile.
    if ((await deps.parties.facts(uuid, keyId)).mandates.length === 0) throw error;
  }
}

async function ensureHostedKey(deps: GrantedKeysDeps, uuid: string): Promise<Signer> {
  const hosted = await deps.hostedSigner(uuid);
  const facts = await deps.parties.facts(uuid, hosted.keyId);
  if (facts.key === "unknown") {
    const now = formatTimestamp(deps.clock.now());
    await deps.parties.registerKey(keyFacts(hosted.keyId, uuid, "hosted", hosted.publicJwk, now));
    await deps.parties.stateCustody({ uuid, key_id: hosted.keyId, custody: "hosted", effective_from: now });
  }
  return hosted;
}

function keyFacts(
  keyId: string,
  partyUuid: string,
  role: KeyFacts["role"],
  jwk: PublicJwk,
  validFrom: string,
): KeyFacts {
  return {
    key_id: keyId,
    party_uuid: partyUuid,
    role,
    alg: algorithmOf(jwk),
    public_key: jwk as unknown as Readonly<Record<string, string>>,
    cose: null,
    valid_from: validFrom,
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  };
}
