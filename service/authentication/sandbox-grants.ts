// Sandbox: grants for keys of newcomers. A grant says whose a key is, so nobody gets one for somebody else's party.
//   S1. The key that the grant is for has signed: the request itself, or a proof of possession that names this very
//       request.
//   S2. A key that nobody has registered gets a party of its own, whose uuid is derived from the key and a secret: it is
//       the same on every request, and nobody can choose it.
//   S3. A grant of an existing party is given only to a request signed by a live key of that party.
//   S4. Nothing is stored, so the nonce is not claimed: repeating a request returns the same answer, which is no secret.
//       The key is registered by the first request that carries its grant.
//   S5. A grant names an owner's passkey only if the passkey itself sealed a proof for this request and party, and only for
//       a business that nobody has registered: nobody becomes the owner of what exists.

import type { KeyFacts, MandateScopeFacts, PartyFacts } from "../../actors/messages/business.ts";
import type { Clock, Signer } from "../../crypto/port.ts";
import { toBase64, toHex, utf8 } from "../../protocol/bytes.ts";
import { parseEnvelope, payloadTypes } from "../../protocol/dsse.ts";
import { collectionNames, formatTimestamp } from "../../protocol/identifiers.ts";
import {
  algorithmOf,
  coseKeyOf,
  type PublicJwk,
  parsePublicJwk,
  thumbprint,
} from "../../protocol/keys/jwk.ts";
import type { PasskeyOrigins } from "../../protocol/keys/signatures.ts";
import { mandateLifeMaxMs } from "../../protocol/limits.ts";
import { mandatePayload } from "../../protocol/mandate.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import type { GrantAnswer, GrantQuestion } from "../../protocol/wire/grant.ts";
import { answerJson, invalidAt, type Outcome, type Refused, refusedWith } from "../answer.ts";
import { verifyPossession } from "../register/key-possession.ts";
import { type Parties, RegisterRefused } from "../register/parties.ts";
import { type GrantRegistration, issueGrant, type SandboxGrant } from "../register/sandbox-grant.ts";
import { signEnvelope } from "../register/service-keys.ts";
import {
  type AcceptedCallers,
  type AuthenticationDeps,
  authenticateBody,
  authenticateHead,
  judgeSignature,
  type RequestHead,
} from "./authenticate.ts";

export interface GrantRequest {
  readonly head: RequestHead;
  readonly body: Uint8Array;
  readonly question: GrantQuestion;
  readonly accepted: Pick<AcceptedCallers, "authorities" | "tags">;
}

interface SandboxGrantsDeps {
  readonly authentication: AuthenticationDeps;
  readonly grantKey: Signer;
  readonly passkeys: PasskeyOrigins;
}

export type IssueSandboxGrant = (request: GrantRequest) => Promise<Outcome>;

/** Ends every legal name of a newcomer, so that nobody passes for a verified party or claims a common word as a name. */
export const sandboxNameEnding = " (sandbox)";

/** Issues the grant of a newcomer's key, or says which member of the question is wrong. */
export function createSandboxGrants(deps: SandboxGrantsDeps): IssueSandboxGrant {
  return async (request) => {
    const key = readKey(request.question.public_key);
    if ("kind" in key) return key;
    const granted = await partyOf(deps, request, key);
    return "kind" in granted ? granted : answer(deps, request.question, { key, ...granted });
  };
}

interface GivenKey {
  readonly keyId: string;
  readonly jwk: PublicJwk;
}

interface Granted {
  readonly party: SandboxGrant["party"];
  readonly isRegistered: boolean;
  readonly owner: GivenKey | null;
}

function readKey(value: unknown): GivenKey | Refused {
  const parsed = parsePublicJwk(value);
  if (!parsed.ok) return invalidAt(`/public_key${parsed.pointer ?? ""}`, parsed.detail);
  if (algorithmOf(parsed.value) === "ML-DSA-65")
    return invalidAt("/public_key", "Requests must be signed with Ed25519 or ES256.");
  return { keyId: thumbprint(parsed.value), jwk: parsed.value };
}

async function partyOf(
  deps: SandboxGrantsDeps,
  request: GrantRequest,
  key: GivenKey,
): Promise<Granted | Refused> {
  const { question } = request;
  const { register, clock } = deps.authentication;
  const registered = await register.key(key.keyId);
  if (question.possession !== undefined) return joinedParty(deps, request, { key, registered });
  const { role } = question;
  const validFrom = formatTimestamp(clock.now());
  const uuid = await newUuid(deps.grantKey, role, key.keyId);
  const facts =
    registered ?? sandboxKeyFacts({ keyId: key.keyId, partyUuid: uuid, role, jwk: key.jwk, validFrom });
  const party = (await register.party(facts.party_uuid)) ?? newParty(facts.party_uuid, question);
  if (party.kind === "problem") return party;
  const signer = await signedBy(deps, request, (keyId) => (keyId === key.keyId ? { facts, party } : null));
  if (signer.kind === "problem") return signer;
  const isRegistered = registered !== null;
  const owner = await ownersKey(deps, question, { key, party, isRegistered, nonce: signer.nonce });
  if (owner !== null && "kind" in owner) return owner;
  return { party: partyInGrant(party), isRegistered, owner };
}

/** A party's further key: a live key of the party signs the request, and the new key its proof (S1, S3). */
async function joinedParty(
  deps: SandboxGrantsDeps,
  request: GrantRequest,
  { key, registered }: { readonly key: GivenKey; readonly registered: KeyFacts | null },
): Promise<Granted | Refused> {
  const { role, possession, legal_name: name, country, owner } = request.question;
  if (name !== undefined || country !== undefined)
    return invalidAt("/possession", "The party already has a name and country; leave both out.");
  if (owner !== undefined) return invalidAt("/owner", "Only a new business is given an owner.");
  const { register, crypto, clock } = deps.authentication;
  const signer = await signedBy(deps, request, async (keyId) => {
    const facts = await register.key(keyId);
    const party = facts === null ? null : await register.party(facts.party_uuid);
    return facts === null || party === null ? null : { facts, party };
  });
  if (signer.kind === "problem") return signer;
  const { party, nonce } = signer;
  const validFrom = formatTimestamp(clock.now());
  const { keyId, jwk } = key;
  const proof = parseEnvelope(possession);
  const facts = sandboxKeyFacts({ keyId, partyUuid: party.uuid, role, jwk, validFrom });
  const proven = proof.ok
    ? verifyPossession(
        { crypto, passkeys: deps.passkeys },
        { key: facts, challenge: nonce, proof: proof.value },
      )
    : proof;
  if (!proven.ok)
    return refusedWith("request_invalid", proven.detail, { pointer: "/possession", reason: proven.code });
  return registered !== null && registered.party_uuid !== party.uuid
    ? invalidAt("/public_key", "The key belongs to another party.")
    : { party: partyInGrant(party), isRegistered: registered !== null, owner: null };
}

type Known = { readonly facts: KeyFacts; readonly party: PartyFacts };

/** Makes checks 1 to 6 of a signed request, using the keys that `known` knows. */
async function signedBy(
  { authentication }: SandboxGrantsDeps,
  { head, body, question, accepted }: GrantRequest,
  known: (keyId: string) => Promise<Known | null> | Known | null,
): Promise<{ readonly kind: "signed"; readonly party: PartyFacts; readonly nonce: string } | Refused> {
  let signer: Known | null = null;
  const deps: AuthenticationDeps = {
    ...authentication,
    register: {
      ...authentication.register,
      key: async (keyId) => {
        signer = await known(keyId);
        return signer?.facts ?? null;
      },
      party: () => signer?.party ?? null,
    },
    // A grant in the request is for another key, and the rate is judged by address.
    grantSigner: null,
    requestRate: null,
  };
  const callers: AcceptedCallers = { ...accepted, roles: ["integration", "retrieval"], bearer: false };
  const candidate = await authenticateHead(deps, callers, head);
  if (candidate.kind === "problem")
    return candidate.problem.code === "key_unknown" && signer === null ? unknownSigner(question) : candidate;
  const digest = candidate.parts.contentDigest === null ? null : deps.crypto.sha256(body);
  // Few are issued to one address, so nobody waits for others' here.
  const judged = await judgeSignature(deps, candidate, "");
  const authenticated = await authenticateBody(deps, judged, digest);
  if (authenticated.kind === "problem") return authenticated;
  const { key, party, nonce } = authenticated.caller;
  if (key.role === question.role) return { kind: "signed", party, nonce };
  const detail = `The key that signed has the role ${key.role}, and a grant for its party must have the same role.`;
  return refusedWith("role_not_allowed", detail, { pointer: "/role" });
}

function unknownSigner({ possession }: GrantQuestion): Refused {
  const detail =
    possession === undefined
      ? "The request must be signed by the key that the grant is for: keyid is the thumbprint of public_key."
      : "The request must be signed by a registered key of the party that the new key will belong to.";
  return refusedWith("key_unknown", detail);
}

function newParty(uuid: string, { role, legal_name: name, country }: GrantQuestion): PartyFacts | Refused {
  if (name === undefined) return invalidAt("/legal_name", "A new party needs a name.");
  if (country === undefined) return invalidAt("/country", "A new party needs a country.");
  if (!countries.codes.has(country))
    return invalidAt("/country", "This is not a country code of ISO 3166-1 alpha-2.");
  const kind = role === "integration" ? "business" : "ai_company";
  const legal_name = `${name}${sandboxNameEnding}`;
  return { uuid, kind, legal_name, country, group: uuid, blocked_groups: [] };
}

function partyInGrant({ uuid, kind, legal_name, country }: PartyFacts): SandboxGrant["party"] {
  return { uuid, kind, legal_name, country };
}

/**
 * A version 4 UUID of bits that only the holder of the grant key can know (S2): Ed25519 is deterministic, so the same
 * text gives the same signature.
 */
async function newUuid(grantKey: Signer, role: string, keyId: string): Promise<string> {
  const signature = await grantKey.sign(utf8(`svc_sandbox_party\n${role}\n${keyId}`));
  const bytes = signature.slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = toHex(bytes);
  const ends = [8, 12, 16, 20, 32];
  return ends.map((end, index) => hex.slice(ends[index - 1] ?? 0, end)).join("-");
}

async function answer(
  { grantKey, passkeys }: SandboxGrantsDeps,
  { role }: GrantQuestion,
  { key, party, isRegistered, owner }: Granted & { readonly key: GivenKey },
): Promise<Outcome> {
  const grant = await issueGrant(
    {
      v: 1,
      environment: "sandbox",
      party,
      role,
      public_key: key.jwk,
      mandate_id: null,
      ...(owner === null ? {} : { owner: { public_key: owner.jwk } }),
    },
    grantKey,
  );
  const body: GrantAnswer = {
    key_id: key.keyId,
    role,
    party,
    registered: isRegistered,
    owner_key_id: owner?.keyId ?? null,
    passkeys: { rp_ids: [...passkeys.rp_ids], origins: [...passkeys.origins] },
    grant,
  };
  return answerJson(200, body, { "cache-control": "no-store" });
}

// The passkey of a new business's owner, as a request for a sandbox grant brings it. A business whose owner nobody is cannot
// confirm a held push.

interface AskedFor {
  readonly key: GivenKey;
  readonly party: PartyFacts;
  readonly isRegistered: boolean;
  readonly nonce: string;
}

/** The passkey that the question proves; null if it names none. */
async function ownersKey(
  { authentication, passkeys }: SandboxGrantsDeps,
  { role, owner }: GrantQuestion,
  { key, party, isRegistered, nonce }: AskedFor,
): Promise<GivenKey | null | Refused> {
  if (owner === undefined) return null;
  const { crypto, register, clock } = authentication;
  if (role !== "integration") return invalidOwner("Only a business has an owner.");
  if (isRegistered) return invalidOwner("The business exists; only a new one is given an owner.");
  const parsed = parsePublicJwk(owner.public_key);
  if (!parsed.ok) return invalidOwner(parsed.detail, `/public_key${parsed.pointer ?? ""}`);
  const jwk = parsed.value;
  if (coseKeyOf(jwk) === null) return invalidOwner("A passkey is a P-256 or Ed25519 key.", "/public_key");
  const keyId = thumbprint(jwk);
  if (keyId === key.keyId || (await register.key(keyId)) !== null)
    return invalidOwner("The key is in use already; an owner's passkey is a key of its own.", "/public_key");
  const proof = parseEnvelope(owner.possession);
  const validFrom = formatTimestamp(clock.now());
  const facts = ownerKeyFacts({ partyUuid: party.uuid, jwk, validFrom });
  const proven = proof.ok
    ? verifyPossession({ crypto, passkeys }, { key: facts, challenge: nonce, proof: proof.value })
    : proof;
  return proven.ok ? { keyId, jwk } : invalidOwner(proven.detail, "/possession", { reason: proven.code });
}

function invalidOwner(detail: string, pointer = "", more: { readonly reason?: string } = {}): Refused {
  return refusedWith("request_invalid", detail, { pointer: `/owner${pointer}`, ...more });
}

// Sandbox: the first signed request with a grant opens the party, registers the key and, for an integration key, the
// owner's passkey that the grant names and its mandate (specification, «Sandbox»). Every step is idempotent, so the next request repairs a crash in between.

/** Registers what a grant vouches for; `refused` with the register's reason, and anything else is thrown. */
export function createGrantedKeys(
  deps: SandboxKeysDeps,
): (grant: SandboxGrant, keyId: string) => Promise<GrantRegistration> {
  // Requests that come first at once would each issue the certificate of the party: they wait for one another.
  const underWay = new Map<string, Promise<GrantRegistration>>();
  const registered = async (
    grant: SandboxGrant,
    keyId: string,
    before: Promise<unknown> | undefined,
  ): Promise<GrantRegistration> => {
    await before?.catch(() => {});
    try {
      return await register(deps, grant, keyId);
    } catch (error) {
      if (error instanceof RegisterRefused) return { status: "refused", detail: error.message };
      throw error;
    }
  };
  return async (grant, keyId) => {
    const { uuid } = grant.party;
    const own = registered(grant, keyId, underWay.get(uuid));
    underWay.set(uuid, own);
    try {
      return await own;
    } finally {
      if (underWay.get(uuid) === own) underWay.delete(uuid);
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

// What the sandbox registers without a portal: keys as their grants describe them, the key that it holds for a business,
// and the scope of the mandates that this key seals.

export interface SandboxKeysDeps {
  readonly parties: Parties;
  readonly clock: Clock;
  /** The key that the sandbox holds for a business: it seals what an owner would. */
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
}

/** Everything, with generous caps: a sandbox is for trying things out. */
export const sandboxScope: MandateScopeFacts = {
  record_types: collectionNames,
  countries: [...countries.codes],
  directions: ["publish"],
  caps: { records_per_hour: 1_000_000, bytes_per_day: 8_589_934_592 },
  source_ip_allow_list: null,
};

/** A key that signs plainly, valid from `validFrom` (a timestamp) until further notice. */
export function sandboxKeyFacts(key: {
  readonly keyId: string;
  readonly partyUuid: string;
  readonly role: KeyFacts["role"];
  readonly jwk: PublicJwk;
  readonly validFrom: string;
}): KeyFacts {
  return {
    key_id: key.keyId,
    party_uuid: key.partyUuid,
    role: key.role,
    alg: algorithmOf(key.jwk),
    public_key: { ...key.jwk },
    cose: null,
    valid_from: key.validFrom,
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  };
}

/** The passkey of a business's owner. */
export function ownerKeyFacts({
  jwk,
  ...key
}: {
  readonly partyUuid: string;
  readonly jwk: PublicJwk;
  readonly validFrom: string;
}): KeyFacts {
  const facts = sandboxKeyFacts({ ...key, keyId: thumbprint(jwk), jwk, role: "sealing" });
  const cose = coseKeyOf(jwk);
  return { ...facts, person_role: "owner", cose: cose && toBase64(cose) };
}

/** How long before the request a hosted key is already valid. */
const hostedBeforeMs = 3_600_000;

/**
 * The key that the sandbox holds for the business, registered at `sinceMs` at the latest and with its custody stated;
 * idempotent.
 */
export async function ensureHostedKey(deps: SandboxKeysDeps, uuid: string, sinceMs: number): Promise<Signer> {
  const hosted = await deps.hostedSigner(uuid);
  const { key } = await deps.parties.facts(uuid, hosted.keyId);
  if (key === "unknown") {
    // If several callers ask at once, the first registers the key, and another may have started earlier: its seal must
    // count as well.
    const since = formatTimestamp(sinceMs - hostedBeforeMs);
    const { keyId, publicJwk: jwk } = hosted;
    await deps.parties.registerKey(
      sandboxKeyFacts({ keyId, partyUuid: uuid, role: "hosted", jwk, validFrom: since }),
    );
    await deps.parties.stateCustody({ uuid, key_id: keyId, custody: "hosted", effective_from: since });
  }
  return hosted;
}
