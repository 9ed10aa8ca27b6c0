// How parties come in where there is no portal: operators open and certify them, and register the keys of their systems.
//   E1. Whatever is asked again changes nothing, and the answer says so, also after its opposite: an act names the certificate that was seen; where several operators certify a party at once, one certificate comes of it.
//   E2. A key is registered only with its own proof that it is the party's: it signs the party, its role and, as the challenge, the
//       certificate in force, so a proof is worth nothing once another certificate was issued.
//   E3. The operator and the reason are kept by the party's actor with each change. The reason of a certificate is what was
//       verified and how; nothing of it is published.
//   E4. No passkey is registered here: an operator alone never makes anybody an owner.

import type { KeyFacts } from "../../actors/messages/business.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import { formatTimestamp, isUuidV4 } from "../../protocol/identifiers.ts";
import { algorithmOf, type PublicJwk, parsePublicJwk, thumbprint } from "../../protocol/keys/jwk.ts";
import { keyChallengeOf } from "../../protocol/keys/key-directory.ts";
import { ok, type Refusal, type Result, refuse } from "../../protocol/result.ts";
import { otherCertificate, readCertificate, readEntry } from "./home-evidence.ts";
import type { Registered } from "./parties.ts";
import {
  type CertificateState,
  type Done,
  type KeyState,
  keyState,
  type MandateState,
  mandateState,
  type Revocations,
} from "./revocations.ts";

export interface EnrolmentServices extends Platform, Actors, Registered {
  readonly revocations: Pick<Revocations, "certificate">;
}

export interface PartyState {
  readonly uuid: string;
  readonly kind: "business" | "ai_company";
  readonly legal_name: string;
  readonly country: string;
  /** Null before the first was issued. */
  readonly certificate: CertificateState | null;
  /** Every key that the party has or had, as this region knows them, oldest first. */
  readonly keys: readonly KeyState[];
  /** The mandates that a business gave, as this region knows them, newest first, {@link mandatesMax} at most. */
  readonly mandates: readonly MandateState[];
  /** How many older ones there are. */
  readonly older_mandates: number;
}

/** A business gives as many as it likes, and each may be read by its id. */
export const mandatesMax = 100;

type Outcome<T, C extends string = "unknown" | "refused"> = Promise<Result<Done<T>, C>>;
/** `changed` is refused where another certificate is in force than was seen. */
type Issued = Outcome<PartyState, "unknown" | "refused" | "changed">;

export interface Enrolment {
  party(uuid: string): Promise<Result<PartyState, "unknown">>;
  /**
   * Opens the party if it is not known, and puts an active certificate in force from now on; one that is active stays. Refused for a
   * party that was opened as another kind or under another name or country. `cert_id` is that of the one that was seen, null for none.
   */
  certify(
    request: Pick<PartyState, "uuid" | "kind" | "legal_name" | "country"> & {
      readonly cert_id?: string | null;
      readonly act: RegisterAct;
    },
  ): Issued;
  /**
   * Issues the certificate in force once more, with what it says: the chain goes on, and nothing that was sealed under the other changes.
   * `cert_id` is that of the one that it follows (E1). Refused where none is active.
   */
  reissue(request: { readonly uuid: string; readonly cert_id: string; readonly act: RegisterAct }): Issued;
  /** A business's key signs its pushes and reads (`integration`), an AI company's what it asks (`retrieval`). See E2. */
  registerKey(request: {
    readonly uuid: string;
    /** A public JWK; refused if it is none, or of an algorithm by which no request is signed. */
    readonly public_key: unknown;
    /** When the key ends (ISO 8601); null for no end. */
    readonly valid_until: string | null;
    /** An envelope with a proof of possession. */
    readonly proof: unknown;
    readonly act: RegisterAct;
  }): Outcome<KeyState>;
}

/** For operators: parties, their certificates and keys. Refusals by a party's actor are thrown as `RegisterRefused`. */
export function createEnrolment(deps: EnrolmentServices): Enrolment {
  return {
    party: async (uuid) => {
      const state = await stateOf(deps, uuid);
      return state === null ? unknown : ok(state);
    },
    certify: (request) => certify(deps, request),
    reissue: (request) => reissue(deps, request),
    registerKey: (request) => registerKey(deps, request),
  };
}

const unknown = refuse("unknown", "No party with this uuid was opened here.");

/** A party that this region's register does not know is not asked, since that would create its actor. */
async function stateOf(deps: EnrolmentServices, uuid: string): Promise<PartyState | null> {
  const party = isUuidV4(uuid) ? await deps.register.party(uuid) : null;
  if (party === null) return null;
  const certificate = await deps.revocations.certificate(uuid);
  return shown(deps, party, certificate.ok ? certificate.value : null);
}

async function shown(
  { register }: Pick<EnrolmentServices, "register">,
  { uuid, kind, legal_name, country }: Pick<PartyState, "uuid" | "kind" | "legal_name" | "country">,
  certificate: CertificateState | null,
): Promise<PartyState> {
  const keys = (await register.keys(uuid)).toSorted((a, b) => (a.valid_from < b.valid_from ? -1 : 1));
  const given = await register.mandates(uuid);
  const mandates = given.toSorted((a, b) => (a.accepted_at < b.accepted_at ? 1 : -1)).slice(0, mandatesMax);
  return {
    uuid,
    kind,
    legal_name,
    country,
    certificate,
    keys: keys.map((key) => keyState(key, legal_name)),
    mandates: mandates.map((each) => mandateState(each, legal_name)),
    older_mandates: given.length - mandates.length,
  };
}

async function certify(
  { parties, clock, ...deps }: EnrolmentServices,
  { act, cert_id: seen, ...asked }: Parameters<Enrolment["certify"]>[0],
): Issued {
  const { uuid, kind, legal_name, country } = asked;
  if (!isUuidV4(uuid)) return refuse("refused", "The uuid of a party is of version 4, in lower case.");
  if (typeof seen === "string" && (await deps.register.party(uuid)) === null) return unknown;
  await parties.open({ ...asked, group: uuid, blocked_groups: [] }, act);
  const party = await parties.party(uuid);
  if (party === null) throw new Error(`The party ${uuid} was opened, and does not know it.`);
  if (party.kind !== kind || party.legal_name !== legal_name || party.country !== country)
    return refuse(
      "refused",
      `The party was opened as ${party.legal_name} of ${party.country}, ${party.kind}.`,
    );
  const { certificate: before } = await parties.facts(uuid, "");
  const isActive = before?.status === "active";
  if (!isActive && seen !== undefined && seen !== (before?.cert_id ?? null))
    return otherCertificate(before?.cert_id ?? null);
  if (!isActive) {
    const since = formatTimestamp(clock.now());
    await parties.issueCertificate({
      ...asked,
      verified_since: since,
      status: "active",
      status_effective_from: since,
      status_reason: null,
      act,
      follows: before?.cert_id ?? null,
    });
  }
  const certificate = isActive ? before : (await parties.facts(uuid, "")).certificate;
  if (certificate === null)
    throw new Error(`A certificate of ${uuid} was issued, and its party does not know it.`);
  return ok({
    changed: !isActive,
    since: certificate.status_effective_from,
    subject: await shown(deps, party, { ...certificate, uuid, kind, legal_name }),
  });
}

async function reissue(
  deps: EnrolmentServices,
  { uuid, cert_id, act }: Parameters<Enrolment["reissue"]>[0],
): Issued {
  const { parties, actors } = deps;
  if ((await stateOf(deps, uuid)) === null) return unknown;
  const { certificate: inForce } = await parties.facts(uuid, "");
  if (inForce?.status !== "active")
    return refuse("refused", "The party has no active certificate; certify it first.");
  const known = await readCertificate(actors, uuid, inForce.cert_id);
  if (known === null) throw new Error(`The party ${uuid} does not know its certificate ${inForce.cert_id}.`);
  const isDone = known.previous === cert_id;
  if (!isDone && inForce.cert_id !== cert_id) return otherCertificate(inForce.cert_id);
  if (!isDone) {
    const { legal_name, country, verified_since, status, status_effective_from, subject } = known;
    const said = { legal_name, country, verified_since, status, status_effective_from, status_reason: null };
    await parties.issueCertificate({
      uuid,
      kind: subject.kind,
      ...said,
      act,
      follows: cert_id,
      isAgain: true,
    });
  }
  const now = await stateOf(deps, uuid);
  if (now?.certificate == null)
    throw new Error(`The certificate of ${uuid} was issued again, and is not there.`);
  return ok({ changed: !isDone, since: now.certificate.issued_at, subject: now });
}

async function registerKey(
  { parties, register, actors, clock, crypto }: EnrolmentServices,
  { uuid, valid_until, act, ...given }: Parameters<Enrolment["registerKey"]>[0],
): Outcome<KeyState> {
  const jwk = parsePublicJwk(given.public_key);
  if (!jwk.ok) return refuse("refused", jwk.detail);
  const envelope = parseEnvelope(given.proof);
  if (!envelope.ok) return refuse("refused", envelope.detail);
  const [public_key, proof] = [jwk.value, envelope.value];
  const party = isUuidV4(uuid) && (await register.party(uuid)) !== null ? await parties.party(uuid) : null;
  if (party === null) return unknown;
  const fault = keyFault(public_key, valid_until, clock.now());
  if (fault !== null) return fault;
  const key_id = thumbprint(public_key, crypto.sha256);
  const { certificate } = await parties.facts(uuid, key_id);
  if (certificate?.status !== "active")
    return refuse("refused", "The party has no active certificate; certify it first.");
  const valid_from = formatTimestamp(clock.now());
  const key: KeyFacts = {
    key_id,
    party_uuid: uuid,
    role: party.kind === "business" ? "integration" : "retrieval",
    alg: algorithmOf(public_key),
    public_key,
    cose: null,
    valid_from,
    valid_until,
    revoked_at: null,
    compromised_from: null,
  };
  const challenge = keyChallengeOf(certificate.cert_id);
  const changed = await parties.registerProvenKey({ key, challenge, proof, act });
  const facts = await readEntry<KeyFacts>(actors, uuid, `key/${key_id}`);
  if (facts === null) throw new Error(`The key ${key_id} was registered, and its party does not know it.`);
  // The node may have died between the two, so a second request has the missing statement made.
  const isStated = !changed && (await register.custody(uuid)).some((each) => each.key_id === key_id);
  if (facts.role === "integration" && !isStated)
    await parties.stateCustody({ uuid, key_id, custody: "self", effective_from: facts.valid_from });
  return ok({ changed, since: facts.valid_from, subject: keyState(facts, party.legal_name) });
}

function keyFault(jwk: PublicJwk, validUntil: string | null, nowMs: number): Refusal<"refused"> | null {
  if (algorithmOf(jwk) === "ML-DSA-65")
    return refuse("refused", "Requests are signed with Ed25519 or ES256; the key is of neither.");
  return validUntil !== null && validUntil <= formatTimestamp(nowMs)
    ? refuse("refused", "`valid_until` is not in the future.")
    : null;
}
