// The passkey that is to seal for a business proves by its first signature that its person has it.
//   PP1. Its challenge is the code of the act as it was shown (CH1 in challenges.ts), in the proof that the register verifies.
//   PP2. It is nobody's way in: a passkey that signs in would be published with the business.
//   PP3. The proof is for one act: what keeps the act uses its challenge up, so that it does nothing again once that was taken back.

import type { ProvenPasskey } from "../../actors/messages/application.ts";
import type { KeyFacts } from "../../actors/messages/business.ts";
import type { PersonRole } from "../../actors/messages/party.ts";
import type { UsedChallenge } from "../../actors/messages/person.ts";
import { personRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { parseBase64Url, toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, parseEnvelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, isUuidV4 } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { algorithmOf, type PublicJwk, parseCoseKey, thumbprint } from "../../protocol/keys/jwk.ts";
import { keyPossessionPayload } from "../../protocol/keys/key-directory.ts";
import { passkeyChallenge } from "../../protocol/keys/signatures.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { Trust } from "../../verifier/trust.ts";
import { readEntry } from "../register/home-evidence.ts";
import { type PossessionRequest, verifyPossession } from "../register/key-possession.ts";
import { type Registered, RegisterRefused } from "../register/parties.ts";
import type { Challenges, IssuedChallenge } from "./challenges.ts";
import { boundTo, type SignedIn } from "./people.ts";

export interface PossessionDeps extends Actors, Pick<Platform, "crypto" | "clock"> {
  readonly trust: () => Trust;
}

/** An act by which a new passkey comes to seal, as it is shown and confirmed. */
export interface SealerAct {
  readonly uuid: string;
  readonly credential_id: string;
  /** The COSE_Key of the passkey, in base64url. */
  readonly public_key: string;
}

/** What the new passkey has to sign, and the ticket that comes back with it; null if its key is of no kind that seals. */
export function askingPossession(
  { crypto }: Pick<Platform, "crypto">,
  challenges: Challenges,
  who: SignedIn,
  asked: SealerAct,
): IssuedChallenge | null {
  const jwk = keyIn(asked);
  if (jwk === null) return null;
  const { challenge, ticket } = challenges.issue(factsOf(asked), boundTo(who));
  const { message } = possessionOf(crypto, asked, { jwk, challenge });
  return { challenge: passkeyChallenge(message, crypto.sha256), ticket };
}

export interface ProvenSealer extends PossessionRequest<ReturnType<typeof sealingKey>> {
  /** What takes the proof uses it up (PP3). */
  readonly used: UsedChallenge;
}

/** The key with the proof that the new passkey signed for exactly this act. */
export async function provenSealer(
  deps: PossessionDeps,
  challenges: Challenges,
  who: SignedIn,
  {
    asked,
    role,
    ticket,
    credential,
  }: {
    readonly asked: SealerAct;
    readonly role: PersonRole;
    readonly ticket: string;
    readonly credential: unknown;
  },
): Promise<Result<ProvenSealer, "challenge_expired" | "not_verified">> {
  const { actors, crypto, clock, trust } = deps;
  const expected = challenges.expected(factsOf(asked), boundTo(who), ticket);
  if (!expected.ok) return expected;
  const { challenge, used } = expected.value;
  const { uuid, public_key } = asked;
  const jwk = keyIn(asked);
  if (jwk === null || !isUuidV4(uuid)) return notVerified;
  const { key_id, payload } = possessionOf(crypto, asked, { jwk, challenge });
  const proof = sealedBy({ type: payloadTypes["key-possession.v1"], payload, key_id }, credential);
  if (proof === null) return notVerified;
  const cose = toBase64(parseBase64Url(public_key) ?? new Uint8Array());
  const key = sealingKey({ uuid, jwk, key_id, cose, role }, clock.now());
  const proven = { key, challenge, proof, used };
  if (!verifyPossession({ crypto, passkeys: trust().anchors.passkeys }, proven).ok) return notVerified;
  const report = await actors.ask(personRef(who.person_id), { type: "person.read" });
  // See PP2.
  if (report?.passkeys.some((each) => each.public_key === public_key)) return notVerified;
  return ok(proven);
}

const notVerified = refuse("not_verified", "The passkey's answer does not verify.");

function factsOf(asked: SealerAct): JsonObject {
  return { ...asked };
}

function keyIn({ public_key }: SealerAct): PublicJwk | null {
  const bytes = parseBase64Url(public_key);
  return bytes === null ? null : parseCoseKey(bytes);
}

/** See PP1. */
function possessionOf(
  { sha256 }: Platform["crypto"],
  { uuid }: SealerAct,
  { jwk, challenge }: { readonly jwk: PublicJwk; readonly challenge: string },
) {
  const key_id = thumbprint(jwk, sha256);
  const payload = keyPossessionPayload({ v: 1, party_uuid: uuid, key_id, role: "sealing", challenge });
  return { key_id, payload, message: pae(payloadTypes["key-possession.v1"], payload) };
}

/** The new passkey with its proof, as it is kept until operators have decided. */
export function keptPasskey(
  { key: { public_key, cose }, challenge, proof }: ProvenSealer,
  credential_id: string,
): ProvenPasskey {
  return { public_key, cose, credential_id, challenge, proof: JSON.stringify(proof) };
}

/** What {@link keptPasskey} kept, with the key of an owner, valid from now on. */
export function provenOwner(
  { crypto, clock }: Pick<Platform, "crypto" | "clock">,
  uuid: string,
  { public_key: jwk, cose, challenge, proof: kept }: ProvenPasskey,
): PossessionRequest<ReturnType<typeof sealingKey>> {
  const proof = parseEnvelope(JSON.parse(kept));
  if (!proof.ok) throw new RegisterRefused(proof.code, proof.detail);
  const key_id = thumbprint(jwk, crypto.sha256);
  const key = sealingKey({ uuid, jwk, key_id, cose, role: "owner" }, clock.now());
  return { key, challenge, proof: proof.value };
}

/** The key of a person's passkey, valid from now on. */
export function sealingKey(
  given: {
    readonly uuid: string;
    readonly jwk: PublicJwk;
    readonly key_id: string;
    readonly cose: string;
    readonly role: PersonRole;
  },
  nowMs: number,
) {
  return {
    key_id: given.key_id,
    party_uuid: given.uuid,
    role: "sealing",
    person_role: given.role,
    alg: algorithmOf(given.jwk),
    public_key: given.jwk,
    cose: given.cose,
    valid_from: formatTimestamp(nowMs),
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
  } as const;
}

/** What an authenticator signed as an envelope; null for what is not an assertion. It proves nothing by itself. */
export function sealedBy(
  { type, payload, key_id }: { readonly type: string; readonly payload: Uint8Array; readonly key_id: string },
  credential: unknown,
): Envelope | null {
  const { response } = { ...(credential as { readonly response?: unknown } | null) };
  const said: Readonly<Record<string, unknown>> = { ...(response as object | null | undefined) };
  const [sig, authenticatorData, clientDataJSON] = ["signature", "authenticatorData", "clientDataJSON"].map(
    (name) => {
      const text = said[name];
      return typeof text === "string" ? parseBase64Url(text) : null;
    },
  );
  if (!sig || !authenticatorData || !clientDataJSON) return null;
  return makeEnvelope(type, payload, [{ keyid: key_id, sig, authenticatorData, clientDataJSON }]);
}

/** Who has the key is stated once: the person themselves, or the service. */
export async function stateCustodyOnce(
  { actors, register, parties }: Actors & Registered,
  {
    uuid,
    key_id,
    custody,
  }: { readonly uuid: string; readonly key_id: string; readonly custody: "self" | "hosted" },
): Promise<void> {
  const facts = await readEntry<KeyFacts>(actors, uuid, `key/${key_id}`);
  const isStated = (await register.custody(uuid)).some((each) => each.key_id === key_id);
  if (facts !== null && !isStated)
    await parties.stateCustody({ uuid, key_id, custody, effective_from: facts.valid_from });
}
