// Sandbox: the first signed request with a grant opens the party, registers the key and, for an integration key, the
// owner's passkey that the grant names and its mandate (specification, «Sandbox»). Every step is idempotent, so the next request repairs a crash in between.

import type { PartyFacts } from "../actors/messages/business.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { PublicJwk } from "../protocol/jwk.ts";
import { mandateLifeMaxMs, mandatePayload } from "../protocol/mandate.ts";
import { RegisterRefused } from "./parties.ts";
import type { GrantRegistration, SandboxGrant } from "./sandbox-grant.ts";
import {
  ensureHostedKey,
  ownerKeyFacts,
  type SandboxKeysDeps,
  sandboxKeyFacts,
  sandboxScope,
} from "./sandbox-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";

export function createGrantedKeys(
  deps: SandboxKeysDeps,
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
  deps: SandboxKeysDeps,
  grant: SandboxGrant,
  keyId: string,
): Promise<GrantRegistration> {
  const { party, isNew } = await openParty(deps, grant, keyId);
  if (party.kind !== grant.party.kind)
    return { status: "refused", detail: `The party is registered as a ${party.kind}.` };
  const { role, public_key: jwk } = grant;
  const validFrom = formatTimestamp(deps.clock.now());
  const key = sandboxKeyFacts({ keyId, partyUuid: grant.party.uuid, role, jwk, validFrom });
  if (isNew) {
    // The owner is first: once the integration key is known, no request comes here again.
    if (grant.owner !== undefined)
      await registerOwner(deps, { uuid: party.uuid, jwk: grant.owner.public_key, validFrom });
    await deps.parties.registerKey(key);
    if (role === "integration") {
      const held = { uuid: party.uuid, key_id: keyId, custody: "self", effective_from: validFrom } as const;
      await deps.parties.stateCustody(held);
    }
  } else if ((await deps.parties.facts(grant.party.uuid, keyId)).key === "revoked") {
    return { status: "refused", detail: "The key was revoked." };
  }
  if (grant.role === "integration") await ensureMandate(deps, grant, keyId);
  return { status: "registered", key, party, isNew };
}

async function registerOwner(
  { parties }: SandboxKeysDeps,
  { uuid, jwk, validFrom }: { readonly uuid: string; readonly jwk: PublicJwk; readonly validFrom: string },
): Promise<void> {
  const key = ownerKeyFacts({ partyUuid: uuid, jwk, validFrom });
  if ((await parties.facts(uuid, key.key_id)).key === "unknown") await parties.registerKey(key);
  await parties.stateCustody({ uuid, key_id: key.key_id, custody: "self", effective_from: validFrom });
}

async function openParty(
  deps: SandboxKeysDeps,
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

async function ensureMandate(deps: SandboxKeysDeps, grant: SandboxGrant, keyId: string): Promise<void> {
  const { uuid } = grant.party;
  const facts = await deps.parties.facts(uuid, keyId);
  if (facts.mandates.length > 0) return;
  const now = deps.clock.now();
  const hosted = await ensureHostedKey(deps, uuid, now);
  const payload = mandatePayload({
    v: 1,
    mandate_id: grant.mandate_id ?? `mdt_${keyId}`,
    business_uuid: uuid,
    key_id: keyId,
    scope: sandboxScope,
    valid_from: formatTimestamp(now),
    valid_until: formatTimestamp(now + mandateLifeMaxMs),
  });
  const envelope = await signEnvelope(payloadTypes["mandate.v1"], payload, [hosted]);
  try {
    await deps.parties.acceptMandate(envelope);
  } catch (error) {
    // Another first request with this key, sealed a moment earlier, may have been accepted in the meantime.
    if ((await deps.parties.facts(uuid, keyId)).mandates.length === 0) throw error;
  }
}
