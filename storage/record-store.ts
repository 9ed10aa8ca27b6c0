// Port: the bytes of records, their published versions, and what is currently served of them.
// Every implementation passes storage/record-store.conformance.ts.
//   R1. Every write is an idempotent upsert: repeating it changes nothing.
//   R2. Bytes, versions and seals are immutable; a head is replaced only by one with a higher `change`. Two heads of one
//       record with the same change are the same head; if they ever were not, one of the two is kept, whole, and the same
//       one for every reader.
//   R3. A write that has returned survives the loss of the process.
//   R4. `readServed` never returns a head without its bytes, seal and sidecar, and returns null unless the head is live.
//   R5. A reader that pages through a listing gets every head that existed throughout exactly once, live or not, as it was
//       at some instant since the first page was requested.
//   R6. When something of a push was staged later than the instant given to `dropStaged`, nothing that was staged later is
//       dropped; this also holds for what is staged during the drop. Instants are those that `stagedPushes` returns.

import type { CollectionName } from "../protocol/identifiers.ts";
import type { ReceiptRow } from "../protocol/receipt.ts";
import { isObject } from "../std/json-pointer.ts";

//   R7. A purged version keeps its place, hash, date, seal and proof, and has neither bytes nor row, whatever writes it again.
//   R8. What receipts name of a version is in its row, and once it is purged in what remains of it ({@link signedRowOf}).

/** One published version of a record, exactly as it is served. */
export interface RecordVersion {
  readonly record_id: string;
  readonly business_uuid: string;
  /** Collection name, for example `products`. */
  readonly type: string;
  /** Counts the published versions of the record, starting at 1; it never restarts. */
  readonly generation: number;
  /** `sha256:<hex>` of `bytes`. */
  readonly hash: string;
  /** The exact bytes that the business sealed. */
  readonly bytes: Uint8Array;
  /** Id of the {@link StoredSeal} over these bytes: the push_id of a batch, or the hash of a record seal's payload. */
  readonly seal_id: string;
  /** Index of the record's leaf in the batch; null for a record sealed on its own. */
  readonly leaf_index: number | null;
  /** RFC 6962 audit path of the leaf: concatenated 32-byte hashes, leaf to root; empty for a record sealed on its own. */
  readonly proof: Uint8Array;
  /** JSON text of the sidecar envelope. */
  readonly sidecar: string;
  /** Exact signed text of the index row, without the members added when it is served. */
  readonly row: string;
  /** `cert_id` of the certificate under which the record was sealed. */
  readonly cert_id: string;
  readonly published_at_ms: number;
}

/** An envelope that seals one or more records. */
export interface StoredSeal {
  readonly seal_id: string;
  /** JSON text of the envelope. */
  readonly envelope: string;
  /** Number of leaves of a batch; null for a record seal. */
  readonly tree_size: number | null;
}

/** What the service currently serves for a record id. */
export interface RecordHead {
  readonly record_id: string;
  readonly business_uuid: string;
  readonly type: string;
  readonly live: boolean;
  readonly generation: number;
  /** Raised by every publication, withdrawal, deletion and re-projection; orders the heads (R2). */
  readonly change: number;
  /** Hash of the version that is served. */
  readonly hash: string;
}

export interface ServedRecord {
  readonly head: RecordHead;
  readonly version: RecordVersion;
  readonly seal: StoredSeal;
}

/** One page of a listing (R5). It may hold fewer heads than requested, or none, while more pages follow. */
export interface HeadPage {
  readonly heads: readonly RecordHead[];
  /** Opaque cursor of the next page; null after the last page. */
  readonly cursor: string | null;
}

export interface StagedPush {
  readonly push_id: string;
  /** When something of the push was last staged, by the clock of the node that staged it. Unix milliseconds. */
  readonly staged_at_ms: number;
}

/** One page of what is staged. It may hold fewer pushes than requested, or none, while more pages follow. */
export interface StagedPage {
  readonly pushes: readonly StagedPush[];
  /** Opaque cursor of the next page; null after the last page. */
  readonly cursor: string | null;
}

/** Everything that is staged, in pages of at most `limit`. */
export async function* stagedPages(
  records: Pick<RecordStore, "stagedPushes">,
  limit: number,
): AsyncGenerator<StagedPage, void> {
  let cursor: string | null = null;
  do {
    const page: StagedPage = await records.stagedPushes(cursor, limit);
    yield page;
    cursor = page.cursor;
  } while (cursor !== null);
}

export interface RecordStore {
  /** Keeps leaves of an incomplete push. Leaf `firstLeaf + i` is `leaves[i]`. */
  stageLeaves(pushId: string, firstLeaf: number, leaves: readonly Uint8Array[]): Promise<void>;
  /** The staged leaves `[firstLeaf, firstLeaf + count)` that exist, in order. */
  loadLeaves(pushId: string, firstLeaf: number, count: number): Promise<readonly Uint8Array[]>;
  /** Forgets the staged leaves and documents of a push. If `untilMs` is given, anything staged later is kept (R6). */
  dropStaged(pushId: string, untilMs?: number): Promise<void>;
  /** Keeps a document that belongs to a staged push, for example `plan`. */
  putStagedDocument(pushId: string, name: string, body: string): Promise<void>;
  readStagedDocument(pushId: string, name: string): Promise<string | null>;
  /**
   * Pushes that have something staged, at most `limit`, in an order of the store's own. One that is staged throughout is in one of the
   * pages; one that is staged again meanwhile may be in several.
   */
  stagedPushes(cursor: string | null, limit: number): Promise<StagedPage>;

  putSeal(seal: StoredSeal): Promise<void>;
  readSeal(sealId: string): Promise<StoredSeal | null>;
  /** Versions become readable before their heads move. */
  putVersions(versions: readonly RecordVersion[], heads: readonly RecordHead[]): Promise<void>;
  putHeads(heads: readonly RecordHead[]): Promise<void>;
  readHead(recordId: string): Promise<RecordHead | null>;
  /**
   * Lists every head, for rebuilding an index. A null `cursor` starts at the beginning. Throws RangeError for a foreign
   * cursor.
   */
  listHeads(cursor: string | null, limit: number): Promise<HeadPage>;
  /**
   * The catalogue of a business: the heads of its records, or of those of one type. `cursor` works as in {@link listHeads},
   * and belongs to the business and type that it was given for. What a page costs depends neither on the number of records
   * nor on that of other types.
   */
  listCatalogue(
    businessUuid: string,
    cursor: string | null,
    limit: number,
    type?: CollectionName | null,
  ): Promise<HeadPage>;
  /** The live version of a record, or null when there is none (R4). */
  readServed(recordId: string): Promise<ServedRecord | null>;
  /** The rows of exactly these versions, for indexing: those that exist, in the order requested. */
  readRows(ids: readonly VersionId[]): Promise<readonly VersionRow[]>;
  /** What a catalogue says of exactly these versions: those that exist, in the order requested. */
  readOrigins(ids: readonly VersionId[]): Promise<readonly VersionOrigin[]>;
  /**
   * Versions of a record, served or not, newest first, at most `limit`: those below a generation, or from the newest on.
   */
  listVersions(
    recordId: string,
    belowGeneration: number | null,
    limit: number,
  ): Promise<readonly VersionDate[]>;
  /**
   * The newest version with these bytes below a generation. The cost does not grow with the number of versions with other
   * bytes.
   */
  newestWith(recordId: string, hash: string, belowGeneration: number): Promise<VersionDate | null>;
  /** What was signed for exactly this version; null when the version does not exist. */
  readPublished(id: VersionId): Promise<PublishedRow | null>;
  /** Purges the bytes and rows of versions that are not served, and leaves `remains` as their sidecars (R7). */
  purgeVersions(versions: readonly PurgedVersion[]): Promise<void>;
  /**
   * Overwrites what was purged, replaced or dropped and may still be in unused parts of the store's files, as far as the store
   * can be made to. Rejects if it has to be repeated.
   */
  overwriteUnused(): Promise<void>;
}

/** The part of the store that concerns what is staged for pushes. */
export type StagedPushes = Pick<
  RecordStore,
  "stageLeaves" | "loadLeaves" | "dropStaged" | "putStagedDocument" | "readStagedDocument" | "stagedPushes"
>;

export interface PurgedVersion extends VersionId {
  /** What may be known of the version for ever, as JSON text. */
  readonly remains: string;
}

/** Names a version. */
export interface VersionNumber {
  readonly record_id: string;
  readonly generation: number;
}

/** Identifies a version. Publishing the same bytes again makes another version, with its own row. */
export interface VersionId extends VersionNumber {
  readonly hash: string;
}

export interface VersionRow extends VersionId {
  /** Exact signed text; empty once the version is purged. */
  readonly row: string;
}

/** The sealed bytes of a version, and what the service stated about their publication. */
export interface VersionOrigin
  extends VersionId,
    Pick<RecordVersion, "bytes" | "sidecar" | "published_at_ms"> {}

export interface VersionDate {
  readonly generation: number;
  readonly hash: string;
  readonly published_at_ms: number;
}

/** A row, its sidecar, and the location of its record under the seal. */
export interface PublishedRow
  extends VersionRow,
    Pick<RecordVersion, "sidecar" | "seal_id" | "leaf_index" | "proof"> {}

// What remains of a purged version in the place of its sidecar: where it stands among the versions of its record, and by which key and
// under which certificate and mandate it was sealed and received, when. Verification answers from this and from the hash.

export interface VersionRemains {
  readonly business_uuid: string;
  readonly record_type: string;
  readonly cert_id: string;
  readonly change: number;
  readonly sealed_at: string;
  readonly sealed_by_key_id: string;
  readonly received_at: string;
  readonly scope: { readonly mandate_id: string | null };
}

/** `row` is that of the version. */
export function remainsText(
  {
    business_uuid,
    record_type,
    cert_id,
    change,
    sealed_at,
    sealed_by_key_id,
    received_at,
    scope: { mandate_id },
  }: VersionRemains,
  row: string,
): string {
  const sealed = { sealed_at, sealed_by_key_id, received_at, scope: { mandate_id } };
  const purged = { business_uuid, record_type, cert_id, change, ...sealed };
  return JSON.stringify({ purged, signed: signedMembers(row) });
}

/** What receipts name of a version's row. */
export type SignedRow = Pick<ReceiptRow, "adl_origin" | "adl_row_sig" | "ai_policy_version">;

/** Of a row, what its receipts name beside its hash; it stays after a purge as the member `signed` of what remains (R8). */
export function signedMembers(row: string): Omit<SignedRow, "adl_origin"> {
  const { adl_row_sig, ai_policy_version } = JSON.parse(row) as SignedRow;
  return { adl_row_sig, ai_policy_version };
}

/** What receipts name of a stored version; null where what remains of it does not say that. */
export function signedRowOf({
  hash,
  row,
  sidecar,
}: Pick<PublishedRow, "hash" | "row" | "sidecar">): SignedRow | null {
  if (row !== "") return { adl_origin: hash, ...signedMembers(row) };
  const { signed } = JSON.parse(sidecar) as { readonly signed?: Omit<SignedRow, "adl_origin"> };
  return signed === undefined ? null : { adl_origin: hash, ...signed };
}

/** Null for the sidecar of a version that is not purged. */
export function parseRemains(sidecar: string): VersionRemains | null {
  const stored: unknown = JSON.parse(sidecar);
  return isObject(stored) && "purged" in stored ? (stored["purged"] as VersionRemains) : null;
}
