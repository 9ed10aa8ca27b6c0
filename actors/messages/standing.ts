// What a business's actor and its own work say to each other about what does not stand any more (verifier/standing.ts).

import type { DoneReply } from "./protocol.ts";

/** The seal of a push, as far as it decides later whether what was published under it still stands. */
export interface PushSeal {
  readonly key_id: string;
  readonly cert_id: string;
  readonly sealed_at: string;
  readonly received_at: string;
  /** The mandates of the push, of which each record was published under one; none where none is needed. */
  readonly mandates: readonly SealMandate[];
}

export interface SealMandate {
  readonly mandate_id: string;
  /** The key that sealed it. */
  readonly sealed_by: string;
}

/** The seal of a push whose records got versions, by the number of the push. */
export interface NumberedSeal {
  readonly number: number;
  readonly seal: PushSeal;
}

/** An issuance of the party's certificate, as far as seals are judged by it. */
export interface IssuanceStanding {
  readonly cert_id: string;
  readonly status: "active" | "revoked" | "closed" | "withdrawn";
  readonly status_effective_from: string;
  readonly status_reason: string | null;
  readonly issued_at: string;
}

/** What may happen to an AI policy after it came into force. */
export interface PolicyFall {
  /** From when it does not stand any more; absent while it does. It was in force until then. */
  readonly fallen_at?: string;
  /** From when it is in force again, because a later version fell; absent if none did. */
  readonly again_from?: string;
}

/** The part of a business actor's commands that concerns what does not stand any more. Its own work sends all of them. */
export interface StandingProtocol {
  /** Read-only: the seals of pushes numbered after the given one, oldest first, and every issuance of the certificate. */
  "standing.read"(command: { readonly after: number; readonly limit: number }): StandingPage;
  /** Read-only: the live records after the given one, each with the number of the push that published it. */
  "live.list"(command: { readonly after: string; readonly limit: number }): LivePage;
  /** Takes records out of serving whose push does not stand; nothing for a record that was published again since. */
  "records.fall"(command: { readonly records: readonly LiveRecord[] }): DoneReply;
  /** The AI policies that do not stand, newest first from the one in force, and the version that is in force instead. */
  "policies.fall"(command: { readonly fallen: readonly number[]; readonly in_force: number }): DoneReply;
}

export interface StandingPage {
  readonly seals: readonly NumberedSeal[];
  readonly more: boolean;
  /** Newest first. */
  readonly issuances: readonly IssuanceStanding[];
  /** The AI policy version in force. */
  readonly policy_version: number;
}

export interface LiveRecord {
  readonly record_id: string;
  readonly number: number;
  /** Which of the mandates of its push it was published under; absent for the first. */
  readonly mandate?: number;
}

export interface LivePage {
  readonly records: readonly LiveRecord[];
  /** The last record that was looked at, live or not; null once there are no more. */
  readonly next: string | null;
}
