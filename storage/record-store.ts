// Port: record bytes, published versions and what is served of them now.
// Every implementation passes storage/record-store.conformance.ts.
//   R1. Every write is an idempotent upsert: repeating it changes nothing.
//   R2. Bytes, versions and seals are immutable; a head is replaced only by one with a higher `change`. Two heads of one
//       record with one change are the same head; were they not, one of both is kept, whole, and the same for everyone.
//   R3. A write that returned survives the loss of the process.
//   R4. `readServed` never returns a head without its bytes, seal and sidecar, and null unless the head is live.
//   R5. Whoever turns the pages of a listing meets every head that was there all the while exactly once, live or not,
//       as it was at some instant since the first page was asked for.
//   R6. Of a push of which something was staged later than the instant that `dropStaged` is given, nothing goes that was
//       staged later; this holds for what is staged while it drops, too. Instants are those that `stagedPushes` gives.

/** One published version of a record, exactly as it is served. */
export interface RecordVersion {
  readonly record_id: string;
  readonly business_uuid: string;
  /** Collection name, for example `products`. */
  readonly type: string;
  /** Counts the published versions of the record from 1; never restarts. */
  readonly generation: number;
  /** `sha256:<hex>` of `bytes`. */
  readonly hash: string;
  /** The exact bytes that the business sealed. */
  readonly bytes: Uint8Array;
  /** Id of the {@link StoredSeal} over these bytes: the push_id of a batch, or the hash of the payload of a record seal. */
  readonly seal_id: string;
  /** Leaf of the batch; null for a record sealed alone. */
  readonly leaf_index: number | null;
  /** RFC 6962 audit path of the leaf: concatenated 32-byte hashes, leaf to root; empty for a record sealed alone. */
  readonly proof: Uint8Array;
  /** JSON text of the sidecar envelope. */
  readonly sidecar: string;
  /** Exact signed text of the index row, without serve-time members. */
  readonly row: string;
  /** `cert_id` of the certificate that the record was sealed under. */
  readonly cert_id: string;
  readonly published_at_ms: number;
}

/** An envelope that seals one or many records. */
export interface StoredSeal {
  readonly seal_id: string;
  /** JSON text of the envelope. */
  readonly envelope: string;
  /** Number of leaves for a batch; null for a record seal. */
  readonly tree_size: number | null;
}

/** What the service serves for a record id now. */
export interface RecordHead {
  readonly record_id: string;
  readonly business_uuid: string;
  readonly type: string;
  readonly live: boolean;
  readonly generation: number;
  /** Raised by every publication, withdrawal, deletion and re-projection; orders the heads (R2). */
  readonly change: number;
  /** Hash of the version served. */
  readonly hash: string;
}

export interface ServedRecord {
  readonly head: RecordHead;
  readonly version: RecordVersion;
  readonly seal: StoredSeal;
}

/** One page of a listing (R5); it may hold less than was asked for, even nothing, while others follow. */
export interface HeadPage {
  readonly heads: readonly RecordHead[];
  /** Opaque: for the next page; null behind the last. */
  readonly cursor: string | null;
}

export interface StagedPush {
  readonly push_id: string;
  /** When something of it was staged last, by the clock of whoever staged it. Unix milliseconds. */
  readonly staged_at_ms: number;
}

export interface RecordStore {
  /** Keeps leaves of a push that is not complete. Leaf `firstLeaf + i` is `leaves[i]`. */
  stageLeaves(pushId: string, firstLeaf: number, leaves: readonly Uint8Array[]): Promise<void>;
  /** The staged leaves `[firstLeaf, firstLeaf + count)` that exist, in order. */
  loadLeaves(pushId: string, firstLeaf: number, count: number): Promise<readonly Uint8Array[]>;
  /** Forgets the staged leaves and documents of a push; given an instant, unless something was staged later (R6). */
  dropStaged(pushId: string, untilMs?: number): Promise<void>;
  /** Keeps a document that belongs to a staged push, for example `plan`. */
  putStagedDocument(pushId: string, name: string, body: string): Promise<void>;
  readStagedDocument(pushId: string, name: string): Promise<string | null>;
  /** Pushes of which something is staged: by id, ascending, above `afterId`, `limit` at most. */
  stagedPushes(afterId: string, limit: number): Promise<readonly StagedPush[]>;

  putSeal(seal: StoredSeal): Promise<void>;
  readSeal(sealId: string): Promise<StoredSeal | null>;
  /** Versions become readable before their heads move. */
  putVersions(versions: readonly RecordVersion[], heads: readonly RecordHead[]): Promise<void>;
  putHeads(heads: readonly RecordHead[]): Promise<void>;
  readHead(recordId: string): Promise<RecordHead | null>;
  /** Every head there is, to make an index again from. `cursor` null begins. Throws RangeError for one of elsewhere. */
  listHeads(cursor: string | null, limit: number): Promise<HeadPage>;
  /** The catalogue of a business: the heads of its records. `cursor` as in {@link listHeads}. */
  listCatalogue(businessUuid: string, cursor: string | null, limit: number): Promise<HeadPage>;
  /** The live version of a record, or null when there is none (R4). */
  readServed(recordId: string): Promise<ServedRecord | null>;
  /** The rows of exactly these versions, for indexing: those that exist, in the order asked for. */
  readRows(ids: readonly VersionId[]): Promise<readonly VersionRow[]>;
  /** Versions of a record, served or not, newest first, `limit` at most: below a generation, or from the newest on. */
  listVersions(
    recordId: string,
    belowGeneration: number | null,
    limit: number,
  ): Promise<readonly VersionDate[]>;
  /** The newest version with these bytes below a generation, at a cost that does not grow with how many other bytes there were. */
  newestWith(recordId: string, hash: string, belowGeneration: number): Promise<VersionDate | null>;
  /** What was signed of exactly this version; null when there is none. */
  readPublished(id: VersionId): Promise<PublishedRow | null>;
}

/** The same bytes published again are another version, with a row of its own. */
export interface VersionId {
  readonly record_id: string;
  readonly generation: number;
  readonly hash: string;
}

export interface VersionRow extends VersionId {
  /** Exact signed text. */
  readonly row: string;
}

/** When a version was published. */
export interface VersionDate {
  readonly generation: number;
  readonly hash: string;
  readonly published_at_ms: number;
}

/** A row, its sidecar, and where the seal over its record lies. */
export interface PublishedRow
  extends VersionRow,
    Pick<RecordVersion, "sidecar" | "seal_id" | "leaf_index" | "proof"> {}
