// Taking records out of serving, and back, whatever their business publishes: what operators take down, and how serving learns of it.
// Also what does not stand any more, what is known of a record, and notices to owners and admins.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { CertificateInForce } from "./party.ts";
import type { CommandOf, DoneReply, RegisterAct, RegisterReply, Seen } from "./protocol.ts";
import type { RegionProtocol } from "./region.ts";

/** What operators took out of serving: one record, or everything of a business. Kept after it was undone. */
export interface TakedownFacts {
  readonly business_uuid: string;
  /** Null for the whole business. */
  readonly record_id: string | null;
  /** What the business is told of the reason. */
  readonly statement_of_reasons: string;
  readonly taken_down_at: string;
  /** Null while it is in force. */
  readonly lifted_at: string | null;
}

export interface ServingProtocol {
  /** Takes a record (or with null, the whole business) out of serving; repeated, it changes nothing. */
  "takedown.impose"(
    command: {
      readonly record_id: string | null;
      readonly statement_of_reasons: string;
      readonly act: RegisterAct;
    } & Seen,
  ): RegisterReply;
  /** Undoes it: what the business has published since, and what it has withdrawn, counts. */
  "takedown.lift"(
    command: { readonly record_id: string | null; readonly act: RegisterAct } & Seen,
  ): RegisterReply;
  /**
   * Has serving told of a page of the business's records, as far as they are to be served otherwise than it knows; told by the
   * actor's own work.
   */
  "serving.restate"(command: { readonly after: string; readonly limit: number }): {
    /** Null after the last page. */
    readonly next: string | null;
  };
}

/** Whether serving has a record, from a change on: the head of its newest version says so in the store, its row in every index. */
export interface ServedState {
  readonly record_id: string;
  readonly collection: CollectionName;
  readonly change: number;
  readonly generation: number;
  readonly hash: string;
  readonly live: boolean;
}

/**
 * What a region's index is told of records. Everybody who tells it of the same change names the same work, so work that is
 * under way is awaited, and not repeated.
 */
export function restatedRows(
  records: readonly ServedState[],
): readonly (CommandOf<RegionProtocol, "rows.apply"> | CommandOf<RegionProtocol, "rows.index">)[] {
  const commands: (CommandOf<RegionProtocol, "rows.apply"> | CommandOf<RegionProtocol, "rows.index">)[] = [];
  const out = records.filter(({ live }) => !live);
  const [first] = out;
  if (first !== undefined)
    commands.push({
      type: "rows.apply",
      work_id: `out/${first.record_id}/${first.change}/${out.length}`,
      changes: out.map(
        ({ record_id, collection, change }): RowChange => ({ kind: "remove", record_id, collection, change }),
      ),
    });
  for (const [collection, back] of Map.groupBy(
    records.filter(({ live }) => live),
    (each) => each.collection,
  )) {
    const [one] = back;
    if (one === undefined) continue;
    commands.push({
      type: "rows.index",
      work_id: `back/${one.record_id}/${one.change}/${back.length}`,
      collection,
      references: back.map(({ record_id, generation, hash, change }) => ({
        record_id,
        generation,
        hash,
        change,
      })),
    });
  }
  return commands;
}

// What a business's actor and its own work say to each other about what does not stand any more (verifier/standing.ts).

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
  readonly issuances: readonly CertificateInForce[];
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

// Notices to a business's owners and admins: about its pushes, and about what operators take out of serving. The actor that decided has each
// delivered, after the commit that made it true and until a delivery succeeds: at least once, and in the ordinary case once.

/** A port: one channel of notices. It may be asked for the same notice again, which has the same id. */
export interface NoticeChannel {
  /** Throws if the notice was not delivered and may be later. */
  deliver(notice: Notice): Promise<void>;
}

export interface NoticeChannels {
  readonly record: NoticeChannel;
  readonly mail: NoticeChannel;
}

export type Notice = PushNotice | TakedownNotice;

export interface PushNotice {
  readonly v: 1;
  /** Identifies the notice, however often it is delivered: `<push_id>.<state>`. */
  readonly notice_id: string;
  readonly business_uuid: string;
  readonly push_id: string;
  readonly state: "complete" | "failed" | "held";
  readonly records: number;
  readonly counts: {
    readonly accepted: number;
    readonly updated: number;
    readonly rejected: number;
    readonly held: number;
  };
  readonly error: { readonly code: string; readonly detail: string } | null;
  /** Why a push is held: the codes of its reasons. */
  readonly held_reasons: readonly string[];
  readonly status_url: string;
  /** When the push reached this state. */
  readonly at: string;
}

/** Of a record, or with null as `record_id` of everything of the business, that operators took out of serving, or let back. */
export interface TakedownNotice
  extends Pick<TakedownFacts, "business_uuid" | "record_id" | "statement_of_reasons"> {
  readonly v: 1;
  /** `<record_id or business_uuid>.<state>.<change>`, with the number of the change in the register. */
  readonly notice_id: string;
  readonly state: "taken_down" | "lifted";
  readonly status_url: string;
  /** When the business's actor decided it. */
  readonly at: string;
}

/** One effect a channel, so that none of them waits for another, or is repeated because of it. Every actor may have them: activities are known by name. */
export function noticeEffects(notice: Notice) {
  return ["recordNotice", "mailNotice"].map((name) => ({ kind: "activity" as const, name, params: notice }));
}
