// The records of a file on disk, in the form of a bulk file, so that a file of any size needs little memory: a line for each
// record with the base64 of its exact bytes. A spool belongs to one process and goes with it.

import { randomInt } from "node:crypto";
import { openAsBlob } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { base64Length } from "../client/batch.ts";
import { bulkLine, leafOf, type RecordSet, recordOfLine, selectRecords } from "../client/record-set.ts";

export interface RecordSpool extends RecordSet, AsyncDisposable {
  /** Where each record was in the file that was read. */
  readonly places: readonly number[];
}

/** Some of the records, by their indexes in ascending order. */
export function selectSpooled(spool: RecordSpool, indexes: readonly number[]): RecordSpool {
  const places = indexes.map((index) => spool.places[index] ?? 0);
  return { ...spool, ...selectRecords(spool, indexes), places };
}

const flushedBytes = 1_048_576;
const spoolName = /^([0-9]+)-[0-9]+\.spool$/;

export class SpoolWriter {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #leaves: Uint8Array[] = [];
  readonly #lengths: number[] = [];
  readonly #places: number[] = [];
  #lines: Uint8Array[] = [];
  #lineBytes = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Opens a spool in the folder, and removes those of processes that have ended without doing so. */
  static async open(folder: string): Promise<SpoolWriter> {
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(folder)) {
      const pid = Number(spoolName.exec(name)?.[1] ?? process.pid);
      if (pid !== process.pid && !isRunning(pid)) await rm(join(folder, name), { force: true });
    }
    const path = join(folder, `${process.pid}-${randomInt(2 ** 47)}.spool`);
    return new SpoolWriter(path, await open(path, "wx+", 0o600));
  }

  async add(record: Uint8Array, place: number): Promise<void> {
    const line = bulkLine(record);
    this.#leaves.push(leafOf(record));
    this.#lengths.push(record.length);
    this.#places.push(place);
    this.#lines.push(line);
    this.#lineBytes += line.length;
    if (this.#lineBytes >= flushedBytes) await this.#flush();
  }

  async finish(): Promise<RecordSpool> {
    await this.#flush();
    const file = this.#file;
    const offsets = offsetsOf(this.#lengths);
    const rangeOf = (first: number, count: number): readonly [number, number] => [
      offsets[first] ?? 0,
      offsets[Math.min(first + count, this.#lengths.length)] ?? 0,
    ];
    return {
      leaves: this.#leaves,
      lengths: this.#lengths,
      places: this.#places,
      read: async (first, count) => {
        const [from, until] = rangeOf(first, count);
        if (until === from) return [];
        const text = Buffer.alloc(until - from);
        await file.read(text, 0, text.length, from);
        return text.toString("latin1").trimEnd().split("\n").map(recordOf);
      },
      bulkFile: async (first, count) => (await openAsBlob(this.path)).slice(...rangeOf(first, count)),
      [Symbol.asyncDispose]: () => this.drop(),
    };
  }

  async drop(): Promise<void> {
    await this.#file.close();
    await rm(this.path, { force: true });
  }

  async #flush(): Promise<void> {
    if (this.#lines.length > 0) await this.#file.appendFile(Buffer.concat(this.#lines));
    this.#lines = [];
    this.#lineBytes = 0;
  }
}

/** Where each line begins, and where the last one ends. */
function offsetsOf(lengths: readonly number[]): readonly number[] {
  const offsets = [0];
  let end = 0;
  for (const length of lengths) {
    end += base64Length(length) + 1;
    offsets.push(end);
  }
  return offsets;
}

function recordOf(line: string): Uint8Array {
  const record = recordOfLine(line);
  if (record === null) throw new Error("The spool was changed while it was in use.");
  return record;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
