// What a passkey is asked to confirm. A challenge is the code of the act, of who acts and in which session, so nothing is kept of it until
// it is used.
//   CH1. A challenge is made of the act as it was shown: with another act, person or session it is another one.
//   CH2. It is taken for five minutes, and once: the person whom it is about notes its nonce (PN1 in actors/person/definition.ts).
//   CH3. A form has a code of its session, so that no page elsewhere and no page of an earlier session can send it.

import type { UsedChallenge } from "../../actors/messages/person.ts";
import type { Platform } from "../../crypto/port.ts";
import { equalBytes, parseBase64Url, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";

/** In whose name and in which session an act is asked for; null at the door, before anybody is known. */
export type Bound = { readonly person_id: string; readonly session: string } | null;

/** A challenge with what has to come back beside the assertion. */
export interface IssuedChallenge {
  /** Base64url, for the authenticator. */
  readonly challenge: string;
  readonly ticket: string;
}

export interface Challenges {
  issue(act: JsonObject, bound: Bound): IssuedChallenge;
  /** The challenge that was issued for exactly this under the ticket, as far as its time is not over. */
  expected(
    act: JsonObject,
    bound: Bound,
    ticket: string,
  ): Result<{ readonly challenge: string; readonly used: UsedChallenge }, "challenge_expired">;
  /** A code for the forms of a session (CH3). */
  formCode(session: string): string;
  isFormCode(session: string, code: string): boolean;
}

const challengeMs = 5 * 60_000;
/** A page that was open for longer is loaded again. */
const formMs = 12 * 3_600_000;
const nonceBytes = 16;

/** Issues and takes challenges and the codes of forms, without keeping any (CH1 to CH3). */
export function createChallenges(
  /** Secret bytes, the same on all nodes. */
  key: Uint8Array,
  { crypto, clock }: Pick<Platform, "crypto" | "clock">,
): Challenges {
  const codeOf = (parts: JsonObject): Uint8Array => crypto.hmacSha256(key, canonicalBytes(parts));
  const challengeOf = (act: JsonObject, bound: Bound, ticket: string): string =>
    toBase64Url(codeOf({ use: "challenge", act, bound, ticket }));
  const formCodeOf = (session: string, untilMs: number): Uint8Array =>
    codeOf({ use: "form", session, until_ms: untilMs });
  return {
    issue: (act, bound) => {
      const ticket = `${toBase64Url(crypto.randomBytes(nonceBytes))}.${clock.now() + challengeMs}`;
      return { challenge: challengeOf(act, bound, ticket), ticket };
    },
    expected: (act, bound, ticket) => {
      const [nonce = "", until = ""] = ticket.split(".");
      const until_ms = /^[0-9]{1,15}$/.test(until) ? Number(until) : 0;
      const isTaken = ticket === `${nonce}.${until}` && nonce !== "" && clock.now() < until_ms;
      return isTaken
        ? ok({ challenge: challengeOf(act, bound, ticket), used: { nonce, until_ms } })
        : refuse("challenge_expired", "The time to confirm this is over.");
    },
    formCode: (session) => {
      const untilMs = clock.now() + formMs;
      return `${untilMs}.${toBase64Url(formCodeOf(session, untilMs))}`;
    },
    isFormCode: (session, code) => {
      const [until = "", given = ""] = code.split(".");
      const untilMs = /^[0-9]{1,15}$/.test(until) ? Number(until) : 0;
      const bytes = parseBase64Url(given);
      // Hashes are compared, so that the time says nothing about how much of a code was right.
      const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
        equalBytes(crypto.sha256(a), crypto.sha256(b));
      return bytes !== null && clock.now() < untilMs && isSame(bytes, formCodeOf(session, untilMs));
    },
  };
}

/** The hash under which a session is known, of the secret that its browser keeps. */
export function sessionHash({ crypto }: Pick<Platform, "crypto">, secret: string): string {
  return toBase64Url(crypto.sha256(utf8(secret)));
}
