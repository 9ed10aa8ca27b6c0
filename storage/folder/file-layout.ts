// The layout of a staged file: the records one after another, their leaf hashes, where each record ends, and a trailer.
// A file without its trailer is not a file (S1): it is written last.

import { Buffer } from "node:buffer";
import type { FileHandle } from "node:fs/promises";

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
export class Tail {
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

export interface FileIndex {
  readonly records: number;
  /** Where the hashes begin, which is where the last record ends. */
  readonly hashesAt: number;
  endOf(index: number): number;
}

/** Null for a file that has no valid trailer. */
export async function readIndex(file: FileHandle): Promise<FileIndex | null> {
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

export function hashesOf(file: FileHandle, { records, hashesAt }: FileIndex): Promise<Buffer> {
  return readAt(file, hashesAt, records * hashBytes);
}

/** The records `[first, end)`. */
export async function recordsOf(
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
