// The commands of a business actor. There is one for each party, a business or an AI company. Its id is the party's UUID.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import type { Listings } from "../../protocol/price-shock.ts";
import type { HeldReason } from "../../protocol/wire/push.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";
import type {
  AdmitReply,
  AttemptsProtocol,
  EndedCounts,
  HeldPush,
  HoldFault,
  HoldReply,
  HoldsReply,
  ListingsReply,
  OpenUploadsProtocol,
  PreviewReply,
  SealedDecision,
} from "./admission.ts";
import type { CompanyProtocol } from "./company.ts";
import type { BrandFacts, BrandsProtocol, DomainFacts, DomainsProtocol } from "./domains.ts";
import type { MembersProtocol } from "./members.ts";
import type { NoticesProtocol } from "./notices.ts";
import type { CertificateInForce, Party, RoledKey } from "./party.ts";
import type { Commands, RegisterAct, RegisterReply, Seen } from "./protocol.ts";
import type { OwnerRecoveryProtocol } from "./recovery.ts";
import type { RecordHeadFacts, RemovalProtocol } from "./removal.ts";
import type { PolicyFall, PushSeal, ServingProtocol, StandingProtocol } from "./serving.ts";
import type { WebhooksProtocol } from "./webhooks.ts";

export interface PartyFacts extends Party {
  /** The groups that this business has blocked. */
  readonly blocked_groups: readonly string[];
  /** The domains of the endpoints in its served business files; absent before the first. */
  readonly domains?: readonly DomainFacts[];
  /** Absent until one of its served business files names a brand, or an operator confirmed one. */
  readonly brands?: BrandFacts;
}

export interface KeyFacts extends RoledKey {
  readonly key_id: string;
  readonly party_uuid: string;
  readonly alg: string;
  readonly public_key: PublicJwk;
  /** The COSE_Key as registered, in base64; only passkeys have one. */
  readonly cose: string | null;
  /** Where an AI company's key comes from; absent for its portal. */
  readonly source?: "portal" | "directory_import";
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly revoked_at: string | null;
  readonly compromised_from: string | null;
}

export interface CertificateFacts extends CertificateInForce {
  readonly uuid: string;
  /** The certificate envelope as JSON text. */
  readonly envelope: string;
}

export interface MandateFacts {
  readonly mandate_id: string;
  readonly business_uuid: string;
  readonly key_id: string;
  readonly scope: MandateScopeFacts;
  readonly valid_from: string;
  readonly valid_until: string;
  readonly revoked_at: string | null;
  /** When the register accepted it. */
  readonly accepted_at: string;
  /** The mandate envelope as JSON text. */
  readonly envelope: string;
}

/** A mandate without its envelope; `sealed_by` names the key that the envelope names as its signer. */
export interface ListedMandate extends Omit<MandateFacts, "envelope"> {
  readonly sealed_by: string;
}

export interface MandateScopeFacts {
  readonly record_types: readonly string[];
  readonly countries: readonly string[];
  readonly directions: readonly string[];
  readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
  readonly source_ip_allow_list: readonly string[] | null;
}

export interface PolicyFacts extends PolicyFall {
  readonly business_uuid: string;
  readonly version: number;
  readonly record_id: string;
  /** The exact sealed bytes in base64. */
  readonly record_base64: string;
  /** The seal envelope as JSON text. */
  readonly seal: string;
  readonly live_from: string;
  readonly bits: { readonly use: number; readonly action: number; readonly blocked: number };
}

export interface CustodyFacts {
  readonly statement_id: string;
  readonly business_uuid: string;
  readonly key_id: string;
  readonly custody: "hosted" | "self";
  readonly effective_from: string;
  readonly issued_at: string;
  readonly envelope: string;
}

/** One leaf that passed its own checks and requests its place among the versions of its record. */
export interface LeafClaim {
  readonly leaf_index: number;
  readonly record_id: string;
  readonly hash: string;
  readonly business_product_id: string | null;
  /** Prices by country, for the hold rule: `{US: ["9.99", "USD"]}`. Empty for types without prices. */
  readonly listings: Listings;
  /** The domains of a business file's endpoints; absent on other types. */
  readonly domains?: readonly string[];
  /** The brands that a business file declares; absent on other types. */
  readonly brands?: Omit<BrandFacts, "confirmed">;
  /** Which of the mandates of its push it is published under; absent for the first. */
  readonly mandate?: number;
}

/** A record by both of its ids, as a leaf that is rejected or held names it. */
export type NamedRecord = Pick<LeafClaim, "record_id"> & { readonly business_product_id: string };

export type { HeldReason, Listings };

export interface LeafAssignment {
  readonly leaf_index: number;
  readonly record_id: string;
  readonly outcome: "accepted" | "updated" | "superseded" | "duplicate";
  /** 0 if nothing was published. */
  readonly generation: number;
  readonly change: number;
}

/** An act as it is stored: what was done to which register entry, and under which change number. */
export interface KeptAct extends RegisterAct {
  /** The type of the command. */
  readonly act: string;
  /** The entry as `table/key`. */
  readonly entry: string;
  readonly at: string;
  readonly change: number;
}

/** A command that changes nothing is answered in every state; any other is refused if the party's state does not allow it. */
export interface BusinessProtocol
  extends RemovalProtocol,
    AttemptsProtocol,
    OpenUploadsProtocol,
    DomainsProtocol,
    ServingProtocol,
    StandingProtocol,
    BrandsProtocol,
    MembersProtocol,
    NoticesProtocol,
    WebhooksProtocol,
    OwnerRecoveryProtocol,
    CompanyProtocol {
  "party.open"(command: { readonly party: PartyFacts; readonly act?: RegisterAct }): RegisterReply;
  "certificate.issue"(command: {
    readonly certificate: CertificateFacts;
    /** The cert_id that must be in force, or null if none may be. */
    readonly follows: string | null;
    readonly act?: RegisterAct;
  }): RegisterReply;
  "key.register"(command: { readonly key: KeyFacts; readonly act?: RegisterAct }): RegisterReply;
  "key.revoke"(command: {
    readonly key_id: string;
    readonly revoked_at: string;
    readonly compromised_from: string | null;
    readonly act?: RegisterAct;
  }): RegisterReply;
  "mandate.accept"(command: { readonly mandate: MandateFacts; readonly act?: RegisterAct }): RegisterReply;
  "mandate.revoke"(command: {
    readonly mandate_id: string;
    readonly revoked_at: string;
    readonly act?: RegisterAct;
  }): RegisterReply;
  "policy.accept"(command: {
    readonly policy: PolicyFacts;
    /** The policy is in force since this timestamp instead of now; allowed only while the business has published nothing. */
    readonly since?: string;
    readonly act?: RegisterAct;
  }): RegisterReply;
  "custody.state"(command: { readonly custody: CustodyFacts }): RegisterReply;
  "group.block"(command: { readonly group: string; readonly act?: RegisterAct } & Seen): RegisterReply;
  "group.unblock"(command: { readonly group: string; readonly act?: RegisterAct } & Seen): RegisterReply;
  /** Read-only: the facts that publishing needs, from the actor that owns them. */
  "publishing.facts"(command: { readonly key_id: string }): PublishingFacts;
  /** Numbers a push and decides whether it is held; repeatable by push_id. */
  "push.admit"(command: {
    readonly push_id: string;
    readonly key_id: string;
    readonly records: number;
    /** False for a record that a person sealed alone: the price-shock hold applies to machines only. */
    readonly may_hold: boolean;
    /** The facts for the hold rule; null if the business answered that there was nothing to compare with. */
    readonly plan: PushPlan | null;
    /** The reasons to hold it, where they were found piece by piece; its plan then names the pending pushes alone. */
    readonly held_reasons?: readonly HeldReason[];
    /** The root over the records, for fair use; absent for a record that was sealed alone. */
    readonly root?: string;
    /**
     * When the batch was received, in Unix milliseconds. It is listed among the business's pushes at that time; without it,
     * the push is not listed. Absent for records that were sealed alone.
     */
    readonly received_at_ms?: number;
    /** The person who sealed the one record at the portal. */
    readonly act?: RegisterAct & { readonly record_id: string };
  }): AdmitReply;
  /** Read-only: what `push.admit` would answer now, and the version that each planned record would get. */
  "push.preview"(command: {
    readonly push_id: string;
    readonly may_hold: boolean;
    readonly plan: PushPlan;
    /** As in `push.admit`. */
    readonly root?: string;
  }): PreviewReply;
  /** Confirms or rejects a held push by an owner's or admin's sealed decision; repeatable by push_id. */
  "hold.settle"(command: {
    readonly push_id: string;
    readonly confirmed: boolean;
    readonly held: HeldPush;
    readonly decision: SealedDecision;
    /** Why the push must not be published, as far as only the caller can judge it. */
    readonly fallen: HoldFault | null;
    /** The person who decided at the portal. */
    readonly act?: RegisterAct;
  }): HoldReply;
  /** Read-only: the held pushes, oldest first, from the given number on. */
  "holds.read"(command: { readonly after: number; readonly limit: number }): HoldsReply;
  /** Read-only: what the hold of a push that is decided later needs to know of these records. */
  "listings.read"(command: {
    readonly push_id: string;
    readonly record_ids: readonly string[];
  }): ListingsReply;
  /** Holds a push that was admitted without a plan; repeatable by push_id. */
  "push.hold"(command: {
    readonly push_id: string;
    readonly held_reasons: readonly HeldReason[];
  }): RegisterReply;
  /** The business's own ids of records that a push which is to be held names; repeatable. */
  "names.keep"(command: { readonly number: number; readonly names: readonly NamedRecord[] }): RegisterReply;
  /** Assigns generations and change numbers to a chunk; repeatable by (push_id, chunk). */
  "chunk.assign"(command: {
    readonly push_id: string;
    readonly number: number;
    readonly chunk: number;
    readonly collection: CollectionName;
    readonly leaves: readonly LeafClaim[];
    /** What its other leaves name. */
    readonly refused: readonly NamedRecord[];
    readonly seal: PushSeal;
  }): AssignReply;
  /** Ends a push of which nothing is published yet, at its business's request or by the act of an operator; repeatable. */
  "push.cancel"(command: { readonly push_id: string; readonly act?: RegisterAct }): CancelReply;
  /** The push reached a final state, so the rows kept for its repetitions may be deleted. */
  "push.finished"(command: {
    readonly push_id: string;
    readonly chunks: number;
    readonly ended: {
      readonly received_at_ms: number;
      readonly number: number;
      readonly counts: EndedCounts;
    };
  }): RegisterReply;
  /** Read-only: the bodies of register entries, for their projection. */
  "register.read"(command: { readonly keys: readonly string[] }): RegisterReadReply;
  /** Read-only: the acts recorded with a name and a reason after the given change of the register, oldest first. */
  "acts.read"(command: { readonly after: number; readonly limit: number }): ActsReply;
  /** Read-only: the head of one record. */
  "record.read"(command: { readonly record_id: string }): { readonly head: RecordHeadFacts | null };
}

export type BusinessCommand = Commands<BusinessProtocol>;

/** The commands that change the register and nothing else. */
export type RegisterCommand = Extract<
  BusinessCommand,
  {
    type:
      | "party.open"
      | "certificate.issue"
      | "key.register"
      | "key.revoke"
      | "mandate.accept"
      | "mandate.revoke"
      | "policy.accept"
      | "custody.state"
      | "group.block"
      | "group.unblock"
      | Extract<keyof ServingProtocol, `takedown.${string}`>
      | keyof BrandsProtocol
      | keyof CompanyProtocol;
  }
>;

/** A push as the hold rule sees it: the listings that it would leave for each record. */
export interface PushPlan {
  /** The pushes, accepted but not yet applied, that `earlier` describes; if the set differs, the answer is `plan_stale`. */
  readonly pending: readonly string[];
  /** The plans of the pending pushes, oldest first. */
  readonly earlier: readonly PlannedListings[];
  readonly listings: PlannedListings;
}

export type PlannedListings = readonly (readonly [recordId: string, listings: Listings])[];

export interface PublishingFacts {
  /** When the home answered, in Unix milliseconds, by the clock that determines when AI policies come into force. */
  readonly at_ms: number;
  readonly party: PartyFacts | null;
  /** The newest certificate issuance; null before the first. */
  readonly certificate: Omit<CertificateFacts, "envelope"> | null;
  readonly policy: {
    readonly version: number;
    readonly record_id: string | null;
    readonly live_from: string | null;
    /** The newest version that was ever accepted, in force or not. */
    readonly newest: number;
  };
  /** Status of the requesting key, as the home knows it now. */
  readonly key: "live" | "revoked" | "unknown";
  /** The key's mandates, newest first, without their envelopes. */
  readonly mandates: readonly ListedMandate[];
  /** Number of listings applied or accepted. */
  readonly listings: number;
  /** The pushes that are numbered, not held and not finished, oldest first. */
  readonly pending: readonly string[];
}

/** `too_late`: records of the push have their generations, or the push is over. */
export interface CancelReply {
  readonly status: "cancelled" | "too_late";
}

export interface AssignReply {
  /** The push was cancelled: nothing of it is published. */
  readonly cancelled?: true;
  /** An operator cancelled it, not the business. */
  readonly by_operator?: true;
  /** The seal of the push does not stand any more: nothing of this chunk is published. */
  readonly fallen?: { readonly code: string; readonly detail: string };
  /** When the chunk was published. It is the same in every repetition, so what is signed from it is the same as well. */
  readonly assigned_at_ms: number;
  readonly assignments: readonly LeafAssignment[];
}

export interface RegisterReadReply {
  readonly entries: readonly RegisterEntry[];
}

export interface ActsReply {
  readonly acts: readonly KeptAct[];
}
