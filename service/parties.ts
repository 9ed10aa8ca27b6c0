// Parties and what is registered of them: certificates, keys, mandates, AI policies, custody. Each function builds and
// checks the document, then asks the business actor, which owns the register. All of them can be repeated.

import type {
  BusinessCommand,
  CertificateFacts,
  KeyFacts,
  MandateFacts,
  PartyFacts,
  PolicyFacts,
  PublishingFacts,
  RegisterAct,
  RegisterReply,
} from "../actors/messages/business.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { parseAiPolicy, policyBits } from "../protocol/ai-policy.ts";
import { toBase64, utf8 } from "../protocol/bytes.ts";
import { type CertificateStatus, certIdOf, certificatePayload } from "../protocol/certificate.ts";
import { type Envelope, payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp, recordIdOf } from "../protocol/identifiers.ts";
import { type PublicJwk, thumbprint } from "../protocol/jwk.ts";
import { keyCustodyPayload, statementIdOf } from "../protocol/key-custody.ts";
import { openMandate } from "../protocol/mandate.ts";
import type { PasskeyOrigins } from "../protocol/passkey.ts";
import { openSeal } from "../protocol/seal.ts";
import type { RegisterStore } from "../storage/register-store.ts";
import { type PossessionRequest, verifyPossession } from "./key-possession.ts";
import type { ServiceKeys } from "./service-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";
import { verifySealing } from "./verify-sealing.ts";

export interface PartiesDeps {
  readonly actors: ActorSystem;
  readonly clock: Clock;
  readonly crypto: CryptoPort;
  readonly keys: ServiceKeys;
  /** Secret of record ids: makes them unguessable; never rotates. */
  readonly recordIdKey: Uint8Array;
  /** Origins and relying-party ids whose passkeys count. */
  readonly passkeys: PasskeyOrigins;
  /** A key belongs to the first party that claims it; answers which (storage/register-store.ts, G5). */
  readonly claimKey: RegisterStore["claimKey"];
  /** Gives a party that has none its home in this region. Throws what the store throws. */
  readonly settleHome: (uuid: string) => Promise<void>;
}

/** The register would not take it: a refusal of the business actor, or a document that is not what it should be. */
export class RegisterRefused extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(`${code}: ${detail}`);
    this.name = "RegisterRefused";
    this.code = code;
  }
}

export interface CertificateRequest {
  readonly uuid: string;
  readonly kind: "business" | "ai_company";
  readonly legal_name: string;
  readonly country: string;
  readonly verified_since: string;
  readonly status: CertificateStatus;
  readonly status_effective_from: string;
  /** Required for every status but `active`. */
  readonly status_reason: string | null;
  /** cert_id that must be in force; with another one `certificate_superseded` is thrown. Without it the newest is followed. */
  readonly follows?: string;
  /** Who has it issued, and why; never published. */
  readonly act?: RegisterAct;
}

export interface Parties {
  open(party: PartyFacts): Promise<void>;
  /** Issues the next certificate; an issuance that says nothing new answers the one in force, and keeps no act. */
  issueCertificate(request: CertificateRequest): Promise<string>;
  /**
   * For callers that know that the party has the private half: it was generated here, or has just signed a request. A key of
   * another party is `key_taken`, for ever.
   */
  registerKey(key: KeyFacts): Promise<void>;
  /** For portals: the key itself signs for whom, as what and at which challenge it is registered. */
  registerProvenKey(request: PossessionRequest): Promise<void>;
  /** The earlier moments stand. False where nothing changed by it, also for {@link revokeMandate}. */
  revokeKey(request: {
    readonly uuid: string;
    readonly key_id: string;
    readonly revoked_at: string;
    readonly compromised_from: string | null;
    readonly act?: RegisterAct;
  }): Promise<boolean>;
  acceptMandate(envelope: Envelope): Promise<void>;
  /** Nothing is published under it from now on, and nothing sealed from `revoked_at` on stands; what was before does. */
  revokeMandate(request: {
    readonly uuid: string;
    readonly mandate_id: string;
    readonly revoked_at: string;
    readonly act?: RegisterAct;
  }): Promise<boolean>;
  /** Accepts the next AI policy version; the seal names the version that it creates. */
  acceptPolicy(request: {
    readonly uuid: string;
    readonly record: Uint8Array;
    readonly seal: Envelope;
  }): Promise<{ readonly record_id: string; readonly version: number }>;
  stateCustody(request: {
    readonly uuid: string;
    readonly key_id: string;
    readonly custody: "hosted" | "self";
    readonly effective_from: string;
  }): Promise<void>;
  /** A business blocks or unblocks a group of AI companies. */
  setBlocked(request: {
    readonly uuid: string;
    readonly group: string;
    readonly blocked: boolean;
  }): Promise<void>;
  facts(uuid: string, keyId: string): Promise<PublishingFacts>;
}

export function createParties(deps: PartiesDeps): Parties {
  const change = async (uuid: string, command: BusinessCommand): Promise<boolean> => {
    const reply = await deps.actors.ask<RegisterReply>(businessRef(uuid), command);
    if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
    return reply.changed === true;
  };
  const ask = async (uuid: string, command: BusinessCommand): Promise<void> => {
    await change(uuid, command);
  };
  const facts = async (uuid: string, keyId: string): Promise<PublishingFacts> => {
    await deps.settleHome(uuid);
    const command: BusinessCommand = { type: "publishing.facts", key_id: keyId };
    return deps.actors.ask<PublishingFacts>(businessRef(uuid), command);
  };
  const registerKey = async (key: KeyFacts): Promise<void> => {
    const { party } = await facts(key.party_uuid, key.key_id);
    if (party === null) throw new RegisterRefused("party_unknown", "The party is opened before its keys.");
    await assertOwner(deps, key);
    await ask(key.party_uuid, { type: "key.register", key });
  };
  return {
    open: async (party) => {
      await deps.settleHome(party.uuid);
      return ask(party.uuid, { type: "party.open", party });
    },
    registerKey,
    registerProvenKey: async (request) => {
      const proven = verifyPossession(deps, request);
      if (!proven.ok) throw new RegisterRefused(proven.code, proven.detail);
      await registerKey(request.key);
    },
    revokeMandate: ({ uuid, ...revocation }) => change(uuid, { type: "mandate.revoke", ...revocation }),
    revokeKey: ({ uuid, ...revocation }) => change(uuid, { type: "key.revoke", ...revocation }),
    setBlocked: ({ uuid, group, blocked }) =>
      ask(uuid, { type: blocked ? "group.block" : "group.unblock", group }),
    facts,
    issueCertificate: async (request) => {
      for (let attempt = 1; ; attempt += 1) {
        const { certificate: inForce } = await facts(request.uuid, "");
        if (inForce !== null && saysSo(inForce, request, attempt > 1)) return inForce.cert_id;
        const follows = request.follows ?? inForce?.cert_id ?? null;
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
    },
    acceptMandate: async (envelope) => {
      const mandate = mandateFacts(envelope);
      await assertSealed(deps, mandate.business_uuid, envelope);
      await ask(mandate.business_uuid, { type: "mandate.accept", mandate });
    },
    acceptPolicy: async (request) => {
      const policy = policyFacts(deps, request);
      await assertSealed(deps, request.uuid, request.seal);
      const { policy: inForce } = await facts(request.uuid, "");
      if (inForce.version < policy.version) await ask(request.uuid, { type: "policy.accept", policy });
      return { record_id: policy.record_id, version: policy.version };
    },
    stateCustody: async (request) => {
      const custody = await buildCustody(deps, request);
      await ask(request.uuid, { type: "custody.state", custody });
    },
  };
}

export const issueAttemptsMax = 5;

/**
 * Whether the certificate in force says what the request asks for: exactly, or, where another one was issued while this one
 * was made, the same status from an earlier moment on.
 */
function saysSo(
  { status, status_effective_from: from }: Pick<CertificateFacts, "status" | "status_effective_from">,
  request: CertificateRequest,
  isSecond: boolean,
): boolean {
  if (status !== request.status) return false;
  return isSecond ? from <= request.status_effective_from : from === request.status_effective_from;
}

/** Another certificate was issued while this one was made. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof RegisterRefused && error.code === "certificate_superseded";
}

/** The key is the party's for ever, before its actor hears of it: actors of two parties know nothing of each other. */
async function assertOwner(deps: PartiesDeps, key: KeyFacts): Promise<void> {
  if (thumbprint(key.public_key as unknown as PublicJwk, deps.crypto.sha256) !== key.key_id)
    throw new RegisterRefused("key_mismatch", "The key_id is not the thumbprint of the public key.");
  if ((await deps.claimKey(key.key_id, key.party_uuid)) !== key.party_uuid)
    throw new RegisterRefused("key_taken", "The key belongs to another party; register a new one.");
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
  const envelope = await signEnvelope(payloadTypes["certificate.v1"], payload, deps.keys.issuance);
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

/** Only an owner's or admin's passkey, or the key held for the business, seals what the register then says. */
async function assertSealed(deps: PartiesDeps, uuid: string, envelope: Envelope): Promise<void> {
  const sealed = await verifySealing(deps, uuid, envelope);
  if (!sealed.ok) throw new RegisterRefused(sealed.code, sealed.detail);
}

function sandboxMark(deps: PartiesDeps): { readonly sandbox?: true } {
  return deps.keys.environment === "sandbox" ? { sandbox: true } : {};
}

function mandateFacts(envelope: Envelope): MandateFacts {
  const opened = openMandate(envelope);
  if (!opened.ok) throw new RegisterRefused(opened.code, opened.detail);
  const { v: _version, ...mandate } = opened.value;
  return { ...mandate, revoked_at: null, envelope: JSON.stringify(envelope) };
}

function policyFacts(
  deps: PartiesDeps,
  request: { readonly uuid: string; readonly record: Uint8Array; readonly seal: Envelope },
): PolicyFacts {
  const record = parseAiPolicy(request.record);
  if (!record.ok) throw new RegisterRefused(record.code, record.detail);
  const seal = openSeal(request.seal);
  if (!seal.ok) throw new RegisterRefused(seal.code, seal.detail);
  if (seal.value.v !== 2) throw new RegisterRefused("version_unknown", "An AI policy is sealed in format 2.");
  if (seal.value.hash !== hashOf(request.record, deps.crypto.sha256)) {
    throw new RegisterRefused("hash_mismatch", "The seal is over other bytes than the AI policy record.");
  }
  const { use, action, blocked } = policyBits(record.value);
  return {
    business_uuid: request.uuid,
    version: seal.value.ai_policy_version,
    record_id: recordIdOf(
      "ai_policy",
      deps.crypto.hmacSha256(deps.recordIdKey, utf8(`${request.uuid}\nai_policy\n`)),
    ),
    record_base64: toBase64(request.record),
    seal: JSON.stringify(request.seal),
    live_from: seal.value.sealed_at,
    bits: { use, action, blocked },
  };
}

async function buildCustody(
  deps: PartiesDeps,
  request: {
    readonly uuid: string;
    readonly key_id: string;
    readonly custody: "hosted" | "self";
    readonly effective_from: string;
  },
) {
  const issuedAt = formatTimestamp(deps.clock.now());
  const payload = keyCustodyPayload({
    v: 1,
    business_uuid: request.uuid,
    key_id: request.key_id,
    custody: request.custody,
    issued_at: issuedAt,
    effective_from: request.effective_from,
    ...sandboxMark(deps),
  });
  const envelope = await signEnvelope(payloadTypes["key-custody.v1"], payload, deps.keys.issuance);
  return {
    statement_id: statementIdOf(payload, deps.crypto.sha256),
    business_uuid: request.uuid,
    key_id: request.key_id,
    custody: request.custody,
    effective_from: request.effective_from,
    issued_at: issuedAt,
    envelope: JSON.stringify(envelope),
  };
}
