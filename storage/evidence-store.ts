// Port: files that people send with an application, as they were encrypted; the store knows no key.
// Every implementation passes storage/evidence-store.conformance.ts.
//
// Obligations of an implementation:
//   EV1. Once `put` has returned, every process reads the file, exactly as it was, also after the loss of any process. A file is read
//        whole or not at all.
//   EV2. The files of one person, those of one network and all together have at most the bytes of {@link EvidenceBounds}; a file counts as
//        at least {@link countedBytesMin}. One beyond that is refused with `full`, and nothing of it stays. A store that several
//        processes write may exceed this by what they write at the same time.
//   EV3. `forget` leaves nothing of a file, or of all files of an application, also of those whose `put` died halfway, and makes room; it
//        may be repeated.
//   EV4. A file is kept for at least {@link evidenceKeptMs}; what nobody forgets is forgotten some time after that.

import { evidenceBytesMax } from "../protocol/limits.ts";

/** What all files may take up, and those of one person and of one network: an application alone opens no disk to anybody. */
export interface EvidenceBounds {
  readonly allMax: number;
  readonly ofPersonMax: number;
  readonly ofNetworkMax: number;
}

export interface EvidenceName {
  /** The uuid of the application. */
  readonly application: string;
  /** The file's own id, a uuid: its writer draws it, and puts it once. */
  readonly file: string;
}

export interface EvidenceToStore extends EvidenceName {
  readonly person: string;
  /** The network that it came from, a /24 or a /48; null if it is not known. */
  readonly network: string | null;
  readonly bytes: Uint8Array;
}

export interface EvidenceStore {
  /** Throws {@link StoreError}. */
  put(file: EvidenceToStore): Promise<"stored" | "full">;
  /** Null for a file that is not here. Throws {@link StoreError}. */
  read(name: EvidenceName): Promise<Uint8Array | null>;
  /** All files of the application where `file` is null. Throws {@link StoreError}. */
  forget(name: Pick<EvidenceName, "application"> & { readonly file: string | null }): Promise<void>;
}

export interface EvidenceStoreOptions {
  readonly bounds: EvidenceBounds;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const dayMs = 86_400_000;
/** Longer than any application is kept: ninety days until it is decided, thirty after that, and ten to spare. */
export const evidenceKeptMs = 130 * dayMs;

/** So that many small files are bounded as well. */
export const countedBytesMin = 262_144;

/** What encryption adds, at most. */
const sealedMoreMax = 64;

/** Throws RangeError for a file that its caller should have refused. */
export function assertEvidence({ bytes }: Pick<EvidenceToStore, "bytes">): void {
  if (bytes.length === 0 || bytes.length > evidenceBytesMax + sealedMoreMax)
    throw new RangeError(`A file of evidence has at most ${evidenceBytesMax} bytes.`);
}

/** Whom the bytes of a file count for, with the most that they may have. */
export function countedFor(
  { person, network }: Pick<EvidenceToStore, "person" | "network">,
  { allMax, ofPersonMax, ofNetworkMax }: EvidenceBounds,
): readonly (readonly [owner: string, bytesMax: number])[] {
  return [
    ["all", allMax],
    [`person ${person}`, ofPersonMax],
    [`network ${network ?? "unknown"}`, ofNetworkMax],
  ];
}

export function countedBytes(bytes: Uint8Array): number {
  return Math.max(countedBytesMin, bytes.length);
}

export { StoreError } from "./actor-store.ts";
