// Parties and what is registered for them: certificates, keys, mandates, AI policies, custody. Each function builds and
// checks the document, then asks the business actor, which owns the register. All of them are idempotent.

import type {
  CertificateFacts,
  CustodyFacts,
  KeyFacts,
  ListedMandate,
  MandateFacts,
  PartyFacts,
  PublishingFacts,
  RegisterCommand,
} from "../../actors/messages/business.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, isTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { parseBusinessKeys } from "../../protocol/keys/business-keys.ts";
import {
  type Certificate,
  certIdOf,
  certificatePayload,
  parseCertificate,
} from "../../protocol/keys/certificate.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import {
  type KeyCustody,
  keyCustodyPayload,
  parseKeyCustody,
  statementIdOf,
} from "../../protocol/keys/key-directory.ts";
import { openMandate } from "../../protocol/mandate.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import { ok, type Result } from "../../protocol/result.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import { verifyMandate } from "../../verifier/mandate.ts";
import { judgePolicy, type PolicyRequest, type RegisteringServices } from "./accept-policy.ts";
import {
  keysOf,
  mayBind,
  publishedKeys,
  readCertificate,
  readNumbered,
  readSigner,
} from "./home-evidence.ts";
import { type PossessionRequest, verifyPossession } from "./key-possession.ts";
import type { Register } from "./register.ts";
import type { ServiceKeys } from "./service-keys.ts";

export interface PartiesDeps extends RegisteringServices {
  readonly keys: ServiceKeys;
  /** A key belongs to the first party that claims it; resolves to that party (storage/register-store.ts, G5). */
  readonly claimKey: RegisterStore["claimKey"];
  /** Gives a party that has no home its home in this region. Errors of the store propagate. */
  readonly settleHome: (uuid: string) => Promise<void>;
}

export interface NewMandate {
  readonly mandate: MandateFacts;
  readonly beside: PublishingFacts["mandates"];
}

/** Who is known, and who registers. */
export interface Registered {
  readonly register: Register;
  readonly parties: Parties;
}

/** The register did not accept it: a refusal by the business actor, or a document that is not as it should be. */
export class RegisterRefused extends Error {
  readonly code: string;
  readonly detail: string;
  constructor(code: string, detail: string) {
    super(`${code}: ${detail}`);
    this.name = "RegisterRefused";
    this.code = code;
    this.detail = detail;
  }
}

export interface CertificateRequest
  extends Pick<
    Certificate,
    "legal_name" | "country" | "verified_since" | "status" | "status_effective_from"
  > {
  readonly uuid: string;
  readonly kind: Certificate["subject"]["kind"];
  /** Required for every status except `active`. */
  readonly status_reason: string | null;
  /**
   * The cert_id that must be in force, null for none; otherwise `certificate_superseded` is thrown. If omitted, the newest is followed.
   */
  readonly follows?: string | null;
  /** Whether one that says the same as that which it follows is issued all the same. */
  readonly isAgain?: boolean;
  /** Who has it issued, and why; never published. */
  readonly act?: RegisterAct;
}

/** A change of what is registered for a party, as its actor takes it. */
type Change<T extends RegisterCommand["type"]> = Omit<Extract<RegisterCommand, { type: T }>, "type"> & {
  readonly uuid: string;
};

type CustodyRequest = Pick<KeyCustody, "key_id" | "custody" | "effective_from"> & { readonly uuid: string };

export interface Parties {
  open(party: PartyFacts, act?: RegisterAct): Promise<void>;
  /** Issues the next certificate; an issuance that changes nothing returns the one in force and stores no act. */
  issueCertificate(request: CertificateRequest): Promise<string>;
  /**
   * For callers that know that the party has the private half: it was generated here, or has just signed a request. A
   * key of another party is refused with `key_taken`, permanently.
   */
  registerKey(key: KeyFacts, act?: RegisterAct): Promise<void>;
  /**
   * The key itself signs the party, the role and the challenge of its registration. Returns false if it was registered before.
   */
  registerProvenKey(request: PossessionRequest<KeyFacts> & { readonly act?: RegisterAct }): Promise<boolean>;
  /**
   * Verifies the proof, and claims the key for the party, which need not be open yet. Nothing is registered.
   */
  claimProvenKey(request: PossessionRequest<KeyFacts>): Promise<void>;
  /** The earlier instants are kept. Returns false if it changed nothing, also for {@link revokeMandate}. */
  revokeKey(request: Change<"key.revoke">): Promise<boolean>;
  /** The mandate as {@link acceptMandate} judges it; nothing is registered. */
  judgeMandate(envelope: Envelope, uuid: string): Promise<MandateFacts>;
  /**
   * Sealed by an owner's or admin's passkey; in the sandbox also by the key held for the business. Returns those that it stands
   * beside: it replaces none, so a portal asks whether one is to be revoked ({@link revokeMandate}). It is judged by the keys of
   * `uuid`, or of the business that it names. `act` is that of the person who sealed it at the portal.
   */
  acceptMandate(envelope: Envelope, uuid?: string, act?: RegisterAct): Promise<NewMandate>;
  /**
   * From now on nothing is published under it, and nothing sealed from `revoked_at` on is valid; what was sealed before
   * remains valid.
   */
  revokeMandate(request: Change<"mandate.revoke">): Promise<boolean>;
  /**
   * Accepts the next AI policy version; the seal names the version that it creates, which is in force from then on. The
   * same record again has no effect; a different one for an existing version is refused with `ai_policy_version_used`.
   */
  acceptPolicy(request: PolicyRequest): Promise<{ readonly record_id: string; readonly version: number }>;
  stateCustody(request: CustodyRequest): Promise<CustodyFacts>;
  /** A business blocks or unblocks a group of AI companies. Returns false if it changed nothing. */
  setBlocked(request: Change<"group.block"> & { readonly blocked: boolean }): Promise<boolean>;
  /** The party's entry as its actor has it, which may be ahead of every register; null for one that was never opened. */
  party(uuid: string): Promise<PartyFacts | null>;
  /** The same with the number of its last change, which an act names as what was seen. */
  entry(uuid: string): Promise<{ readonly facts: PartyFacts | null; readonly change: number }>;
  /** Confirms a brand as the business's own, or takes it back. Returns false if it changed nothing. */
  confirmBrand(request: Change<"brand.confirm">): Promise<boolean>;
  /** An AI company changes its group; the blocks of its former groups follow it. Returns false if it changed nothing. */
  joinGroup(request: Change<"group.join">): Promise<boolean>;
  /** An AI company chooses whether the key directory lists it. */
  setListed(request: Change<"directory.choose">): Promise<void>;
  facts(uuid: string, keyId: string): Promise<PublishingFacts>;
}

/** Registers parties, keys, mandates and certificates; each call throws {@link RegisterRefused} for what is not accepted. */
export function createParties(deps: PartiesDeps): Parties {
  const change = async (uuid: string, command: RegisterCommand): Promise<boolean> => {
    const reply = await deps.actors.ask(businessRef(uuid), command);
    if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
    return reply.changed === true;
  };
  const ask = (uuid: string, command: RegisterCommand): Promise<void> => change(uuid, command).then(() => {});
  const facts = async (uuid: string, keyId: string): Promise<PublishingFacts> => {
    await deps.settleHome(uuid);
    return deps.actors.ask(businessRef(uuid), { type: "publishing.facts", key_id: keyId });
  };
  const registerKey = async (key: KeyFacts, act?: RegisterAct): Promise<boolean> => {
    const { party, key: known } = await facts(key.party_uuid, key.key_id);
    if (party === null) throw new RegisterRefused("party_unknown", "The party is opened before its keys.");
    assertRole(key, { party, isNew: known === "unknown" });
    await assertOwner(deps, key);
    return change(key.party_uuid, { type: "key.register", key, ...(act === undefined ? {} : { act }) });
  };
  const entry: Parties["entry"] = (uuid) => readNumbered<PartyFacts>(deps.actors, uuid, `party/${uuid}`);
  const assertProven = (request: PossessionRequest<KeyFacts>): void => {
    const passkeys = deps.trust().anchors.passkeys;
    taken(verifyPossession({ crypto: deps.crypto, passkeys }, request));
  };
  return {
    open: async (party, act) => {
      await deps.settleHome(party.uuid);
      return ask(party.uuid, { type: "party.open", party, ...(act === undefined ? {} : { act }) });
    },
    registerKey: (key, act) => registerKey(key, act).then(() => {}),
    claimProvenKey: async (request) => {
      assertProven(request);
      await assertOwner(deps, request.key);
    },
    registerProvenKey: async (request) => {
      assertProven(request);
      return registerKey(request.key, request.act);
    },
    revokeMandate: async ({ uuid, ...revocation }) => {
      assertInstants(revocation.revoked_at);
      return change(uuid, { type: "mandate.revoke", ...revocation });
    },
    revokeKey: async ({ uuid, ...revocation }) => {
      assertInstants(revocation.revoked_at, revocation.compromised_from);
      return change(uuid, { type: "key.revoke", ...revocation });
    },
    setBlocked: ({ uuid, blocked, ...asked }) =>
      change(uuid, { type: blocked ? "group.block" : "group.unblock", ...asked }),
    party: async (uuid) => (await entry(uuid)).facts,
    entry,
    confirmBrand: ({ uuid, ...asked }) => change(uuid, { type: "brand.confirm", ...asked }),
    joinGroup: ({ uuid, ...asked }) => change(uuid, { type: "group.join", ...asked }),
    setListed: ({ uuid, ...asked }) => ask(uuid, { type: "directory.choose", ...asked }),
    facts,
    issueCertificate: (request) => issueCertificate(deps, request, { facts, ask }),
    judgeMandate: async (envelope, uuid) => taken(await judgeMandate(deps, envelope, uuid)),
    acceptMandate: async (envelope, uuid, act) => {
      const mandate = taken(await judgeMandate(deps, envelope, uuid));
      const { business_uuid: home, key_id, mandate_id } = mandate;
      await ask(home, { type: "mandate.accept", mandate, ...actIn({ act }) });
      const { mandates } = await facts(home, key_id);
      return { mandate, beside: besides(mandates, mandate_id, deps.clock.now()) };
    },
    acceptPolicy: async (request) => {
      const inForce = await facts(request.uuid, "");
      const { policy, isKnown } = taken(await judgePolicy(deps, request, inForce));
      const { inForceSince: since } = request;
      const more = { ...(since === undefined ? {} : { since }), ...actIn(request) };
      const command = { type: "policy.accept", policy, ...more } as const;
      if (!isKnown) await ask(request.uuid, command);
      return { record_id: policy.record_id, version: policy.version };
    },
    stateCustody: async (request) => {
      const custody = await buildCustody(deps, request);
      await ask(request.uuid, { type: "custody.state", custody });
      return custody;
    },
  };
}

export const issueAttemptsMax = 5;

async function issueCertificate(
  deps: PartiesDeps,
  request: CertificateRequest,
  {
    facts,
    ask,
  }: {
    readonly facts: Parties["facts"];
    readonly ask: (uuid: string, command: RegisterCommand) => Promise<void>;
  },
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const { certificate: inForce } = await facts(request.uuid, "");
    const isWanted = request.isAgain === true && inForce?.cert_id === request.follows;
    if (inForce !== null && !isWanted && (await saysAllOf(deps, request, inForce, attempt > 1)))
      return inForce.cert_id;
    const follows = request.follows === undefined ? (inForce?.cert_id ?? null) : request.follows;
    const certificate = await buildCertificate(deps, request, follows);
    const act = request.act === undefined ? {} : { act: request.act };
    try {
      await ask(request.uuid, { type: "certificate.issue", certificate, follows, ...act });
      return certificate.cert_id;
    } catch (error) {
      const isLost = request.follows !== undefined || attempt >= issueAttemptsMax;
      if (isLost || !isSuperseded(error)) throw error;
    }
  }
}

/** Another certificate was issued while this one was being made. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof RegisterRefused && error.code === "certificate_superseded";
}

/** Each kind of party has its own kinds of keys, and a person's key names what the person may do. */
function assertRole(
  key: KeyFacts,
  { party, isNew }: { readonly party: Pick<PartyFacts, "kind">; readonly isNew: boolean },
): void {
  if ((party.kind === "ai_company") !== (key.role === "retrieval")) {
    const detail = "A retrieval key must belong to an AI company, and every other key to a business.";
    throw new RegisterRefused("role_not_allowed", detail);
  }
  if (isNew && key.role === "sealing" && key.person_role === undefined)
    throw new RegisterRefused("role_missing", "A passkey must be registered with the role of its person.");
}

/**
 * The key belongs to the party permanently before the party's actor hears of it: actors of two parties do not know each
 * other.
 */
async function assertOwner(deps: PartiesDeps, key: KeyFacts): Promise<void> {
  if (thumbprint(key.public_key, deps.crypto.sha256) !== key.key_id)
    throw new RegisterRefused("key_mismatch", "The key_id is not the thumbprint of the public key.");
  assertPublishable(deps, key);
  if ((await deps.claimKey(key.key_id, key.party_uuid)) !== key.party_uuid)
    throw new RegisterRefused("key_taken", "The key belongs to another party; register a new one.");
}

/** A single unreadable key would hide all published keys of its business: they are signed as one list. */
function assertPublishable({ clock, crypto }: PartiesDeps, key: KeyFacts): void {
  const published = publishedKeys({
    uuid: key.party_uuid,
    certId: hashOf(new Uint8Array(), crypto.sha256),
    issuedAt: formatTimestamp(clock.now()),
    keys: [key],
  });
  assertReadable(parseBusinessKeys(canonicalBytes(published), crypto.sha256));
}

/** They are published with the key, and compared as text. */
function assertInstants(...instants: readonly (string | null)[]): void {
  const wrong = instants.find((each) => each !== null && !isTimestamp(each));
  if (wrong !== undefined)
    throw new RegisterRefused("payload_malformed", "A revocation must use UTC timestamps with milliseconds.");
}

/**
 * Whether the certificate in force says everything that is requested: from the same instant on or, if another one was
 * issued while this one was being made, from an earlier one on.
 */
async function saysAllOf(
  { actors }: PartiesDeps,
  request: CertificateRequest,
  inForce: NonNullable<PublishingFacts["certificate"]>,
  isSecond: boolean,
): Promise<boolean> {
  const { status, status_effective_from: from } = request;
  const { status: status_, status_effective_from: since } = inForce;
  if (status_ !== status || !(since === from || (isSecond && since < from))) return false;
  const certificate = await readCertificate(actors, request.uuid, inForce.cert_id);
  return (
    certificate !== null &&
    certificate.subject.kind === request.kind &&
    certificate.legal_name === request.legal_name &&
    certificate.country === request.country &&
    certificate.verified_since === request.verified_since &&
    (certificate.status_reason ?? null) === request.status_reason
  );
}

async function buildCertificate(
  deps: PartiesDeps,
  request: CertificateRequest,
  previous: string | null,
): Promise<CertificateFacts> {
  const issuedAt = formatTimestamp(deps.clock.now());
  const payload = certificatePayload({
    v: 1,
    subject: { kind: request.kind, uuid: request.uuid },
    legal_name: request.legal_name,
    country: request.country,
    verified_since: request.verified_since,
    status: request.status,
    status_effective_from: request.status_effective_from,
    ...(request.status_reason === null ? {} : { status_reason: request.status_reason }),
    issued_at: issuedAt,
    previous,
    ...sandboxMark(deps),
  });
  assertReadable(parseCertificate(payload));
  const envelope = await issued(deps, payloadTypes["certificate.v1"], payload);
  return {
    cert_id: certIdOf(payload, deps.crypto.sha256),
    uuid: request.uuid,
    status: request.status,
    status_effective_from: request.status_effective_from,
    status_reason: request.status_reason,
    issued_at: issuedAt,
    envelope: JSON.stringify(envelope),
  };
}

/** What cannot be read back is not signed: it would be in the register permanently, and verify for nobody. */
function assertReadable(read: Verdict<unknown>): void {
  if (!read.ok) throw new RegisterRefused(read.code, `${read.pointer ?? "/"}: ${read.detail}`);
}

/** Unwraps what was judged correct; throws the refusal otherwise. */
function taken<T>(judged: Result<T>): T {
  if (!judged.ok) throw new RegisterRefused(judged.code, judged.detail);
  return judged.value;
}

function sandboxMark(deps: PartiesDeps): { readonly sandbox?: true } {
  return deps.keys.environment === "sandbox" ? { sandbox: true } : {};
}

async function issued({ keys }: PartiesDeps, payloadType: string, payload: Uint8Array): Promise<Envelope> {
  const envelope = await keys.issuance.issue(payloadType, payload);
  if (!envelope.ok) throw new RegisterRefused(envelope.code, envelope.detail);
  return envelope.value;
}

async function buildCustody(
  deps: PartiesDeps,
  { uuid: business_uuid, key_id, custody, effective_from }: CustodyRequest,
): Promise<CustodyFacts> {
  const issued_at = formatTimestamp(deps.clock.now());
  const facts = { business_uuid, key_id, custody, effective_from, issued_at };
  const payload = keyCustodyPayload({ v: 1, ...facts, ...sandboxMark(deps) });
  assertReadable(parseKeyCustody(payload));
  const envelope = await issued(deps, payloadTypes["key-custody.v1"], payload);
  return {
    statement_id: statementIdOf(payload, deps.crypto.sha256),
    ...facts,
    envelope: JSON.stringify(envelope),
  };
}

// Accepting a mandate: it is judged by the verifier's own function, so that whatever the register holds verifies for
// everybody.

/**
 * The other mandates of the key that have neither ended nor been revoked, the newest first: a further one stands beside them and
 * takes nothing away from them.
 */
function besides(
  mandates: readonly ListedMandate[],
  mandateId: string,
  nowMs: number,
): readonly ListedMandate[] {
  const now = formatTimestamp(nowMs);
  return mandates.filter(
    ({ mandate_id, revoked_at, valid_until }) =>
      mandate_id !== mandateId && revoked_at === null && valid_until > now,
  );
}

/** What the register is to accept; otherwise the reason its seal is refused, or why its sealer may not seal it. */
async function judgeMandate(
  { actors, clock, trust }: RegisteringServices,
  envelope: Envelope,
  asked?: string,
): Promise<Result<MandateFacts>> {
  const opened = openMandate(envelope);
  if (!opened.ok) return opened;
  const uuid = asked ?? opened.value.business_uuid;
  const key = await readSigner(actors, uuid, envelope);
  const verified = verifyMandate(trust(), keysOf(uuid, [key]), envelope);
  if (!verified.ok) return verified;
  const nowMs = clock.now();
  const allowed = key === null ? ok(undefined) : mayBind(key, nowMs);
  if (!allowed.ok) return allowed;
  const { v: _version, ...mandate } = verified.value;
  const accepted_at = formatTimestamp(nowMs);
  return ok({ ...mandate, revoked_at: null, accepted_at, envelope: JSON.stringify(envelope) });
}

function actIn({ act }: { readonly act?: RegisterAct | undefined }): { readonly act?: RegisterAct } {
  return act === undefined ? {} : { act };
}
