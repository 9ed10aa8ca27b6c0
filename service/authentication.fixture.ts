// Test support: a region that authenticates, with a register that holds keys of both sides and nonces that are claimed
// once.

import type { KeyFacts, PartyFacts } from "../actors/messages/business.ts";
import type { IntegrationKeyCommand, NonceReply } from "../actors/messages/integration-key.ts";
import type { KeyRole } from "../actors/messages/party.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { signRequest } from "../client/sign-request.ts";
import {
  type GeneratedAlgorithm,
  generatePrivateJwk,
  parseSigningKey,
  type SigningKey,
} from "../client/signing-key.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Signer } from "../crypto/port.ts";
import { createSigner, generatePrivateJwk as generateServiceJwk } from "../crypto/private-jwk.ts";
import type { SignatureTag } from "../protocol/http-signature.ts";
import { algorithmOf, type PublicJwk } from "../protocol/keys/jwk.ts";
import type { RegisterEntry } from "../storage/register-store.ts";
import { SqliteDatabase } from "../storage/sqlite/database.ts";
import { openSqliteRegisterStore } from "../storage/sqlite/register-store.ts";
import type { Refused } from "./answer.ts";
import {
  type AcceptedCallers,
  type Authenticated,
  type AuthenticationDeps,
  authenticateBody,
  authenticateHead,
  judgeSignature,
  type RequestHead,
} from "./authentication/authenticate.ts";
import { createRegister } from "./register/register.ts";
import type { SandboxGrant } from "./register/sandbox-grant.ts";

export const startMs = Date.parse("2026-03-01T12:00:00.000Z");
export const authority = "api.svc.test";
export const companyUuid = "10000000-0000-4000-8000-000000000001";
export const businessUuid = "20000000-0000-4000-8000-000000000002";

export interface TestRegion {
  readonly deps: AuthenticationDeps;
  readonly clock: { nowMs: number };
  readonly grantSigner: Signer;
  readonly claims: { readonly actor: string; readonly nonce: string; readonly expiresMs: number }[];
  readonly granted: SandboxGrant[];
  register(entries: readonly RegisterEntry[]): Promise<void>;
  close(): void;
}

export async function openRegion(environment: "sandbox" | "production" = "sandbox"): Promise<TestRegion> {
  const database = SqliteDatabase.open(":memory:");
  const store = openSqliteRegisterStore(database);
  const clock = { nowMs: startMs };
  const time = { now: () => clock.nowMs };
  const register = createRegister({ store, clock: time });
  await register.refresh();
  const grantSigner = createSigner(generateServiceJwk("Ed25519"));
  const claims: TestRegion["claims"] = [];
  const granted: SandboxGrant[] = [];
  const put: TestRegion["register"] = async (entries) => {
    await store.put(entries);
    await register.refresh();
  };
  const deps: AuthenticationDeps = {
    environment,
    region: "eu-west1",
    register,
    actors: nonceActors(claims, clock),
    crypto: nativeCrypto,
    judge: (_owner, ...signature) => nativeCrypto.verify(...signature),
    clock: time,
    grantSigner: environment === "sandbox" ? grantSigner : null,
    registerGrantedKey: async (grant, keyId) => {
      const isNew = (await register.key(keyId)) === null;
      granted.push(grant);
      const party = { ...grant.party, group: grant.party.uuid, blocked_groups: [] };
      const key = keyFacts(keyId, grant.public_key, { role: grant.role, party: party.uuid });
      await put([entry("party", party.uuid, party.uuid, party), entry("key", party.uuid, keyId, key)]);
      return { status: "registered", key, party, isNew };
    },
    requestRate: null,
    keyRegion: null,
    limitFields: null,
  };
  return { deps, clock, grantSigner, claims, granted, register: put, close: () => database.close() };
}

/** Answers only the messages that authentication sends. */
function nonceActors(claims: TestRegion["claims"], clock: { readonly nowMs: number }): ActorSystem {
  const ask = async (
    to: { readonly kind: string; readonly id: string },
    command: IntegrationKeyCommand,
  ): Promise<NonceReply> => {
    if (command.type !== "nonce.claim") throw new Error(`not expected: ${command.type}`);
    const actor = `${to.kind}/${to.id}`;
    if (command.expires_ms <= clock.nowMs) return { status: "expired" };
    const isHeld = claims.some(
      (each) => each.actor === actor && each.nonce === command.nonce && each.expiresMs > clock.nowMs,
    );
    if (isHeld) return { status: "reused" };
    claims.push({ actor, nonce: command.nonce, expiresMs: command.expires_ms });
    return { status: "claimed" };
  };
  const askSpeculative = (to: Parameters<typeof ask>[0], command: IntegrationKeyCommand) => {
    const reply = ask(to, command);
    return { reply, decided: reply.then((known) => ({ reply: known, commit: null })) };
  };
  return { ask, askSpeculative } as unknown as ActorSystem;
}

let changes = 0;

export function entry(
  table: RegisterEntry["table"],
  partition: string,
  key: string,
  body: object,
): RegisterEntry {
  changes += 1;
  return { table, partition, key, change: changes, body: JSON.stringify(body) };
}

export function partyFacts(uuid: string, facts: Partial<PartyFacts> = {}): PartyFacts {
  return {
    uuid,
    kind: "business",
    legal_name: "A party",
    country: "GB",
    group: uuid,
    blocked_groups: [],
    ...facts,
  };
}

export function keyFacts(
  keyId: string,
  publicKey: PublicJwk,
  facts: Partial<KeyFacts> & { readonly role: KeyRole; readonly party: string },
): KeyFacts {
  const { party, ...others } = facts;
  return {
    key_id: keyId,
    party_uuid: party,
    alg: algorithmOf(publicKey),
    public_key: publicKey,
    cose: null,
    valid_from: "2026-01-01T00:00:00.000Z",
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
    ...others,
  };
}

export async function newKey(algorithm: GeneratedAlgorithm = "Ed25519"): Promise<SigningKey> {
  const parsed = await parseSigningKey(await generatePrivateJwk(algorithm));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
}

/** Registers a key of the given role, with its party. */
export async function registeredKey(
  region: TestRegion,
  role: KeyRole,
  facts: Partial<KeyFacts> = {},
  algorithm: GeneratedAlgorithm = "Ed25519",
): Promise<SigningKey> {
  const key = await newKey(algorithm);
  const uuid = role === "retrieval" ? companyUuid : businessUuid;
  const party = partyFacts(uuid, { kind: role === "retrieval" ? "ai_company" : "business" });
  await region.register([
    entry("party", uuid, uuid, party),
    entry("key", uuid, key.keyId, keyFacts(key.keyId, key.publicJwk, { role, party: uuid, ...facts })),
  ]);
  return key;
}

export interface RequestParts {
  readonly key: SigningKey;
  readonly url?: string;
  readonly method?: string;
  readonly body?: Uint8Array | null;
  readonly tag?: SignatureTag;
  readonly nonce?: string;
  readonly created?: number;
  readonly lifetimeSeconds?: number;
}

let nonces = 0;

export function nextNonce(): string {
  nonces += 1;
  return `nonce-of-the-test-${nonces}`;
}

/** The head of a signed request, as a surface passes it on. */
export async function signedHead(parts: RequestParts): Promise<RequestHead> {
  const url = new URL(parts.url ?? `https://${authority}/v1/search`);
  const body = parts.body ?? null;
  const method = parts.method ?? (body === null ? "GET" : "POST");
  const { headers } = await signRequest({
    method,
    url,
    body,
    key: parts.key,
    tag: parts.tag ?? "svc-retrieval",
    created: parts.created ?? startMs / 1_000,
    nonce: parts.nonce ?? nextNonce(),
    ...(parts.lifetimeSeconds === undefined ? {} : { lifetimeSeconds: parts.lifetimeSeconds }),
  });
  return {
    method,
    host: url.host,
    path: url.pathname,
    query: url.search === "" ? null : url.search,
    hasBody: body !== null && body.length > 0,
    signatureInput: headers["signature-input"] ?? null,
    signature: headers["signature"] ?? null,
    contentDigest: headers["content-digest"] ?? null,
    authorization: null,
    sandboxKey: null,
  };
}

export const accepted: AcceptedCallers = {
  authorities: [authority],
  tags: ["svc-retrieval"],
  roles: ["retrieval"],
  bearer: true,
};

/** Makes all seven checks. */
export async function authenticate(
  region: TestRegion,
  head: RequestHead,
  body: Uint8Array = new Uint8Array(),
  callers: AcceptedCallers = accepted,
): Promise<Authenticated | Refused> {
  const candidate = await authenticateHead(region.deps, callers, head);
  if (candidate.kind === "problem") return candidate;
  const judged = await judgeSignature(region.deps, candidate, "");
  const authenticated = await authenticateBody(region.deps, judged, nativeCrypto.sha256(body));
  if (authenticated.kind === "problem") return authenticated;
  return (await authenticated.claimNonce().claimed) ?? authenticated;
}

/** The problem's code, or `authenticated`. */
export async function codeOf(outcome: Promise<Authenticated | Refused>): Promise<string> {
  const settled = await outcome;
  return settled.kind === "problem" ? settled.problem.code : settled.kind;
}
