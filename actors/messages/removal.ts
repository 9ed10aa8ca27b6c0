// Withdrawals and deletions, as a business actor takes and keeps them.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { Listings } from "../../protocol/price-shock.ts";
import type { RecordHead } from "../../storage/record-store.ts";
import type { CommandOf, DoneReply, RegisterAct, RegisterReply } from "./protocol.ts";
import type { RegionProtocol } from "./region.ts";

/** The part of a business actor's commands that concerns removals. */
export interface RemovalProtocol {
  /** Takes a record out of serving by a sealed document; repeatable by the hash of the document. */
  "record.remove"(
    command: RemoveRecord & {
      /** The person who sealed it at the portal. */
      readonly act?: RegisterAct;
    },
  ): RemoveReply;
  /** Read-only: the accepted document with this hash. */
  "removal.read"(command: { readonly document_hash: string }): {
    readonly removal: Removal | null;
    /** A deletion with this hash that waited for an operator, or still does; null for any other document. */
    readonly held: HeldDeletion | null;
    /** The purge that the law ordered under this hash; null for any document. */
    readonly order: PurgeOrder | null;
    /** The proof that the bytes are gone; null for a withdrawal, and until they are purged. */
    readonly purged: Purged | null;
  };
  /** Read-only: the accepted documents and the ordered purges that are numbered after the given one, oldest first. */
  "removals.list"(command: { readonly after: number; readonly limit: number }): {
    readonly places: readonly RemovalPlace[];
  };
  /** Read-only: the deletions that wait for an operator or did so, in the order of their hashes. */
  "deletions.held"(command: { readonly after: string; readonly limit: number }): {
    readonly deletions: readonly HeldDeletion[];
  };
  /** An operator has a held deletion done, or rejects it for good; repeatable. */
  "deletion.decide"(
    command: Pick<RemoveRecord, "record_id" | "document_hash"> & {
      readonly released: boolean;
      readonly act: RegisterAct;
    },
  ): RegisterReply;
  /** An operator has the record deleted and purged at once, because the law orders it; repeatable. */
  "purge.order"(command: {
    readonly record_id: string;
    /** Published, with the proof of the purge. */
    readonly ground: string;
    /** Names the order: the hash of what it says. */
    readonly document_hash: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** Read-only: the ordered purges of a record, oldest first. */
  "purge.orders"(command: { readonly record_id: string }): { readonly orders: readonly PurgeOrder[] };
  /** Read-only: a page of the purges that are due, oldest first, by whether an earlier push may still undo them; null for the first page. */
  "purges.due"(command: { readonly after: PurgePlace | null }): DuePurges;
  /**
   * Forgets what the actor knows of the record's content, and answers in which pushes it is a reason of a hold: a page after
   * `after`. Told by the actor's own work.
   */
  "purges.forget"(command: { readonly purge: Purge; readonly after: string }): ForgetReply;
  /** The bytes were purged everywhere; told by the actor's own work. */
  "purges.done"(command: { readonly purged: readonly Purged[] }): DoneReply;
}

export type RemovalAction = "withdraw" | "delete";

export interface RemoveRecord {
  readonly record_id: string;
  readonly action: RemovalAction;
  /** From the document. */
  readonly at: string;
  /** `sha256:<hex>` of the document's exact bytes. */
  readonly document_hash: string;
  readonly sealed: SealedRemoval;
  /** When the bytes of a deleted record are to be purged, in Unix milliseconds; absent for a withdrawal. */
  readonly purge_at_ms?: number;
}

/** A deletion that was received after the certificate had been revoked for compromise. */
export interface HeldDeletion extends RemoveRecord {
  /** Null while it waits. */
  readonly decided: { readonly released: boolean; readonly at: string } | null;
}

export interface SealedRemoval {
  /** The exact bytes of the document: they are UTF-8 JSON. */
  readonly document: string;
  /** The seal envelope as JSON text. */
  readonly seal: string;
  readonly received_at: string;
}

/** A document that was accepted, with everything that a transparency log needs of it. */
export interface Removal
  extends SealedRemoval,
    Pick<RemoveRecord, "record_id" | "action" | "document_hash" | "purge_at_ms"> {
  readonly collection: CollectionName;
  /** Its place among the pushes and removals of the business. */
  readonly number: number;
  /** Orders it among the versions of the record. */
  readonly change: number;
  /** The newest version when the document was accepted. */
  readonly generation: number;
  readonly hash: string;
  /** When a deletion took effect that had waited for an operator; absent for all others, which take effect when they are received. */
  readonly applied_at?: string;
}

/** When a document took its record out of serving. */
export function appliedAt({ applied_at, received_at }: Pick<Removal, "applied_at" | "received_at">): string {
  return applied_at ?? received_at;
}

/** A deletion covers every version up to a generation. */
export type Deletion = readonly [generation: number, documentHash: string];

/** The deletion that covers a version; undefined for one that was not deleted. */
export function deletionOf(
  { deletions = [] }: Pick<RecordHeadFacts, "deletions">,
  generation: number,
): Deletion | undefined {
  return deletions.find(([covered]) => covered >= generation);
}

/** The bytes that a deletion owes: those of the record's versions up to a generation. */
export interface Purge
  extends Pick<Removal, "record_id" | "collection" | "generation" | "document_hash" | "number"> {
  readonly due_ms: number;
  readonly deleted_at_ms: number;
}

/** A purge that the law ordered: of every version of the record up to a generation. */
export interface PurgeOrder extends Omit<Purge, "due_ms" | "deleted_at_ms"> {
  readonly ground: string;
  readonly ordered_at: string;
}

export interface DuePurges {
  readonly purges: readonly Purge[];
  /** Those that wait for a push which was numbered before their deletion. */
  readonly waiting: readonly Purge[];
  /** The push that they wait for; null if there are none. */
  readonly push_id: string | null;
  /** Where the next page begins; null on the last. */
  readonly next: PurgePlace | null;
}

/** A place in the order of the purges that a business owes: by when they are due, and by the hash of their document. */
export interface PurgePlace {
  readonly k: number;
  readonly k2: string;
}

/** Why the purges of a business that are due are not done. */
export interface LatePurges {
  readonly business_uuid: string;
  /** The purges that the last round of work knew of, oldest first. */
  readonly purges: readonly Purge[];
  readonly waits_for: "region" | "push" | "store";
  /** The regions whose index has not confirmed. */
  readonly regions: readonly string[];
  readonly push_id: string | null;
  /** What the last attempt said. */
  readonly detail: string;
}

export interface PurgeWatch {
  /** Called after every round of work that leaves something due, which is every minute at least. */
  note(late: LatePurges): void;
  /** Called when nothing of the business is late. */
  forget(businessUuid: string): void;
}

/** The proof of a purge: what was purged of which versions, when, and where it was confirmed. */
export interface Purged extends Purge {
  readonly purged_at_ms: number;
  readonly versions: readonly { readonly generation: number; readonly hash: string }[];
  /** The regions whose indexes were purged as well. */
  readonly regions: readonly string[];
}

export interface ForgetReply {
  readonly push_ids: readonly string[];
  /** Those of them that wait for a decision. */
  readonly held: readonly string[];
  readonly more: boolean;
}

/** Where a document or an ordered purge stands in the order of the business; its content is read by its hash. */
export type RemovalPlace = Pick<Removal, "number" | "document_hash">;

export type RemoveReply =
  | {
      readonly status: "removed";
      readonly change: number;
      readonly collection: CollectionName;
      readonly generation: number;
      readonly hash: string;
      /** Whether a later push has published the record again. */
      readonly live: boolean;
    }
  | { readonly status: "unknown_record" }
  /** A deletion waits for an operator; `live` as above. */
  | { readonly status: "held"; readonly live: boolean }
  /** An operator rejected it. */
  | { readonly status: "rejected" }
  /** The version that is served was sealed, and received, no earlier than `at`. */
  | { readonly status: "not_later"; readonly sealed_at_ms: number };

/** What serving and the indexes learn about a record that is out of serving. */
export interface RemovedRecord {
  readonly record_id: string;
  readonly collection: CollectionName;
  readonly change: number;
  readonly generation: number;
  readonly hash: string;
}

/** The head from which a fetch learns that the record is not served. */
export function removedHead(businessUuid: string, removed: RemovedRecord): RecordHead {
  const { record_id, collection: type, change, generation, hash } = removed;
  return { record_id, business_uuid: businessUuid, type, live: false, generation, change, hash };
}

/**
 * Tells a region that the record is not served. Everybody who tells it of the same removal names the same work, so work that is
 * under way is awaited, and not repeated.
 */
export function removedRow(removed: RemovedRecord): CommandOf<RegionProtocol, "rows.apply"> {
  const { record_id, change } = removed;
  return removedRows([removed], `remove/${record_id}/${change}`);
}

/** The same of several records, under the name of the work that takes them out. */
export function removedRows(
  removed: readonly RemovedRecord[],
  work_id: string,
): CommandOf<RegionProtocol, "rows.apply"> {
  const changes = removed.map(({ record_id, collection, change }) => {
    return { kind: "remove" as const, record_id, collection, change };
  });
  return { type: "rows.apply", work_id, changes };
}

// What a business's actor knows of a record.

/** What the business knows about one of its records. */
export interface RecordHeadFacts {
  readonly collection: CollectionName;
  /** Number of versions published so far. */
  readonly generation: number;
  readonly change: number;
  readonly live: boolean;
  /** The number of the push, withdrawal or deletion that was applied last. */
  readonly number: number;
  readonly hash: string;
  /** The business's own product id, if it has one. */
  readonly bpid: string | null;
  readonly listings: Listings;
  /** The last prices of listings that later versions left out. */
  readonly former?: Listings;
  /** Hash of the document that took the record out of serving; absent while the record is live. */
  readonly removed_by?: string;
  /** When the newest version was sealed, or received if that was earlier, in Unix milliseconds. */
  readonly sealed_at_ms: number;
  /** Its newest deletions, oldest first; whatever follows, the versions that they cover stay deleted. */
  readonly deletions?: readonly Deletion[];
  /** Which of the mandates of its push it was published under; absent for the first. */
  readonly mandate?: number;
  /** Whether operators took the record down; its later versions as well. */
  readonly taken_down?: true;
  /** Whether serving was told last that the record is not served although it is live. */
  readonly unserved?: true;
}
