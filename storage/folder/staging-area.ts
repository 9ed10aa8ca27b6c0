// A staging area in a folder of this machine, for a node that runs alone.
//   F1. A file is written under a draft's name and flushed; only then it takes its own name, and the folder is flushed as
//       well. So neither a crash nor a loss of power leaves half of a file under its name, or loses a finished one.
//   F2. Drafts that are there at the start belong to uploads that ended with the process before, and are removed; so is
//       what is older than any file is used.
//   F3. The files and drafts of the folder have no more bytes than they may; what is beyond that is refused as S4 says.

import { Buffer } from "node:buffer";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BoundedMap } from "../../std/bounded-map.ts";
import { StoreError } from "../actor-store.ts";
import { assertFileName, keptMs, type StagedFileWriter, type StagingArea, staging } from "../staging-area.ts";

/** Number of files whose index is kept in memory: 400 KB for the largest. */
const indexesMax = 8;
const draftEnding = ".part";
const fileEnding = ".records";

export interface FolderOptions {
  readonly folder: string;
  /** How many bytes the files may have together (F3). */
  readonly bytesMax: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Opens a file (default: the platform's function). */
  readonly openFile?: typeof open;
}

/** Opens the folder and removes what is left from before (F2). A folder that cannot be written refuses uploads only. */
export async function openFolderStagingArea(options: FolderOptions): Promise<StagingArea> {
  const { folder, openFile = open } = options;
  const room = new FolderRoom(options.bytesMax);
  await tidyUp(options, room).catch(() => {});
  const indexes = new BoundedMap<string, FileIndex>(indexesMax);
  const pathOf = (name: string): string => join(folder, `${name}${fileEnding}`);
  const reading = async <T>(
    name: string,
    read: (file: FileHandle, index: FileIndex) => Promise<T>,
  ): Promise<T | null> => {
    assertFileName(name);
    try {
      await using file = await open(pathOf(name), "r");
      const index = indexes.get(name) ?? (await readIndex(file));
      if (index === null) return null;
      indexes.set(name, index);
      return await read(file, index);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw readFailed(error);
    }
  };
  return {
    create: async (name) => {
      assertFileName(name);
      return staging(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const path = pathOf(name);
        if (await exists(path)) throw new Error(`${name} exists already.`);
        const file = await openFile(`${path}${draftEnding}`, "wx", 0o600);
        return writerOf(folder, path, { file, room });
      });
    },
    readLeaves: (name, first, count) =>
      reading(name, (file, index) => {
        const end = Math.min(index.records, first + count);
        return first < end ? recordsOf(file, index, first, end) : Promise.resolve([]);
      }),
    readHashes: (name) =>
      reading(name, async (file, index) => {
        const hashes = await readAt(file, index.hashesAt, index.records * hashBytes);
        return new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength);
      }),
    remove: async (name) => {
      assertFileName(name);
      indexes.delete(name);
      const path = pathOf(name);
      try {
        await rm(path, { force: true });
        await rm(`${path}${draftEnding}`, { force: true });
        room.free(path);
      } catch (error) {
        throw readFailed(error);
      }
    },
  };
}

async function tidyUp({ folder, now }: FolderOptions, room: FolderRoom): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (name.endsWith(draftEnding)) await rm(path);
    if (!name.endsWith(fileEnding)) continue;
    const { mtimeMs, size } = await stat(path);
    if (mtimeMs < now() - keptMs) await rm(path);
    else room.found(path, size);
  }
}

function writerOf(
  folder: string,
  path: string,
  { file, room }: { file: FileHandle; room: FolderRoom },
): StagedFileWriter {
  const tail = new Tail();
  let length = 0;
  let isOpen = true;
  let isFinished = false;
  const write = async (parts: readonly Uint8Array[]): Promise<void> => {
    const bytes = Buffer.concat(parts);
    room.take(path, bytes.length);
    for (let written = 0; written < bytes.length; ) {
      written += (await file.write(bytes, written)).bytesWritten;
    }
  };
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await file.close();
  };
  return {
    append: (leaves) =>
      staging(async () => {
        for (const { bytes, hash } of leaves) {
          length += bytes.length;
          tail.add(hash, length);
        }
        await write(leaves.map(({ bytes }) => bytes));
      }),
    finish: () =>
      staging(async () => {
        await write(tail.parts());
        await file.sync();
        await close();
        // Fails if the draft was removed meanwhile (S3).
        await rename(`${path}${draftEnding}`, path);
        isFinished = true;
        await flushFolder(folder);
      }),
    discard: async () => {
      await close().catch(() => {});
      await rm(`${path}${draftEnding}`, { force: true }).catch(() => {});
      if (!isFinished) room.free(path);
    },
  };
}

function readFailed(error: unknown): StoreError {
  return new StoreError("not_applied", "the staging area cannot be read", { cause: error });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function flushFolder(path: string): Promise<void> {
  // Windows cannot open a folder; its file names are durable without this.
  if (process.platform === "win32") return;
  await using folder = await open(path, "r");
  await folder.sync();
}

// The layout of a staged file: the records one after another, their leaf hashes, where each record ends, and a trailer.
// A file without its trailer is not a file (S1): it is written last.

const magic = Buffer.from("svcbulk1", "latin1");
const hashBytes = 32;
const endBytes = 4;
const trailerBytes = magic.length + endBytes;
/** Records for which a file that begins has room. */
const firstRecords = 256;

/**
 * What is behind the records, while the file is being written: hashes, ends, and the trailer with their number. It takes 36 bytes a
 * record, and half of that again while a buffer grows.
 */
class Tail {
  #records = 0;
  #hashes = Buffer.allocUnsafeSlow(firstRecords * hashBytes);
  #ends = Buffer.allocUnsafeSlow(firstRecords * endBytes);

  /** Adds a record's leaf hash, and where the record ends in the file. */
  add(hash: Uint8Array, end: number): void {
    if (this.#records * endBytes === this.#ends.length)
      [this.#hashes, this.#ends] = [doubled(this.#hashes), doubled(this.#ends)];
    this.#hashes.set(hash, this.#records * hashBytes);
    this.#ends.writeUInt32BE(end, this.#records * endBytes);
    this.#records += 1;
  }

  /** The parts, one after another. */
  parts(): readonly Uint8Array[] {
    const count = Buffer.alloc(endBytes);
    count.writeUInt32BE(this.#records);
    return [
      this.#hashes.subarray(0, this.#records * hashBytes),
      this.#ends.subarray(0, this.#records * endBytes),
      count,
      magic,
    ];
  }
}

function doubled(buffer: Buffer): Buffer<ArrayBuffer> {
  const larger = Buffer.allocUnsafeSlow(2 * buffer.length);
  buffer.copy(larger);
  return larger;
}

interface FileIndex {
  readonly records: number;
  /** Where the hashes begin, which is where the last record ends. */
  readonly hashesAt: number;
  endOf(index: number): number;
}

/** Null for a file that has no valid trailer. */
async function readIndex(file: FileHandle): Promise<FileIndex | null> {
  const { size } = await file.stat();
  if (size < trailerBytes) return null;
  const trailer = await readAt(file, size - trailerBytes, trailerBytes);
  if (!trailer.subarray(endBytes).equals(magic)) return null;
  const records = trailer.readUInt32BE();
  const endsAt = size - trailerBytes - records * endBytes;
  const hashesAt = endsAt - records * hashBytes;
  if (hashesAt < 0) return null;
  const ends = await readAt(file, endsAt, records * endBytes);
  const endOf = (index: number): number => (index < 0 ? 0 : ends.readUInt32BE(index * endBytes));
  return endOf(records - 1) === hashesAt ? { records, hashesAt, endOf } : null;
}

/** The records `[first, end)`. */
async function recordsOf(
  file: FileHandle,
  { endOf }: FileIndex,
  first: number,
  end: number,
): Promise<readonly Uint8Array[]> {
  const from = endOf(first - 1);
  const bytes = await readAt(file, from, endOf(end - 1) - from);
  return Array.from({ length: end - first }, (_, offset) => {
    const begin = endOf(first + offset - 1) - from;
    return new Uint8Array(bytes.buffer, bytes.byteOffset + begin, endOf(first + offset) - from - begin);
  });
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  // A buffer of its own: what is read may be kept for longer than what the platform's pool is for.
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let read = 0; read < length; ) {
    const { bytesRead } = await file.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) throw new Error("A staged file is shorter than it was.");
    read += bytesRead;
  }
  return bytes;
}

// How many bytes of a folder its files take up, against the most that they may.
//   FR1. Bytes are counted before they are written, and counted until their file is gone.

class FolderRoom {
  readonly #bytesMax: number;
  readonly #bytesOf = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts a file that is there already, whether or not there is room for it. */
  found(name: string, bytes: number): void {
    this.#bytesOf.set(name, (this.#bytesOf.get(name) ?? 0) + bytes);
    this.#bytes += bytes;
  }

  /** Throws if the bytes have no room (FR1). */
  take(name: string, bytes: number): void {
    if (this.#bytes + bytes > this.#bytesMax)
      throw new Error(`The files of the folder have ${this.#bytes} of ${this.#bytesMax} bytes.`);
    this.found(name, bytes);
  }

  free(name: string): void {
    this.#bytes -= this.#bytesOf.get(name) ?? 0;
    this.#bytesOf.delete(name);
  }
}
