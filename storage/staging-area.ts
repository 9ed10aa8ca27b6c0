// Port: uploaded files of records, until they are imported or forgotten.
// Every implementation passes storage/staging-area.conformance.ts.
//   S1. A file can be read once `finish` has returned, by every node, and then survives the loss of a process. Before
//       that nobody can read anything of it.
//   S2. A name belongs to one writer: `create` refuses a name that exists, and a finished file never changes.
//   S3. `remove` leaves nothing of a file, finished or not, and may be repeated; what its writer still writes is refused.
//   S4. What cannot be written is refused with {@link StagingUnavailable}, and `discard` then leaves nothing behind.
//   S5. A file is kept for at least {@link keptMs}; whatever nobody removes is removed some time after that.

import { Unavailable } from "../std/unavailable.ts";

/** Longer than any upload and its file are used: seven days after an upload of at most two hours, and a day to spare. */
export const keptMs = 8 * 86_400_000;

/** One record of a file: its exact bytes, and its leaf hash (RFC 6962 §2.1). */
export interface FileLeaf {
  readonly bytes: Uint8Array;
  readonly hash: Uint8Array;
}

export interface StagedFileWriter {
  /** Adds records behind those that were added before; one call at a time. */
  append(leaves: readonly FileLeaf[]): Promise<void>;
  /** Makes the file durable and readable; nothing can be added afterwards. */
  finish(): Promise<void>;
  /** Gives up an unfinished file and removes what was written of it; a finished one stays. */
  discard(): Promise<void>;
}

export interface StagingArea {
  /** Begins a file. A name consists of ASCII letters, digits, `-`, `_` and `.`, and begins with a letter or digit. */
  create(name: string): Promise<StagedFileWriter>;
  /** The records `[first, first + count)` of a finished file, in order; null if there is no such file here. */
  readLeaves(name: string, first: number, count: number): Promise<readonly Uint8Array[] | null>;
  /** The leaf hashes of a finished file, concatenated; null if there is no such file here. */
  readHashes(name: string): Promise<Uint8Array | null>;
  remove(name: string): Promise<void>;
}

/** The area cannot be written now (its disk is full or read-only, or its engine does not answer), or has not the file yet. */
export type StagingUnavailable = Unavailable<"staging_unavailable">;

const retrySeconds = 60;

export function stagingUnavailable(cause: unknown): StagingUnavailable {
  return new Unavailable(
    "the staging area cannot be used now",
    { reason: "staging_unavailable", effect: "not_applied", retryAfterSeconds: retrySeconds },
    { cause },
  );
}

/** Does what writes to the area (S4). */
export async function staging<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw stagingUnavailable(error);
  }
}

/** Throws RangeError for a text that is no name: it would be a bug of ours, and might lead out of a folder. */
export function assertFileName(name: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(name))
    throw new RangeError("Not the name of a staged file.");
}

/** A file that was uploaded is not in this region's store: it may be on its way here. */
export class FileNotHere extends Error {
  constructor(name: string) {
    super(`The file ${name} is not staged here.`);
    this.name = "FileNotHere";
  }
}

/** A file is not what its seal names any more. It can never be published from. */
export class FileUnfit extends Error {
  /** `leaf` is the first record that differs; null if the leaf hashes do. */
  constructor(leaf: number | null) {
    super(leaf === null ? "The file has other leaf hashes." : `Record ${leaf} of the file is another one.`);
    this.name = "FileUnfit";
  }
}
