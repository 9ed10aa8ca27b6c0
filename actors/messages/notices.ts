// Notices to the people who bind a party, as commands of its actor: what they are about, who wants which, and the newest. Of each notice
// somebody gets one mail (actors/person), and all of them are on a page.

import type { CertificateStatus } from "../../protocol/keys/certificate.ts";
import { noticeKinds as chosenKinds } from "../../protocol/wire/webhook.ts";
import type { MemberRole } from "./members.ts";
import type { DoneReply, RegisterReply } from "./protocol.ts";

export const noticeKinds = [...chosenKinds, "owner.recovery"] as const;
export type NoticeKind = (typeof noticeKinds)[number];

/** The kinds that people choose; of the others everybody who binds the party is told. */
export { chosenKinds };
export type ChosenKind = (typeof chosenKinds)[number];

/** What a notice is about: ids and names of states, and who did it where a person did. */
export type NoticeFacts =
  | {
      readonly kind: "push.ended";
      readonly push_id: string;
      readonly state: "complete" | "failed";
      readonly published: number;
      readonly rejected: number;
    }
  | { readonly kind: "push.held"; readonly push_id: string; readonly records: number }
  | {
      readonly kind: "mandate.ends";
      readonly mandate_id: string;
      readonly key_id: string;
      readonly until: string;
    }
  | { readonly kind: "certificate.ends"; readonly status: CertificateStatus; readonly from: string }
  | { readonly kind: "key.network"; readonly key_id: string; readonly network: string }
  | {
      readonly kind: "takedown";
      /** Null for everything of the business. */
      readonly record_id: string | null;
      readonly state: "taken_down" | "lifted";
    }
  | {
      readonly kind: "sealer.added";
      readonly key_id: string;
      readonly by: string;
      /** Where the service holds the key. */
      readonly hosted?: true;
    }
  | {
      readonly kind: "role.changed";
      readonly person_id: string;
      /** Null for somebody who was removed. */
      readonly role: MemberRole | null;
      readonly by: string;
    }
  | {
      readonly kind: "webhook.off";
      readonly endpoint_id: string;
      readonly host: string;
      /** Since when nothing was delivered. */
      readonly since: string;
    }
  | {
      readonly kind: "owner.recovery";
      readonly state: "announced" | "stopped" | "done";
      /** The owner who is replaced, and what the person who asks for it is called. */
      readonly person_id: string;
      readonly applicant_name: string;
      readonly until: string;
    };

export type PersonNotice = NoticeFacts & {
  /** Identifies the notice, however often it is given. */
  readonly notice_id: string;
  readonly at_ms: number;
};

/** A notice as it is sent to one person. */
export interface SentNotice {
  readonly uuid: string;
  readonly legal_name: string;
  readonly notice: PersonNotice;
}

export interface NoticesProtocol {
  /** A notice of another actor of the party. Repeatable by its id, as long as it is among those that are kept. */
  "notice.give"(command: { readonly notice_id: string; readonly facts: NoticeFacts }): DoneReply;
  /** A key of the party signed a request that came from this network. Repeatable. */
  "network.seen"(command: { readonly key_id: string; readonly network: string }): DoneReply;
  /** Read-only: the mandates whose end is near; told to its own activity. */
  "reminders.due"(): { readonly mandate_ids: readonly string[] };
  /** Gives the notices of these mandates, and sets the timer for the next. */
  "reminders.give"(command: { readonly mandate_ids: readonly string[] }): DoneReply;
  /** Which kinds a person who binds the party does not want. Repeatable. */
  "notices.choose"(command: {
    readonly person_id: string;
    readonly unwanted: readonly NoticeKind[];
  }): RegisterReply;
  /** Read-only: what the person wants, the newest first; null for somebody who does not bind the party. */
  "notices.read"(command: {
    readonly person_id: string;
  }): { readonly notices: readonly PersonNotice[]; readonly unwanted: readonly NoticeKind[] } | null;
}
