// People at the portal: they join with a passkey, sign in, confirm what they do, and say which passkeys and sessions they have.
//   PP1. Somebody who is not let in is told the same after the same work, whether the person, the passkey or the assertion was wrong.
//        Who has no home cannot be asked, and {@link Homes.orNobody} is asked instead. The same holds for a business where somebody has no role.
//   PP2. Every act names the person and the session in what the passkey signs (CH1 in challenges.ts).
//   PP3. The session's secret is known to the browser alone.

import type {
  Confirmation,
  PersonRefusal,
  PersonReply,
  PersonReport,
  PersonSession,
  SignInPasskey,
  UsedChallenge,
} from "../../actors/messages/person.ts";
import { personRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { parseBase64Url, toBase64Url, toHex } from "../../protocol/bytes.ts";
import { isUuidV4 } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type Bound, type Challenges, type IssuedChallenge, sessionHash } from "./challenges.ts";

/** What verifies passkeys. Whatever a browser sent is judged there; nothing of it is trusted before. */
export interface Authenticators {
  /** A new passkey, with user verification, at this portal; null if its registration does not verify. */
  registered(sent: unknown, challenge: string): Promise<NewPasskey | null>;
  /**
   * The counter of an assertion, likewise; whether it grew is for the person's actor. Null as well where there is no passkey to verify it
   * by, after the same work.
   */
  asserted(
    sent: unknown,
    challenge: string,
    passkey: Pick<SignInPasskey, "credential_id" | "public_key"> | null,
  ): Promise<number | null>;
}

export type NewPasskey = Pick<SignInPasskey, "credential_id" | "public_key" | "counter">;

export interface PeopleDeps extends Actors, Pick<Platform, "crypto" | "clock"> {
  readonly challenges: Challenges;
  readonly authenticators: Authenticators;
  readonly homes: Homes;
}

/** Where people live, as parties of their own (P1 in actors/messages/refs.ts). */
export interface Homes {
  /** Gives a party that has no home its home in this region. */
  settle(party: string): Promise<void>;
  /** Whether the party has a home: one that has none cannot be asked. */
  isKnown(party: string): Promise<boolean>;
  /** The party, or one that has a home and is nobody's where the party has none: the work of asking is the same (PP1). */
  orNobody(party: string): Promise<string>;
}

/** Somebody who has a session in force. */
export interface SignedIn {
  readonly person_id: string;
  readonly name: string;
  readonly session: PersonSession;
}

/** An answer to a challenge, as a browser sent it. */
export interface Answered {
  readonly ticket: string;
  /** A PublicKeyCredential as JSON. */
  readonly credential: unknown;
  /** The network that it came from, as a /24 or a /48. */
  readonly network: string | null;
}

export type PeopleRefusal =
  | PersonRefusal
  | "challenge_expired"
  /** What the authenticator sent does not verify, or says something else than what was shown. */
  | "not_verified"
  | "name_invalid";

type Outcome<T> = Promise<Result<T, PeopleRefusal>>;

/** What the browser keeps, and until when. */
export interface OpenedSession {
  readonly cookie: string;
  readonly ends_at_ms: number;
}

export interface People {
  /** A new person of this name, who becomes one by {@link join}; refused for a text that is no name. */
  joining(
    name: string,
  ): Result<IssuedChallenge & { readonly person_id: string; readonly name: string }, "name_invalid">;
  join(
    who: { readonly person_id: string; readonly name: string },
    answered: Answered,
  ): Outcome<OpenedSession>;
  signingIn(): IssuedChallenge;
  signIn(answered: Answered): Outcome<OpenedSession>;
  /** Null for a cookie that names no session in force. */
  who(cookie: string | null): Promise<SignedIn | null>;
  /** Null for somebody who left meanwhile, in another tab. */
  report(who: SignedIn): Promise<PersonReport | null>;
  endSession(who: SignedIn, session: string): Outcome<void>;
  /** What a passkey has to confirm so that {@link confirmed} lets the act pass. */
  asking(who: SignedIn, act: JsonObject): IssuedChallenge;
  /** The assertion verifies for exactly this act; the person's actor still has to take it, with the act. */
  confirmed(who: SignedIn, act: JsonObject, answered: Answered): Outcome<Confirmation>;
  /** Uses the confirmation up and keeps the act, for what is not an act on the person itself. */
  note(
    who: SignedIn,
    by: Confirmation,
    act: { readonly act: string; readonly subject: string; readonly business?: string },
  ): Outcome<void>;
  /**
   * Confirms an act and keeps it, and gives the code under which it is kept. The same answer, sent again within the time of its challenge,
   * confirms the same act again.
   */
  confirmOnce(
    who: SignedIn,
    act: JsonObject,
    answered: Answered,
    kept: { readonly act: string; readonly subject: string },
  ): Outcome<string>;
  /** Keeps an act that something else than a passkey of the person confirmed. */
  keep(
    who: SignedIn,
    act: {
      readonly act: string;
      readonly subject: string;
      readonly source: string;
      readonly network: string | null;
      readonly challenge?: UsedChallenge;
    },
  ): Outcome<void>;
  /** A passkey made for exactly this act. */
  made(
    who: SignedIn,
    act: JsonObject,
    answered: Answered,
  ): Outcome<NewPasskey & { readonly used: UsedChallenge }>;
  addPasskey(
    who: SignedIn,
    passkey: NewPasskey & { readonly used: UsedChallenge; readonly name: string },
    network: string | null,
  ): Outcome<void>;
  removePasskey(who: SignedIn, by: Confirmation, credentialId: string): Outcome<void>;
  leave(who: SignedIn, by: Confirmation): Outcome<void>;
}

const sessionMs = 12 * 3_600_000;
const secretBytes = 32;
const nameLengthMax = 100;
const signInAct = { act: "sign_in" } as const;

/** Joining, signing in and confirming of one node's portal (PP1 to PP3). Its methods throw {@link StoreError}. */
export function createPeople(deps: PeopleDeps): People {
  const { actors, challenges, authenticators } = deps;
  const ask = async (reply: Promise<PersonReply>): Outcome<void> => {
    const answer = await reply;
    return answer.status === "done" ? ok(undefined) : refuse(answer.code, "The act was not taken.");
  };
  const to = (who: SignedIn) => personRef(who.person_id);
  return {
    joining: (given) => {
      const name = nameOf(given);
      if (name === null) return refuse("name_invalid", "This is not a name.");
      const person_id = newUuid(deps);
      return ok({ person_id, name, ...challenges.issue(joinAct({ person_id, name }), null) });
    },
    join: (who, answered) => join(deps, who, answered),
    signingIn: () => challenges.issue(signInAct, null),
    signIn: (answered) => signIn(deps, answered),
    who: (cookie) => whoIs(deps, cookie),
    report: (who) => actors.ask(to(who), { type: "person.read" }),
    endSession: (who, ended) =>
      ask(actors.ask(to(who), { type: "session.end", session: who.session.session, ended })),
    asking: (who, act) => challenges.issue(act, boundTo(who)),
    confirmed: (who, act, answered) => confirmed(deps, who, act, answered),
    note: (who, by, act) => ask(actors.ask(to(who), { type: "act.confirm", by, ...act })),
    confirmOnce: async (who, act, answered, kept) => {
      const expected = challenges.expected(act, boundTo(who), answered.ticket);
      if (!expected.ok) return expected;
      const { challenge: source } = expected.value;
      const by = await confirmed(deps, who, act, answered);
      if (!by.ok) return by;
      const noted = await ask(actors.ask(to(who), { type: "act.confirm", by: by.value, ...kept, source }));
      return noted.ok ? ok(source) : noted;
    },
    keep: (who, act) => ask(actors.ask(to(who), { type: "act.note", session: who.session.session, ...act })),
    made: async (who, act, { ticket, credential }) => {
      const expected = challenges.expected(act, boundTo(who), ticket);
      if (!expected.ok) return expected;
      const made = await authenticators.registered(credential, expected.value.challenge);
      return made === null ? notVerified : ok({ ...made, used: expected.value.used });
    },
    addPasskey: (who, { used: challenge, ...passkey }, network) =>
      ask(
        actors.ask(to(who), {
          type: "passkey.add",
          session: who.session.session,
          passkey,
          challenge,
          network,
        }),
      ),
    removePasskey: (who, by, credential_id) =>
      ask(actors.ask(to(who), { type: "passkey.remove", by, credential_id })),
    leave: (who, by) => ask(actors.ask(to(who), { type: "person.leave", by })),
  };
}

const notVerified = refuse("not_verified", "The passkey's answer does not verify.");

/**
 * A name of a person or a business, of at most so many characters, as {@link seenName} has it, in NFC. Spaces of any kind are one space
 * each, and none is around it. Null for any other text.
 */
export function nameOf(text: string, lengthMax = nameLengthMax): string | null {
  const name = text
    .normalize("NFC")
    .replaceAll(/\p{Zs}+/gu, " ")
    .trim();
  return seenName.test(name) && name.length <= lengthMax ? name : null;
}

/**
 * A name that is seen as it is: it has a letter or a digit, and nothing in it is invisible or reorders it (Unicode Standard Annex #44).
 * Beside what Unicode calls invisible are the symbols and marks whose glyph is blank.
 */
export const seenName =
  /^(?=.*[\p{L}\p{N}])[^\p{C}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u{2800}\u{16fe4}\u{1d159}]+$/u;

/** In whose name and in which session a challenge is issued. */
export function boundTo({ person_id, session: { session } }: SignedIn): Bound {
  return { person_id, session };
}

function joinAct(who: { readonly person_id: string; readonly name: string }): JsonObject {
  return { act: "join", person_id: who.person_id, name: who.name };
}

/** A random UUID (RFC 9562 §5.4). */
export function newUuid({ crypto }: Pick<Platform, "crypto">): string {
  const bytes = crypto.randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = toHex(bytes);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

async function join(
  deps: PeopleDeps,
  who: { readonly person_id: string; readonly name: string },
  { ticket, credential, network }: Answered,
): Outcome<OpenedSession> {
  const { person_id } = who;
  const name = nameOf(who.name);
  if (name === null || !isUuidV4(person_id)) return refuse("name_invalid", "This is not a name.");
  const expected = deps.challenges.expected(joinAct({ person_id, name }), null, ticket);
  if (!expected.ok) return expected;
  const passkey = await deps.authenticators.registered(credential, expected.value.challenge);
  if (passkey === null) return notVerified;
  await deps.homes.settle(person_id);
  const { session, opened } = newSession(deps, person_id);
  const reply = await deps.actors.ask(personRef(person_id), {
    type: "person.join",
    name,
    passkey: { ...passkey, name },
    session,
    network,
  });
  return reply.status === "done" ? ok(opened) : refuse(reply.code, "The act was not taken.");
}

/** See PP1: what is verified and what is answered is the same for everybody who is not let in. */
async function signIn(deps: PeopleDeps, { ticket, credential, network }: Answered): Outcome<OpenedSession> {
  const expected = deps.challenges.expected(signInAct, null, ticket);
  if (!expected.ok) return expected;
  const { challenge, used } = expected.value;
  const { person_id, credential_id } = namesIn(credential);
  const asked = personRef(await deps.homes.orNobody(person_id));
  const passkey = await deps.actors.ask(asked, { type: "passkey.read", credential_id });
  const counter = await deps.authenticators.asserted(credential, challenge, passkey);
  if (counter === null) return notVerified;
  const { session, opened } = newSession(deps, person_id);
  const by = { credential_id, counter, challenge: used, network };
  const reply = await deps.actors.ask(personRef(person_id), { type: "session.open", by, session });
  return reply.status === "done" ? ok(opened) : notVerified;
}

/** Nobody has this id. */
export const nobody = "00000000-0000-4000-8000-000000000000";

/** Whom and which passkey an assertion claims to be of; it proves nothing. */
function namesIn(credential: unknown): { readonly person_id: string; readonly credential_id: string } {
  const { id, response } = membersOf(credential);
  const handle = membersOf(response)["userHandle"];
  const bytes = typeof handle === "string" ? parseBase64Url(handle) : null;
  const person_id = bytes === null ? "" : String.fromCharCode(...bytes.subarray(0, 64));
  const isId = typeof id === "string" && /^[\w-]{1,1400}$/.test(id);
  return { person_id: isUuidV4(person_id) ? person_id : nobody, credential_id: isId ? id : "" };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

async function confirmed(
  deps: PeopleDeps,
  who: SignedIn,
  act: JsonObject,
  { ticket, credential, network }: Answered,
): Outcome<Confirmation> {
  const expected = deps.challenges.expected(act, boundTo(who), ticket);
  if (!expected.ok) return expected;
  const { credential_id } = namesIn(credential);
  const passkey = await deps.actors.ask(personRef(who.person_id), { type: "passkey.read", credential_id });
  const counter = await deps.authenticators.asserted(credential, expected.value.challenge, passkey);
  if (counter === null) return notVerified;
  const { session } = who.session;
  return ok({ session, credential_id, counter, challenge: expected.value.used, network });
}

async function whoIs(deps: PeopleDeps, cookie: string | null): Promise<SignedIn | null> {
  const [, person_id = "", secret = ""] = /^([0-9a-f-]{36})\.([\w-]{43})$/.exec(cookie ?? "") ?? [];
  if (!isUuidV4(person_id)) return null;
  const session = sessionHash(deps, secret);
  const asked = personRef(await deps.homes.orNobody(person_id));
  const used = await deps.actors.ask(asked, { type: "session.use", session });
  return used === null ? null : { person_id, ...used };
}

function newSession(deps: PeopleDeps, personId: string) {
  const secret = toBase64Url(deps.crypto.randomBytes(secretBytes));
  const ends_at_ms = deps.clock.now() + sessionMs;
  const opened: OpenedSession = { cookie: `${personId}.${secret}`, ends_at_ms };
  return { opened, session: { session: sessionHash(deps, secret), ends_at_ms } };
}
