// Port: the lists that operators set for the whole deployment, version by version: the bytes, who set them and why.
// Every implementation passes storage/list-store.conformance.ts.
//
// Obligations of an implementation:
//   OL1. The versions of a list are numbered from 1. Of several writers of one number one succeeds, in whatever region they are: `set`
//        returns false to the others, and nothing of theirs counts. After an unknown outcome the caller looks which file is in force.
//   OL2. A version is there with all its bytes or not at all: a writer that dies before the end leaves the version before in force. Where
//        the bytes of a version have not reached this region yet, `read` throws `not_applied`.
//   OL3. Once `set` has returned true, every process of this region sees the version, and those of other regions see it later; it
//        survives the loss of any process.
//   OL4. Versions older than the newest `keep` are gone with the `set` that makes them so. Their bytes, and those of writers that died,
//        go with a later `set` of the list, {@link abandonedAfterMs} after they were begun at the earliest.

export interface ListVersion {
  /** A name of `listNames`. */
  readonly list: string;
  readonly version: number;
  /** Names its bytes, a uuid: the writer draws it, and sets it once. */
  readonly file: string;
  /** `sha256:` and the digits. */
  readonly sha256: string;
  /** Number of bytes. */
  readonly size: number;
  /** What is in it, in a few words. */
  readonly holds: string;
  readonly by: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly set_at: string;
}

/** Longer than any writer takes. */
export const abandonedAfterMs = 3_600_000;

export interface ListStore {
  /** The newest first, `limit` at most. Throws {@link StoreError}. */
  versions(list: string, limit: number): Promise<readonly ListVersion[]>;
  /** Null for bytes that are not here. Throws {@link StoreError}. */
  read(version: Pick<ListVersion, "list" | "file" | "size">): Promise<Uint8Array | null>;
  /** False where this number, or a later one, is taken. `keep` is null for all. Throws {@link StoreError}. */
  set(next: ListVersion, bytes: Uint8Array, keep: number | null): Promise<boolean>;
}

export { StoreError } from "./actor-store.ts";
