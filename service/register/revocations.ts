// What operators take out of force while there are no portals for it: keys, mandates, certificates and sandbox grants.
//   V1. Everything is decided by the party's actor, so it counts for publishing at once, whichever node was asked;
//       readers of every region follow within `freshMs` of their register once their store has it.
//   V2. Whatever was already taken out of force, from an earlier instant on, stays as it is: asking again changes
//       nothing, and the answer says since when.
//       The end of a certificate names the one that was seen: one that arrives late, after it was reinstated, changes nothing.
//   V3. The operator and the reason are kept by the party's actor together with the change.
//   V4. With the certificate of an AI company its keys end, unless the operator keeps them: a company that is not let in any more
//       does not go on asking. A key that a region has not heard of yet is ended by asking again.

import type {
  CertificateFacts,
  KeptAct,
  KeyFacts,
  MandateFacts,
  PartyFacts,
} from "../../actors/messages/business.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform, Signer } from "../../crypto/port.ts";
import { formatTimestamp, isKeyId, isUuidV4, parseTimestamp } from "../../protocol/identifiers.ts";
import {
  type Certificate,
  type CertificateStatus,
  transitionFault,
} from "../../protocol/keys/certificate.ts";
import { ok, type Refusal, type Result, refuse } from "../../protocol/result.ts";
import { certificateOf, otherCertificate, readEntry } from "./home-evidence.ts";
import type { Registered } from "./parties.ts";
import { isSuperseded, issueAttemptsMax, type Parties } from "./parties.ts";
import { openGrant, type RegisterGrantedKey } from "./sandbox-grant.ts";

export interface RevocationServices extends Platform, Actors, Registered {
  /** Null in production, which has no grants. */
  readonly grants: { readonly signer: Signer; readonly register: RegisterGrantedKey } | null;
}

export type KeyState = Pick<
  KeyFacts,
  "key_id" | "party_uuid" | "role" | "valid_from" | "valid_until" | "revoked_at" | "compromised_from"
> & { readonly legal_name: string };

export type MandateState = Omit<MandateFacts, "envelope" | "scope"> & { readonly legal_name: string };

export type CertificateState = Omit<CertificateFacts, "envelope"> & {
  readonly kind: PartyFacts["kind"];
  readonly legal_name: string;
};

/** The result of a request. `changed` is false if it was already so; `since` is when it started. */
export interface Done<T> {
  readonly changed: boolean;
  readonly since: string;
  readonly subject: T;
}

/** An ended certificate, with the keys that ended with it. */
export interface CertificateEnd extends Done<CertificateState> {
  readonly keys_ended: readonly string[];
}

export type EndedStatus = Exclude<CertificateStatus, "active">;

type Found<T> = Promise<Result<T, "unknown">>;
type Outcome<T, C extends string = "unknown" | "refused"> = Promise<Result<Done<T>, C>>;

export interface Revocations {
  /** Whether there are any to revoke: in a sandbox. */
  readonly hasGrants: boolean;
  key(keyId: string): Found<KeyState>;
  /** `compromised_from` is null for a key that nobody else had access to. */
  revokeKey(request: {
    readonly key_id: string;
    readonly compromised_from: string | null;
    readonly act: RegisterAct;
  }): Outcome<KeyState>;
  mandate(businessUuid: string, mandateId: string): Found<MandateState>;
  revokeMandate(request: {
    readonly business_uuid: string;
    readonly mandate_id: string;
    readonly act: RegisterAct;
  }): Outcome<MandateState>;
  certificate(uuid: string): Found<CertificateState>;
  /**
   * Takes effect at `effective_from`; if that is null, at the moment from which the certificate has ended already, or now. What has ended
   * stays so, for a graver reason or from an earlier moment if one is given (`transitionFault`). The keys of an AI company end as well,
   * unless `keep_keys` is given (V4). `cert_id` is that of the one that was seen; `changed` is refused where it is another by now.
   */
  endCertificate(request: {
    readonly uuid: string;
    readonly cert_id?: string;
    readonly status: EndedStatus;
    readonly effective_from: string | null;
    readonly status_reason: string;
    readonly keep_keys?: boolean;
    readonly act: RegisterAct;
  }): Promise<Result<CertificateEnd, "unknown" | "refused" | "changed">>;
  /** The key that the grant is for is refused from now on, even if the grant has not been used yet. */
  revokeGrant(request: { readonly grant: string; readonly act: RegisterAct }): Outcome<KeyState>;
  /** The changes made to a party's register with a name and a reason, oldest first. */
  acts(uuid: string, query: ActsQuery): Promise<ActsPage>;
}

export interface ActsQuery {
  /** The acts after this change. */
  readonly after: number;
  /** `table/key` of the only entry whose acts are wanted; null for those of all entries. */
  readonly entry: string | null;
}

export interface ActsPage {
  readonly acts: readonly KeptAct[];
  /** For the next page; null on the last. */
  readonly next_after: number | null;
}

/** Maximum number of acts in one answer. */
const actsPageMax = 100;
/** So many pages are read at most for the acts of one entry. */
const actsPagesMax = 20;

/** For operators: keys, mandates, certificates and grants, and their revocation. */
export function createRevocations(deps: RevocationServices): Revocations {
  const key: Revocations["key"] = async (keyId) => {
    const known = isKeyId(keyId) ? await deps.register.key(keyId) : null;
    const facts = known && (await entryOf<KeyFacts>(deps, known.party_uuid, `key/${keyId}`));
    return facts === null
      ? refuse("unknown", "No key with this key_id is registered here.")
      : ok(keyState(facts, await nameOf(deps, facts.party_uuid)));
  };
  const mandate: Revocations["mandate"] = async (uuid, mandateId) => {
    const facts = await entryOf<MandateFacts>(deps, uuid, `mandate/${mandateId}`);
    return facts === null
      ? refuse("unknown", "The business has no mandate with this mandate_id.")
      : ok(mandateState(facts, await nameOf(deps, uuid)));
  };
  return {
    hasGrants: deps.grants !== null,
    key,
    revokeKey: async ({ key_id, compromised_from, act }) => {
      const known = await key(key_id);
      if (!known.ok) return known;
      const fault = momentFault("compromised_from", compromised_from, deps);
      if (fault !== null) return fault;
      return revokeKey(deps, { uuid: known.value.party_uuid, key_id, compromised_from, act });
    },
    mandate,
    revokeMandate: async ({ business_uuid: uuid, mandate_id, act }) => {
      const known = await mandate(uuid, mandate_id);
      if (!known.ok) return known;
      const revoked_at = formatTimestamp(deps.clock.now());
      const changed = await deps.parties.revokeMandate({ uuid, mandate_id, revoked_at, act });
      const now = await mandate(uuid, mandate_id);
      return now.ok ? ok({ changed, since: now.value.revoked_at ?? revoked_at, subject: now.value }) : now;
    },
    certificate: async (uuid) => {
      const newest = await newestOf(deps, uuid);
      return newest === null ? noCertificate : ok(certificateState(newest));
    },
    endCertificate: async (request) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const ended = await endCertificate(deps, request);
          return ended.ok
            ? ok({ ...ended.value, keys_ended: await endKeys(deps, request, ended.value) })
            : ended;
        } catch (error) {
          // What is in force now is judged again: it may have been revoked.
          if (!isSuperseded(error) || attempt >= issueAttemptsMax) throw error;
        }
      }
    },
    revokeGrant: (request) => revokeGrant(deps, request),
    acts: (uuid, query) => readActs(deps, uuid, query),
  };
}

/** A party has few acts, and an entry fewer: they are read page by page, and the answer ends where enough were read. */
async function readActs(
  deps: RevocationServices,
  uuid: string,
  { after, entry }: ActsQuery,
): Promise<ActsPage> {
  if (!isUuidV4(uuid)) return { acts: [], next_after: null };
  const found: KeptAct[] = [];
  let at = after;
  for (let page = 1; ; page += 1) {
    const command = { type: "acts.read", after: at, limit: actsPageMax } as const;
    const { acts } = await deps.actors.ask(businessRef(uuid), command);
    found.push(...acts.filter((each) => entry === null || each.entry === entry));
    const last = acts.at(-1);
    if (acts.length < actsPageMax || last === undefined) return { acts: found, next_after: null };
    at = last.change;
    if (entry === null || page === actsPagesMax) return { acts: found, next_after: at };
  }
}

const noCertificate = refuse("unknown", "No certificate was issued to this uuid.");

/** An entry of the register as its owner has it. A party that was never opened is not asked, since that would create it. */
async function entryOf<T>(
  { register, actors }: RevocationServices,
  uuid: string,
  name: string,
): Promise<T | null> {
  return isUuidV4(uuid) && (await register.party(uuid)) !== null ? readEntry<T>(actors, uuid, name) : null;
}

async function nameOf({ register }: RevocationServices, uuid: string): Promise<string> {
  return (await register.party(uuid))?.legal_name ?? "";
}

/** Why a key or certificate cannot have ended at a moment; null where it can. */
export function momentFault(
  name: string,
  at: string | null,
  { clock }: Pick<RevocationServices, "clock">,
): Refusal<"refused"> | null {
  const ms = at === null ? 0 : parseTimestamp(at);
  if (ms === null) return refuse("refused", `\`${name}\` is not a moment such as 2026-11-21T03:00:00.000Z.`);
  return ms > clock.now() ? refuse("refused", `\`${name}\` is in the future.`) : null;
}

/** A key as operators are shown it. */
export function keyState(facts: KeyFacts, legal_name: string): KeyState {
  const { key_id, party_uuid, role, valid_from, valid_until, revoked_at, compromised_from } = facts;
  return { key_id, party_uuid, legal_name, role, valid_from, valid_until, revoked_at, compromised_from };
}

/** A mandate as operators are shown it. */
export function mandateState(facts: MandateFacts, legal_name: string): MandateState {
  const { envelope: _envelope, scope: _scope, ...rest } = facts;
  return { ...rest, legal_name };
}

async function revokeKey(
  deps: RevocationServices,
  request: Omit<Parameters<Parties["revokeKey"]>[0], "revoked_at"> & { readonly act: RegisterAct },
): Outcome<KeyState> {
  const { uuid, key_id } = request;
  const revoked_at = formatTimestamp(deps.clock.now());
  const changed = await deps.parties.revokeKey({ ...request, revoked_at });
  const facts = await entryOf<KeyFacts>(deps, uuid, `key/${key_id}`);
  if (facts === null) throw new Error(`The key ${key_id} was revoked, and its party does not know it.`);
  const subject = keyState(facts, await nameOf(deps, uuid));
  return ok({ changed, since: facts.revoked_at ?? revoked_at, subject });
}

/** The certificate in force as the party's actor has it, which may be ahead of every register. */
async function newestOf(deps: RevocationServices, uuid: string) {
  if (!isUuidV4(uuid) || (await deps.register.party(uuid)) === null) return null;
  const { certificate: inForce } = await deps.parties.facts(uuid, "");
  const facts = inForce && (await entryOf<CertificateFacts>(deps, uuid, `certificate/${inForce.cert_id}`));
  return facts === null ? null : { facts, certificate: certificateOf(facts) };
}

function certificateState(newest: {
  readonly facts: CertificateFacts;
  readonly certificate: Certificate;
}): CertificateState {
  const { envelope: _envelope, ...facts } = newest.facts;
  const { legal_name, subject } = newest.certificate;
  return { ...facts, kind: subject.kind, legal_name };
}

async function endCertificate(
  deps: RevocationServices,
  request: Parameters<Revocations["endCertificate"]>[0],
): Outcome<CertificateState, "unknown" | "refused" | "changed"> {
  const { uuid, cert_id: seen, status, effective_from, status_reason, act } = request;
  const before = await newestOf(deps, uuid);
  if (before === null) return noCertificate;
  const fault = momentFault("effective_from", effective_from, deps);
  if (fault !== null) return fault;
  const { certificate, facts } = before;
  const ended = facts.status === "active" ? null : facts.status_effective_from;
  const from = effective_from ?? ended ?? formatTimestamp(deps.clock.now());
  const isSeen = seen === undefined || seen === facts.cert_id;
  const isSo = facts.status === status && from === ended;
  if (isSo && (isSeen || certificate.previous === seen))
    return ok({ changed: false, since: from, subject: certificateState(before) });
  if (!isSeen) return otherCertificate(facts.cert_id);
  const faultOfOrder = transitionFault(facts, { status, status_effective_from: from });
  if (faultOfOrder !== null) return refuse("refused", faultOfOrder);
  const { legal_name, country, verified_since, subject } = certificate;
  const cert_id = await deps.parties.issueCertificate({
    uuid,
    kind: subject.kind,
    legal_name,
    country,
    verified_since,
    status,
    status_effective_from: from,
    status_reason,
    act,
    follows: facts.cert_id,
  });
  const issued = await entryOf<CertificateFacts>(deps, uuid, `certificate/${cert_id}`);
  if (issued === null)
    throw new Error(`The certificate ${cert_id} was issued, and its party does not know it.`);
  const state = certificateState({ certificate, facts: issued });
  return ok({ changed: true, since: issued.status_effective_from, subject: state });
}

/** See V4. Returns the keys that were live. */
async function endKeys(
  { parties, register, clock }: RevocationServices,
  { uuid, keep_keys = false, act }: Parameters<Revocations["endCertificate"]>[0],
  { subject }: Done<CertificateState>,
): Promise<readonly string[]> {
  if (subject.kind !== "ai_company" || keep_keys) return [];
  const live = (await register.keys(uuid)).filter(({ revoked_at }) => revoked_at === null);
  const revoked_at = formatTimestamp(clock.now());
  for (const { key_id } of live)
    await parties.revokeKey({ uuid, key_id, revoked_at, compromised_from: null, act });
  return live.map(({ key_id }) => key_id);
}

async function revokeGrant(
  deps: RevocationServices,
  request: { readonly grant: string; readonly act: RegisterAct },
): Outcome<KeyState> {
  const { grants, crypto } = deps;
  if (grants === null) return refuse("unknown", "Production has no grants.");
  const opened = openGrant(request.grant, { grantKey: grants.signer.publicJwk, crypto });
  if (!opened.ok) return refuse("unknown", opened.detail);
  const { grant, keyId: key_id } = opened.value;
  // A key that is not known yet is registered first: what does not exist could not be refused.
  if ((await deps.register.key(key_id)) === null) {
    const registered = await grants.register(grant, key_id);
    if (registered.status === "refused") return refuse("refused", registered.detail);
  }
  return revokeKey(deps, { uuid: grant.party.uuid, key_id, compromised_from: null, act: request.act });
}
