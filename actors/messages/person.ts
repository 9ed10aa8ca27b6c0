// The commands of a person: somebody who works at the portal, with passkeys that only sign in. Its id is drawn when it joins, and nothing
// that is published names it. What it may do for a business is asked at the business (members.ts).

import type { SentNotice } from "./notices.ts";

/** Maximum number of businesses that one person applied for or works for. */
export const businessesMax = 20;

/** A passkey that signs in. It is in no register, and nobody outside the service sees it. */
export interface SignInPasskey {
  /** Base64url, as the authenticator gave it. */
  readonly credential_id: string;
  /** The COSE_Key in base64url. */
  readonly public_key: string;
  /** What the person calls it. */
  readonly name: string;
  readonly added_at_ms: number;
  /** Null until it signed in. */
  readonly used_at_ms: number | null;
  /** The highest signature counter that it showed; 0 for authenticators that have none. */
  readonly counter: number;
}

/** An assertion that was verified: which passkey made it, and the challenge that it answered, which is used up by it. */
export interface Assertion {
  readonly credential_id: string;
  readonly counter: number;
  readonly challenge: UsedChallenge;
  /** The network that it came from: a /24 or a /48, never an address; null if it is not known. */
  readonly network: string | null;
}

export interface UsedChallenge {
  readonly nonce: string;
  /** From here on nobody takes it, so that it need not be remembered. */
  readonly until_ms: number;
}

/** An act that was confirmed in a session by an assertion made for it. */
export interface Confirmation extends Assertion {
  /** The session in which it was asked for. */
  readonly session: string;
}

export interface PersonSession {
  /** The SHA-256 of the secret that the browser keeps, in base64url. */
  readonly session: string;
  readonly credential_id: string;
  readonly opened_at_ms: number;
  readonly used_at_ms: number;
  /** When it ends at the latest. */
  readonly ends_at_ms: number;
  readonly network: string | null;
}

/** What a person did, as their journal says it. */
export interface PersonAct {
  readonly at_ms: number;
  /** The name of the act. */
  readonly act: string;
  /** What it was about, in the person's own words or by its id; empty where the act says everything. */
  readonly subject: string;
  readonly credential_id: string;
  /** Null where it is not known, or not kept any more. */
  readonly network: string | null;
}

export interface PersonReport {
  readonly name: string;
  readonly joined_at_ms: number;
  readonly passkeys: readonly SignInPasskey[];
  readonly sessions: readonly PersonSession[];
  /** The businesses that the person applied for or works for, and the names of the actors of recoveries, in no order. */
  readonly businesses: readonly string[];
  /** The newest acts first, a hundred at most. */
  readonly acts: readonly PersonAct[];
}

/** Where notices of a person go. */
export interface PersonAddress {
  /** Null where nothing is mailed. */
  readonly address: string | null;
  /** The address that waits for its link to be opened. */
  readonly waiting: string | null;
}

/** An address that nothing more is mailed to. */
export interface FormerAddress {
  readonly to: string;
  readonly change: "replaced" | "removed";
  readonly at_ms: number;
}

export type PersonRefusal =
  | "person_unknown"
  | "passkey_unknown"
  | "session_ended"
  | "challenge_used"
  /** The passkey's counter did not grow: there may be a copy of it. */
  | "counter_stale"
  | "passkey_last"
  | "too_many_businesses"
  /** Somebody who works for a business does not leave. */
  | "has_business"
  | "too_many_passkeys"
  /** So many links were mailed to confirm an address that a day has no more. */
  | "too_many_mails"
  /** The address that was confirmed is not the one that waits. */
  | "address_changed";

export type PersonReply =
  | { readonly status: "done" }
  | { readonly status: "refused"; readonly code: PersonRefusal };

/** A session that begins. */
type NewSession = Pick<PersonSession, "session" | "ends_at_ms">;

export interface PersonProtocol {
  /** Somebody becomes a person, with a first passkey and a session. Somebody who is one is refused with `challenge_used`. */
  "person.join"(command: {
    readonly name: string;
    readonly passkey: Pick<SignInPasskey, "credential_id" | "public_key" | "name" | "counter">;
    readonly session: NewSession;
    readonly network: string | null;
  }): PersonReply;
  /** Read-only: what an assertion of the passkey is verified by; null where there is none. */
  "passkey.read"(command: { readonly credential_id: string }): SignInPasskey | null;
  "session.open"(command: { readonly by: Assertion; readonly session: NewSession }): PersonReply;
  /** The session if it is in force; that it was used is noted every few minutes. */
  "session.use"(command: { readonly session: string }): UsedSession | null;
  /** A session ends another one of the same person, or itself; one that is over stays over. */
  "session.end"(command: { readonly session: string; readonly ended: string }): PersonReply;
  /** Uses the challenge of an act up, and keeps the act. What the act does comes after it. */
  "act.confirm"(command: {
    readonly by: Confirmation;
    readonly act: string;
    readonly subject: string;
    /** A business that becomes one of the person's by the act. */
    readonly business?: string;
    /** The code of the challenge, by which the act is repeatable while it is among the newest; the nonce otherwise, by which it is not. */
    readonly source?: string;
  }): PersonReply;
  /** The challenge is that of the new passkey's registration; that it may be added was confirmed before. */
  "passkey.add"(command: {
    readonly session: string;
    readonly passkey: Pick<SignInPasskey, "credential_id" | "public_key" | "name" | "counter">;
    readonly challenge: UsedChallenge;
    readonly network: string | null;
  }): PersonReply;
  /** Ends every session that it opened; the last one stays. */
  "passkey.remove"(command: { readonly by: Confirmation; readonly credential_id: string }): PersonReply;
  /** Keeps an act that something else confirmed, such as a sealing passkey. Repeatable, while it is among the newest acts. */
  "act.note"(command: {
    readonly session: string;
    readonly act: string;
    readonly subject: string;
    /** What tells it apart from any other act. */
    readonly source: string;
    readonly network: string | null;
    /** What confirmed it: it confirms no other act. */
    readonly challenge?: UsedChallenge;
  }): PersonReply;
  /** Notes a business that the person applies for, by what its own passkey confirmed in the session; repeatable by its uuid. */
  "business.note"(command: {
    readonly session: string;
    /** Of the business, or the name of the actor of a recovery. */
    readonly uuid: string;
    readonly name: string;
    readonly network: string | null;
    /** As which act it is kept; an application if it is left out. */
    readonly act?: "business.apply" | "recovery.file";
    /** Of the passkey's proof: once the business is forgotten, it notes nothing again. */
    readonly challenge?: UsedChallenge;
  }): PersonReply;
  /** The person works for the business from now on, by what operators decided. Repeatable. */
  "business.add"(command: { readonly uuid: string }): PersonReply;
  /** A business that did not let the person in is not theirs any more; one that was noted at that time or later stays. Repeatable. */
  "business.forget"(command: { readonly uuid: string; readonly noted_before_ms?: number }): PersonReply;
  /** A party that the person binds tells them something: it is mailed if they confirmed an address. */
  "notice.send"(command: SentNotice): PersonReply;
  /** An address waits to be confirmed, and meanwhile the earlier one stays; null takes both away. */
  "mail.give"(command: { readonly by: Confirmation; readonly address: string | null }): PersonReply;
  /** The person has what was mailed to the address that waits. Repeatable. */
  "mail.confirm"(command: {
    readonly session: string;
    readonly address: string;
    readonly network: string | null;
  }): PersonReply;
  /** Read-only. */
  "mail.read"(): PersonAddress;
  /** Read-only: what the person is called; null where there is nobody. */
  "name.read"(): string | null;
  /** The person is forgotten, with everything that was kept of them. */
  "person.leave"(command: { readonly by: Confirmation }): PersonReply;
  /** Read-only: everything that the person is shown of themselves. */
  "person.read"(): PersonReport | null;
}

export interface UsedSession {
  readonly name: string;
  readonly session: PersonSession;
}
