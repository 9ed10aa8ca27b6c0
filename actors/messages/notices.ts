// Notices to a business's owners and admins: about its pushes, and about what operators take out of serving. The actor that decided has each
// delivered, after the commit that made it true and until a delivery succeeds: at least once, and in the ordinary case once.

import type { TakedownFacts } from "./serving.ts";

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
  /** Why a push failed. */
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
