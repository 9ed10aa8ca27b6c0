// What a person seals at the portal.
//   PL1. It is shown in the words of the verifier for its exact bytes, and those bytes are what the sealing passkey signs.
//        What the key seals that the service holds for the business (hosted-publishing.ts) is shown in the same words, and a passkey that
//        signs in confirms exactly those bytes.
//   PL2. Only what was shown here is taken back: to the same person, in the same session, within the time of a challenge.

import type { SealingPasskey } from "../../actors/messages/members.ts";
import type { Platform } from "../../crypto/port.ts";
import { parseBase64Url, toBase64Url } from "../../protocol/bytes.ts";
import { type Envelope, pae } from "../../protocol/dsse.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { passkeyChallenge } from "../../protocol/keys/signatures.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import type { Challenges } from "./challenges.ts";
import { boundTo, type SignedIn } from "./people.ts";
import { sealedBy } from "./possession.ts";

export interface SealingDeps extends Pick<Platform, "crypto"> {
  readonly challenges: Challenges;
}

/** What a person is about to seal. */
export interface ToSeal {
  /** The business. */
  readonly uuid: string;
  readonly payloadType: string;
  readonly payload: Uint8Array;
  /** The bytes that the payload is over where it is a seal. */
  readonly document: Uint8Array | null;
}

/** Something that is ready to be sealed, with everything that has to come back. */
export interface ReadyToSeal {
  readonly payload_type: string;
  /** The exact bytes, in base64url; without a document the text is empty. */
  readonly payload: string;
  readonly document: string;
  /** What they say. */
  readonly words: readonly string[];
  /** What the passkey signs, and which may. */
  readonly challenge: string;
  readonly credential_ids: readonly string[];
  /** Whether the service seals it, once it is confirmed. */
  readonly isHosted: boolean;
  /** That this was shown here, to this person in this session, and until when it may be sealed. */
  readonly ticket: string;
  readonly code: string;
}

/** What seals: a passkey, or the key that the service holds for the business once one of these passkeys confirmed it. */
export type SealsBy = SealingPasskey | HostedSealer;

export interface HostedSealer {
  readonly key_id: string;
  readonly confirmed_by: readonly string[];
}

/** What comes back of it, with what the authenticator answered. */
export type SealedHere = Pick<ReadyToSeal, "payload_type" | "payload" | "document" | "ticket" | "code"> & {
  readonly uuid: string;
  readonly credential: unknown;
};

/** See PL1; `not_accepted` where there are no words for it. */
export function readyToSeal(
  { crypto, challenges }: SealingDeps,
  who: SignedIn,
  { uuid, payloadType, payload, document }: ToSeal,
  by: SealsBy,
): Result<ReadyToSeal, "not_accepted"> {
  const { sha256 } = crypto;
  const words = sealedWords({ sha256 }, payloadType, { payload, document });
  if (!words.ok) return refuse("not_accepted", words.detail);
  const shown = {
    payload_type: payloadType,
    payload: toBase64Url(payload),
    document: document === null ? "" : toBase64Url(document),
  };
  const isHosted = "confirmed_by" in by;
  const { challenge: code, ticket } = challenges.issue(shownAct({ uuid, ...shown }), boundTo(who));
  const challenge = isHosted ? code : passkeyChallenge(pae(payloadType, payload), sha256);
  const credential_ids = isHosted ? by.confirmed_by : [by.credential_id];
  return ok({ ...shown, words: words.value, challenge, credential_ids, isHosted, ticket, code });
}

/** The envelope of what the person's passkey sealed (PL2), and the document under it. Its signature is for the register to verify. */
export function sealedHere(
  { challenges }: SealingDeps,
  who: SignedIn,
  sealed: SealedHere,
  { key_id }: SealingPasskey,
): Result<
  { readonly envelope: Envelope; readonly payload: Uint8Array; readonly document: Uint8Array },
  "not_accepted" | "challenge_expired"
> {
  const { uuid, payload_type, payload: text, document: over, ticket, code, credential } = sealed;
  const shown = shownAct({ uuid, payload_type, payload: text, document: over });
  const expected = challenges.expected(shown, boundTo(who), ticket);
  const [payload, document] = [parseBase64Url(text), parseBase64Url(over)];
  if (!expected.ok || expected.value.challenge !== code || payload === null || document === null)
    return refuse("challenge_expired", "The time to seal this is over.");
  const envelope = sealedBy({ type: payload_type, payload, key_id }, credential);
  return envelope === null
    ? refuse("not_accepted", "The passkey did not answer.")
    : ok({ envelope, payload, document });
}

/** What is shown, and by its code is confirmed: the exact bytes. */
export function shownAct({
  uuid,
  payload_type,
  payload,
  document,
}: Pick<SealedHere, "uuid" | "payload_type" | "payload" | "document">): JsonObject {
  return { act: "seal", uuid, payload_type, payload, document };
}
