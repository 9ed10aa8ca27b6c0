// What a business's machine keeps, and the facts that it takes (machines/business.ts).

import type { TermsAgreement } from "../../actors/messages/company.ts";
import type { CertificateInForce, Party, PolicyInForce } from "../../actors/messages/party.ts";
import type { HoldDecided } from "../../actors/messages/push.ts";
import type { Purged } from "../../actors/messages/removal.ts";
import type { ServedState } from "../../actors/messages/serving.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";

export interface BusinessContext {
  readonly uuid: string;
  readonly party: Party | null;
  readonly certificate: CertificateInForce | null;
  readonly policy: PolicyInForce;
  /** Number of AI policy versions accepted so far, in force or not. */
  readonly policyVersions: number;
  /** How often something ended that a seal of the business depends on: a key, a mandate, or a certificate that another one follows. */
  readonly endings: number;
  readonly blockedGroups: readonly string[];
  readonly number: number;
  readonly change: number;
  /** The pushes that are numbered, not held and not finished, oldest first. */
  readonly pending: readonly string[];
  readonly held: readonly string[];
  /** Number of deletions that wait for an operator. */
  readonly heldDeletions: number;
  /** Number of listings of live records: a listing is (record, country). */
  readonly listings: number;
  readonly recordsLive: number;
  /** When the next purge is due, in Unix milliseconds; null while none is, and while purges are under way. */
  readonly purgeAtMs: number | null;
  /** No purge that is owed is due before this, in Unix milliseconds. */
  readonly purgesFromMs: number;
  /** When the next look at a domain is due, likewise. */
  readonly domainsAtMs: number | null;
  /** When people are next told of a mandate that ends, likewise. */
  readonly remindAtMs: number | null;
}

/** When the next work of a kind is due, and how long that is. */
export interface NextWork {
  readonly at_ms: number;
  readonly in_ms: number;
}

export type BusinessEvent =
  | { readonly type: "party.opened"; readonly party: Party }
  | { readonly type: "certificate.issued"; readonly certificate: CertificateInForce }
  | { readonly type: "policy.accepted"; readonly policy: PolicyInForce }
  /** The AI policy in force does not stand any more; given is what is in force instead. */
  | { readonly type: "policy.fell"; readonly policy: PolicyInForce }
  /** Something ended that seals of the business depend on. */
  | { readonly type: "standing.ended" }
  /** Records do not stand any more and left serving: how many, and by how much the counts change. */
  | {
      readonly type: "records.fell";
      readonly records: number;
      readonly listings: number;
      readonly live: number;
    }
  | {
      readonly type: "register.changed";
      readonly keys: readonly string[];
      readonly change: number;
      /** Who requested the change, and why; absent if no name was given. */
      readonly act?: { readonly by: string; readonly reason: string };
    }
  /** An integration key that was in force was revoked. */
  | { readonly type: "key.revoked"; readonly key_id: string }
  | { readonly type: "directory.chosen"; readonly listed: boolean }
  /** With every agreement that the company has since. */
  | { readonly type: "terms.agreed"; readonly agreements: readonly TermsAgreement[] }
  | { readonly type: "group.blocked"; readonly group: string }
  | { readonly type: "group.unblocked"; readonly group: string }
  | { readonly type: "group.joined"; readonly group: string; readonly former_groups: readonly string[] }
  | {
      readonly type: "push.admitted";
      readonly push_id: string;
      readonly number: number;
      readonly held: boolean;
    }
  /** A push that was admitted without a plan is held. */
  | { readonly type: "push.held"; readonly push_id: string }
  | {
      readonly type: "hold.settled";
      readonly push_id: string;
      /** Whether the push is published. */
      readonly confirmed: boolean;
      /** Who decided what, and when. */
      readonly decision: HoldDecided;
      /** Why a confirmed push is not published. */
      readonly error?: { readonly code: string; readonly detail: string };
      /** The position among the pending pushes that follows from the number of the confirmed push. */
      readonly position: number;
    }
  | { readonly type: "chunk.assigned"; readonly listings: number; readonly live: number }
  | { readonly type: "push.finished"; readonly push_id: string }
  | {
      readonly type: "push.cancelled";
      readonly push_id: string;
      /** The operator who cancelled it, and why; absent where the business did. */
      readonly act?: { readonly by: string; readonly reason: string };
    }
  | {
      readonly type: "record.removed";
      readonly number: number;
      readonly record_id: string;
      readonly collection: CollectionName;
      readonly change: number;
      /** The generation of the version that was served last. */
      readonly generation: number;
      readonly hash: string;
      readonly listings: number;
      readonly live: number;
      /** Given if the timer of purges has to be set for this deletion. */
      readonly timer?: NextWork;
    }
  /** A deletion waits for an operator, or one was decided. */
  | { readonly type: "deletion.held"; readonly document_hash: string }
  | { readonly type: "deletion.decided"; readonly document_hash: string; readonly released: boolean }
  /** Operators took everything of the business out of serving, or undid that. */
  | { readonly type: "business.taken_down"; readonly taken_down: boolean }
  /** These records are served from now on, or not any more. */
  | { readonly type: "serving.changed"; readonly records: readonly ServedState[] }
  /** What is proved of purges, and when the next one is due. */
  | {
      readonly type: "records.purged";
      readonly purged: readonly Purged[];
      /** No purge that is owed is due before this. */
      readonly from_ms: number;
      readonly timer: NextWork | null;
    }
  /** Served business files name other domains than before, one of which is to be looked at sooner than any was. */
  | { readonly type: "domains.named"; readonly timer: NextWork }
  /** A mandate is accepted whose end has to be spoken of sooner than any other's. */
  | { readonly type: "reminder.owed"; readonly timer: NextWork }
  /** People were told of mandates that end, and when the next one is due. */
  | { readonly type: "reminders.given"; readonly timer: NextWork | null }
  /** Domains were looked at; given are how many, how many of them became confirmed or suspended, and when the next look is due. */
  | {
      readonly type: "domains.probed";
      readonly probed: number;
      readonly confirmed: number;
      readonly suspended: number;
      readonly timer: NextWork | null;
    };
