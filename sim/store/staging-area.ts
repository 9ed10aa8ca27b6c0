// Uploaded files on the model's plain tables, as in Cassandra: a file has a row that says whether it is finished, and what
// another region wrote appears there later.

import {
  assertFileName,
  type FileLeaf,
  type StagedFileWriter,
  type StagingArea,
  staging,
} from "../../storage/staging-area.ts";
import type { Cell, PlainTable } from "./plain-tables.ts";
import { readPlainly, type StoreClient, writePlainly } from "./store-model.ts";

export interface StagedFile {
  readonly name: string;
  readonly isDone: boolean;
  /** A removal is a later write, so that what arrives from another region afterwards does not bring the file back. */
  readonly isGone: boolean;
  readonly leaves: readonly FileLeaf[];
}

export const stagedFiles = "bulk_file";

export function openSimStagingArea(client: StoreClient): StagingArea {
  const { model, life, region } = client;
  const files: PlainTable<StagedFile> = model.tables.of(stagedFiles);
  const read = (name: string): Promise<StagedFile | null> =>
    readPlainly(client, () => {
      const file = files.read(region, name);
      return file === null || file.isGone ? null : file;
    });
  const write = (cell: Cell<StagedFile>): Promise<void> => writePlainly(client, files, [cell]);
  const remove = (name: string): Promise<void> =>
    model.statements.run(life, "write", (reach) => {
      const gone = { name, isDone: false, isGone: true, leaves: [] };
      files.write(region, [{ key: name, value: gone, stamp: 3 }], reach);
      model.witness.removedFile?.(name);
    });
  const done = async (name: string): Promise<StagedFile | null> => {
    assertFileName(name);
    const file = await read(name);
    return file?.isDone === true ? file : null;
  };
  return {
    create: async (name) => {
      assertFileName(name);
      return staging(async () => {
        if ((await read(name)) !== null) throw new Error(`${name} exists already.`);
        await write({ key: name, value: { name, isDone: false, isGone: false, leaves: [] }, stamp: 1 });
        return writerOf(name, { read, write, remove });
      });
    },
    readLeaves: async (name, first, count) =>
      (await done(name))?.leaves.slice(first, first + count).map(({ bytes }) => bytes) ?? null,
    readHashes: async (name) => {
      const file = await done(name);
      if (file === null) return null;
      const hashes = new Uint8Array(file.leaves.length * 32);
      for (const [index, { hash }] of file.leaves.entries()) hashes.set(hash, index * 32);
      return hashes;
    },
    remove: async (name) => {
      assertFileName(name);
      await remove(name);
    },
  };
}

interface FileStatements {
  read(name: string): Promise<StagedFile | null>;
  write(cell: Cell<StagedFile>): Promise<void>;
  remove(name: string): Promise<void>;
}

function writerOf(name: string, { read, write, remove }: FileStatements): StagedFileWriter {
  const leaves: FileLeaf[] = [];
  let isFinished = false;
  return {
    append: async (more) => void leaves.push(...more),
    finish: () =>
      staging(async () => {
        if ((await read(name)) === null) throw new Error(`${name} was removed while it was written.`);
        isFinished = true;
        await write({ key: name, value: { name, isDone: true, isGone: false, leaves }, stamp: 2 });
      }),
    discard: async () => {
      if (!isFinished) await remove(name).catch(() => {});
    },
  };
}
