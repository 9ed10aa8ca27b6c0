// Authenticates a signed request in two phases, because a body is read only for a caller whose signature verifies
// (specification, «Authentication»).
//   A1. The first of the seven checks that fails determines the answer; check 6 is made before the body needed for check
//       5 has arrived.
//   A2. keyid comes from the caller: it selects a key and proves nothing. The caller's identity and the algorithm come
//       from the registered key (RFC 9421 §3.2).
//   A3. A nonce is claimed only after the signature has been verified, and before anything is said about the request
//       itself.
//   A4. Nothing is registered before check 6 has passed. The form of SVC-Sandbox-Key is judged with check 4, before the
//       key is looked up, so that the answer reveals nothing about the key.
//   A5. Every request whose signature verified counts towards its key's request rate, replays included, before anything
//       is said about the request itself. A request beyond the rate still claims its nonce.
//   A6. A key that is bound to another region is refused once its signature has been verified, and before its nonce is
//       claimed: the same request may still be sent where it belongs.

import type { KeyFacts, PartyFacts } from "../../actors/messages/business.ts";
import type { IntegrationKeyCommand, NonceReply } from "../../actors/messages/integration-key.ts";
import type { KeyRole } from "../../actors/messages/party.ts";
import { nonceRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { Clock, CryptoPort, SignatureJudge, Signer } from "../../crypto/port.ts";
import { equalBytes, hashOf, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import {
  checkSignatureTimes,
  coversExactly,
  parseContentDigest,
  parseSignatureHeaders,
  type ReceivedSignature,
  type SignatureTag,
  type SignedRequestParts,
  signatureBase,
} from "../../protocol/http-signature.ts";
import { formatTimestamp, isKeyId } from "../../protocol/identifiers.ts";
import { algorithmOf } from "../../protocol/keys/jwk.ts";
import { grantLengthMax } from "../../protocol/limits.ts";
import type { ProblemCode, ProblemExtras } from "../../protocol/problem.ts";
import type { CommitOutcome } from "../../storage/actor-store.ts";
import { type Caller, type Refused, refusedWith } from "../answer.ts";
import type { MaybeLater, Register } from "../register/register.ts";
import {
  issueBearer,
  parseBearer,
  parseGrant,
  type RegisterGrantedKey,
  type SandboxGrant,
} from "../register/sandbox-grant.ts";
import type { Environment } from "../register/service-keys.ts";
import type { KeyNetworks } from "../register/source-address.ts";
import type { KeyRate, LimitFields } from "./regional-limits.ts";

export interface AuthenticationDeps {
  readonly environment: Environment;
  readonly region: string;
  readonly register: Register;
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
  /** Makes check 6. */
  readonly judge: SignatureJudge;
  readonly clock: Clock;
  /** Signs grants and bearer tokens; null in production, which accepts neither. */
  readonly grantSigner: Signer | null;
  readonly registerGrantedKey: RegisterGrantedKey;
  /** Null if there is no limit. */
  readonly requestRate: KeyRate | null;
  /** The limits reported to a key; null if there are none. */
  readonly limitFields: LimitFields | null;
  /** Null if keys are not bound to regions. */
  readonly keyRegion: KeyRegion | null;
  /** Absent where nobody is told from which networks keys sign. */
  readonly networks?: KeyNetworks;
}

/** What one route accepts. */
export interface AcceptedCallers {
  /** The `@authority` values of this deployment, as {@link authorityOf} writes them. */
  readonly authorities: readonly string[];
  readonly tags: readonly SignatureTag[];
  readonly roles: readonly KeyRole[];
  /** Whether the sandbox accepts a bearer token here. */
  readonly bearer: boolean;
}

/** A caller for whom everything that the head alone can show is in order. */
export interface Candidate {
  readonly kind: "candidate";
  readonly key: KeyFacts;
  /** Null for a grant that has not been registered yet. */
  readonly party: PartyFacts | null;
  readonly parts: SignedRequestParts;
  /** Null with a bearer token. */
  readonly received: ReceivedSignature | null;
  readonly grant: SandboxGrant | null;
  readonly expiresMs: number;
  readonly accepted: AcceptedCallers;
}

export interface Authenticated {
  readonly kind: "authenticated";
  readonly caller: Caller;
  /** Check 7: starts the claim, or returns the one already started. No answer may leave before the claim is known. */
  readonly claimNonce: () => NonceClaim;
  /** Headers for the answer, whatever it is: the bearer token that a registration returns once. */
  readonly headers: Readonly<Record<string, string>>;
}

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** Makes checks 1 to 4. Synchronous if the key is in memory. */
export function authenticateHead(
  deps: AuthenticationDeps,
  accepted: AcceptedCallers,
  head: RequestHead,
): MaybeLater<Candidate | Refused> {
  if (isBearer(deps, accepted, head)) return bearerCandidate(deps, accepted, head);
  const received = parseSignatureHeaders({
    signatureInput: head.signatureInput,
    signature: head.signature,
    acceptedTags: accepted.tags,
  });
  if (!received.ok) return denied(received.code, received.detail);
  const parts = signedParts(accepted, head);
  if (parts === null)
    return denied("signature_invalid", "The request was addressed to a host that is not this deployment's.");
  if (head.hasBody && head.contentDigest === null) {
    return denied(
      "signature_invalid",
      "A request with a body must carry Content-Digest, and its signature must cover it.",
    );
  }
  if (!coversExactly(received.value, parts)) {
    return denied(
      "signature_invalid",
      "The signature does not cover exactly the required components, in their order.",
    );
  }
  const nowMs = deps.clock.now();
  const times = checkSignatureTimes(received.value.params, Math.floor(nowMs / 1_000));
  if (!times.ok) return denied(times.code, times.detail);
  const fault = sandboxKeyFault(deps, head);
  if (fault !== null) return fault;
  const { keyid, expires } = received.value.params;
  const base = { parts, received: received.value, expiresMs: expires * 1_000, accepted };
  const key = isKeyId(keyid) ? deps.register.key(keyid) : null;
  if (key instanceof Promise) return key.then((known) => withKey(deps, base, known, head.sandboxKey));
  return withKey(deps, base, key, head.sandboxKey);
}

function denied(code: ProblemCode, detail: string, extras?: ProblemExtras): Refused {
  return refusedWith(code, detail, extras);
}

/** What the signature has to cover; null when the request names another host. */
function signedParts(accepted: AcceptedCallers, head: RequestHead): SignedRequestParts | null {
  const authority = head.host === null ? "" : authorityOf(head.host);
  if (!accepted.authorities.includes(authority)) return null;
  return {
    method: head.method,
    authority,
    path: head.path,
    query: head.query,
    // Covered if and only if there is a body: a digest sent without a body means nothing.
    contentDigest: head.hasBody ? head.contentDigest : null,
  };
}

const sandboxKeyPointer = "/headers/svc-sandbox-key";

/** The fault in the form of SVC-Sandbox-Key, whether or not the key is known. Production ignores the header. */
function sandboxKeyFault(deps: AuthenticationDeps, { sandboxKey }: RequestHead): Refused | null {
  if (deps.grantSigner === null || sandboxKey === null) return null;
  const isInBounds = sandboxKey.length >= 1 && sandboxKey.length <= grantLengthMax;
  // Repeated fields arrive joined by commas, and no grant contains one.
  if (isInBounds && !sandboxKey.includes(",")) return null;
  const detail = `SVC-Sandbox-Key must be one grant of 1 to ${grantLengthMax} characters.`;
  return denied("request_invalid", detail, { pointer: sandboxKeyPointer });
}

type CandidateBase = Pick<Candidate, "parts" | "received" | "expiresMs" | "accepted">;

function withKey(
  deps: AuthenticationDeps,
  base: CandidateBase,
  key: KeyFacts | null,
  sandboxKey: string | null,
): MaybeLater<Candidate | Refused> {
  if (key === null) return grantedCandidate(deps, base, sandboxKey);
  // Operators find the id of a registered key that may not be used in the log.
  const deny = (detail: string): Refused => ({ ...denied("key_unknown", detail), keyId: key.key_id });
  if (key.revoked_at !== null) return deny("The key was revoked.");
  // Timestamps have a fixed width, so comparing them as text orders them in time.
  const now = formatTimestamp(deps.clock.now());
  if (key.valid_from > now || (key.valid_until !== null && key.valid_until <= now)) {
    return deny("The key is not valid at present.");
  }
  const party = deps.register.party(key.party_uuid);
  if (party instanceof Promise) return party.then((known) => withParty(base, key, known));
  return withParty(base, key, party);
}

function withParty(base: CandidateBase, key: KeyFacts, party: PartyFacts | null): Candidate | Refused {
  if (party === null) return denied("key_unknown", "The key belongs to no registered party.");
  const { parts, received, expiresMs, accepted } = base;
  return { kind: "candidate", key, party, parts, received, grant: null, expiresMs, accepted };
}

/** A key that the sandbox does not know yet, vouched for by its grant. */
function grantedCandidate(
  deps: AuthenticationDeps,
  base: CandidateBase,
  sandboxKey: string | null,
): Candidate | Refused {
  const pointer = sandboxKeyPointer;
  if (deps.grantSigner === null) return denied("key_unknown", "No registered key has this keyid.");
  if (sandboxKey === null) {
    return denied(
      "key_unknown",
      "No registered key has this keyid. Send the key's grant as SVC-Sandbox-Key.",
      { pointer },
    );
  }
  const keyId = base.received?.params.keyid ?? "";
  const parsed = parseGrant(sandboxKey, { keyId, grantKey: deps.grantSigner.publicJwk, crypto: deps.crypto });
  if (!parsed.ok) return denied("key_unknown", parsed.detail, { pointer });
  const grant = parsed.value;
  const key: KeyFacts = {
    key_id: keyId,
    party_uuid: grant.party.uuid,
    role: grant.role,
    alg: algorithmOf(grant.public_key),
    public_key: { ...grant.public_key },
    cose: null,
    valid_from: formatTimestamp(deps.clock.now()),
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  };
  return { kind: "candidate", key, party: null, grant, ...base };
}

function isBearer(deps: AuthenticationDeps, accepted: AcceptedCallers, head: RequestHead): boolean {
  return (
    accepted.bearer &&
    deps.grantSigner !== null &&
    head.authorization !== null &&
    head.signatureInput === null &&
    head.signature === null
  );
}

async function bearerCandidate(
  deps: AuthenticationDeps,
  accepted: AcceptedCallers,
  head: RequestHead,
): Promise<Candidate | Refused> {
  if (deps.grantSigner === null || head.authorization === null)
    return denied("signature_missing", "The request is not signed.");
  const nowMs = deps.clock.now();
  const bearer = parseBearer(head.authorization, {
    nowMs,
    grantKey: deps.grantSigner.publicJwk,
    crypto: deps.crypto,
  });
  if (!bearer.ok) return denied(bearer.code, bearer.detail);
  const parts = signedParts(accepted, head);
  if (parts === null)
    return denied("signature_invalid", "The request was addressed to a host that is not this deployment's.");
  const fault = sandboxKeyFault(deps, head);
  if (fault !== null) return fault;
  const base = { parts, received: null, expiresMs: bearer.value.expiresMs, accepted };
  const key = await deps.register.key(bearer.value.keyId);
  return key === null
    ? denied("key_unknown", "The token's key is not registered.")
    : withKey(deps, base, key, null);
}

/** A candidate whose signature has been checked: it covers the head, so the body is not needed. */
export interface Judged {
  readonly candidate: Candidate;
  readonly requestHash: string;
  /** The result of check 6. */
  readonly isGenuine: boolean;
}

/** Makes check 6; {@link authenticateBody} reports the result in due order. `owner` is whose turn it takes: an address. */
export function judgeSignature(
  deps: AuthenticationDeps,
  candidate: Candidate,
  owner: string,
): MaybeLater<Judged> {
  const { parts, received } = candidate;
  const base = utf8(signatureBase(parts, received?.paramsText ?? ""));
  const key = candidate.key.public_key;
  const verdict = received === null || deps.judge(owner, key, base, received.signature);
  const requestHash = hashOf(base, deps.crypto.sha256);
  const judged = (isGenuine: boolean): Judged => ({ candidate, requestHash, isGenuine });
  return verdict instanceof Promise ? verdict.then(judged) : judged(verdict);
}

/**
 * Makes checks 5 and 6, given the SHA-256 of the body; the nonce claim is returned separately, so that work may continue
 * before it or in parallel.
 */
export function authenticateBody(
  deps: AuthenticationDeps,
  { candidate, requestHash, isGenuine }: Judged,
  digest: Uint8Array | null,
): MaybeLater<Authenticated | Refused> {
  const { contentDigest } = candidate.parts;
  if (contentDigest !== null && !isDigest(contentDigest, digest)) {
    return denied("digest_mismatch", "Content-Digest is not the SHA-256 of the body that arrived.");
  }
  if (!isGenuine) return forged();
  if (candidate.grant !== null) return registerGranted(deps, candidate, candidate.grant, requestHash);
  return admit(deps, candidate, callerOf(deps, candidate, requestHash), noHeaders);
}

/** The refusal of check 6. */
export function forged(): Refused {
  return denied("signature_invalid", "The signature does not verify over the signature base.");
}

function isDigest(header: string, digest: Uint8Array | null): boolean {
  const expected = parseContentDigest(header);
  return expected !== null && digest !== null && equalBytes(expected, digest);
}

function callerOf(deps: AuthenticationDeps, candidate: Candidate, requestHash: string): Caller {
  if (candidate.party === null) throw new Error("A caller has a party.");
  return {
    key: candidate.key,
    party: candidate.party,
    // A bearer token comes without a nonce: each of its requests counts separately.
    nonce: candidate.received?.params.nonce ?? toBase64Url(deps.crypto.randomBytes(32)),
    expiresMs: candidate.expiresMs,
    requestHash,
    tag: candidate.received?.params.tag ?? candidate.accepted.tags[0] ?? "",
  };
}

/** Applies A6, then every other check of a request that belongs here. */
function admit(
  deps: AuthenticationDeps,
  candidate: Candidate,
  caller: Caller,
  headers: Readonly<Record<string, string>>,
): MaybeLater<Authenticated | Refused> {
  const limited = deps.requestRate?.take(caller.key.key_id) ?? null;
  const found = { caller, headers };
  return limited instanceof Promise
    ? limited.then((known) => admitWhere(deps, candidate, { ...found, limited: known }))
    : admitWhere(deps, candidate, { ...found, limited });
}

interface Admission {
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
  /** The refusal of a request beyond its key's rate. */
  readonly limited: Refused | null;
}

function admitWhere(
  deps: AuthenticationDeps,
  candidate: Candidate,
  admission: Admission,
): MaybeLater<Authenticated | Refused> {
  const admitted = (): MaybeLater<Authenticated | Refused> => admitHere(deps, candidate, admission);
  // With a bearer token there is no nonce to claim in either region.
  const misdirected = candidate.received === null ? null : (deps.keyRegion?.(admission.caller) ?? null);
  if (misdirected instanceof Promise) return misdirected.then((found) => found ?? admitted());
  return misdirected ?? admitted();
}

/** Rate and role are reported only after the nonce has been claimed, like everything else that is not authentication. */
function admitHere(
  deps: AuthenticationDeps,
  candidate: Candidate,
  { caller, headers, limited }: Admission,
): MaybeLater<Authenticated | Refused> {
  let begun: NonceClaim | null = candidate.received === null ? noNonce : null;
  const claim = (): NonceClaim => {
    begun ??= claimNonce(deps, caller);
    return begun;
  };
  const { roles } = candidate.accepted;
  if (limited !== null) {
    // A bearer token is issued once, whatever answer carries it.
    const answer = { ...limited, headers: { ...limited.headers, ...headers } };
    return claim().claimed.then((reused) => reused ?? answer);
  }
  if (roles.includes(caller.key.role)) return { kind: "authenticated", caller, claimNonce: claim, headers };
  const detail = `A key of role ${caller.key.role} cannot be used here; use one of role ${roles.join(" or ")}.`;
  return claim().claimed.then((reused) => reused ?? denied("role_not_allowed", detail));
}

async function registerGranted(
  deps: AuthenticationDeps,
  candidate: Candidate,
  grant: SandboxGrant,
  requestHash: string,
): Promise<Authenticated | Refused> {
  const registration = await deps.registerGrantedKey(grant, candidate.key.key_id);
  if (registration.status === "refused") {
    return denied("key_unknown", registration.detail, { pointer: sandboxKeyPointer });
  }
  deps.register.learn(candidate.key.key_id);
  const registered = { ...candidate, key: registration.key, party: registration.party };
  const isTokenDue = registration.isNew && candidate.accepted.bearer && deps.grantSigner !== null;
  const headers = isTokenDue
    ? { "svc-sandbox-bearer": await issueBearer(candidate.key.key_id, deps.clock.now(), deps.grantSigner) }
    : noHeaders;
  return admit(deps, registered, callerOf(deps, registered, requestHash), headers);
}

// Check 7: a nonce is used once with its key, in the region that received the request.

interface NonceClaim {
  /** Resolves to null once the nonce is claimed. */
  readonly claimed: Promise<Refused | null>;
  /** The outcome of the claim unless its commit fails: for work that takes effect only with that commit. */
  readonly decided: Promise<NonceDecided>;
}

export interface NonceDecided {
  readonly refused: Refused | null;
  /** The commit of the claim, while it is in progress. */
  readonly commit: Promise<CommitOutcome> | null;
}

/** The claim of a request that comes without a nonce. */
export const noNonce: NonceClaim = {
  claimed: Promise.resolve(null),
  decided: Promise.resolve({ refused: null, commit: null }),
};

/** Check 7: claims the nonce in the region that received the request. */
function claimNonce(
  deps: { readonly actors: ActorSystem; readonly region: string },
  caller: Caller,
): NonceClaim {
  const command: IntegrationKeyCommand = {
    type: "nonce.claim",
    nonce: caller.nonce,
    expires_ms: caller.expiresMs,
  };
  const asked = deps.actors.askSpeculative(nonceRef(caller.key.key_id, deps.region), command);
  const claimed = asked.reply.then(refusalOf);
  const decided = asked.decided.then(({ reply, commit }) => ({ refused: refusalOf(reply), commit }));
  // A caller that stops waiting, because its own work failed, has answered with that failure; nobody handles the
  // claim's.
  claimed.catch(() => {});
  decided.catch(() => {});
  return { claimed, decided };
}

function refusalOf({ status }: NonceReply): Refused | null {
  if (status === "claimed") return null;
  return status === "expired"
    ? refusedWith("signature_expired", "The signature has expired; sign the request again.")
    : refusedWith(
        "nonce_reused",
        "This nonce was used with this key before; sign the request again with a fresh one.",
      );
}

// Binds each key of an AI company to one region. Nonces are claimed in the region that a request reaches, so regions
// that share a host name would each accept a captured search or fetch once; a region that the key is not bound to
// refuses it.
//   B1. A key is bound to the region that has its party: the party's home, or the region that took it over.
//   B2. That region is known in memory, or looked up locally; no request waits for another region because of it.
//   B3. If it cannot be determined, the request is not accepted.

export interface KeyRegionDeps {
  /** The region that this node serves. */
  readonly region: string;
  /** The region that has the party now; null while that is unknown, or no region has it. */
  readonly regionOf: (party: string) => MaybeLater<string | null>;
}

/** Null when the caller may be answered here. */
export type KeyRegion = (caller: Pick<Caller, "key">) => MaybeLater<Refused | null>;

const retrySeconds = 1;

/** Refuses a caller whose party lives in another region with `region_misdirected`. */
export function createKeyRegion({ region, regionOf }: KeyRegionDeps): KeyRegion {
  const judge = (bound: string | null): Refused | null => {
    if (bound === region) return null;
    return bound === null ? unknownRegion() : elsewhere(bound);
  };
  return ({ key }) => {
    // A business's requests take effect at its home, wherever they arrive, and each at most once.
    if (key.role !== "retrieval") return null;
    const bound = regionOf(key.party_uuid);
    return bound instanceof Promise ? bound.then(judge) : judge(bound);
  };
}

function elsewhere(region: string): Refused {
  const detail = `This key is answered in the region ${region} only; send the request there.`;
  return refusedWith("region_misdirected", detail, { region });
}

function unknownRegion(): Refused {
  const detail =
    "The region of this key is not known at present; send the request again later, with a new signature.";
  const extras = { reason: "key_region", retry_after_seconds: retrySeconds };
  return refusedWith("unavailable", detail, extras, { "retry-after": String(retrySeconds) });
}

// What authentication reads of a request before its body: exactly as received, with null for absent headers.

export interface RequestHead {
  /** The method, in upper case. */
  readonly method: string;
  /** The Host header. */
  readonly host: string | null;
  /** The path as sent, not decoded; `/` when empty. */
  readonly path: string;
  /** The query with its leading `?`; null when there is no query string. */
  readonly query: string | null;
  /** Whether a body follows: a declared length above zero, or a transfer coding. */
  readonly hasBody: boolean;
  readonly signatureInput: string | null;
  readonly signature: string | null;
  readonly contentDigest: string | null;
  readonly authorization: string | null;
  /** The `SVC-Sandbox-Key` header. */
  readonly sandboxKey: string | null;
}

/** The value of `@authority`: lower case, without a default port (RFC 9421 §2.2.3). */
export function authorityOf(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith(":443") || lower.endsWith(":80") ? lower.slice(0, lower.lastIndexOf(":")) : lower;
}
