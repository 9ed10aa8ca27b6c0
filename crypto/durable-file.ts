// Small files that are either whole or absent, whenever the process dies or the power fails. Keys are stored this way, as
// is everything that nodes and the program must find again.
//   D1. Content goes to a draft beside the file and is flushed before the draft takes the name: no crash leaves half of it
//       under that name. A crash may leave the draft behind; nobody reads it.
//   D2. A caller that learns that a file has its text, or that another writer was first, may rely on it: the name is
//       flushed as well.

import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** The operations that are needed of a file system. */
export interface Disk {
  open(path: string, flags: "r" | "w" | "wx", mode?: number): Promise<OpenFile>;
  link(path: string, name: string): Promise<void>;
  rename(path: string, name: string): Promise<void>;
  rm(path: string, options: { readonly force: true }): Promise<void>;
}

export interface OpenFile extends AsyncDisposable {
  writeFile(text: string): Promise<void>;
  sync(): Promise<void>;
}

export interface WriteOptions {
  /** Mode of a newly created file (default: only the owner has access). */
  readonly mode?: number;
  /** The file system to use (default: the platform's). */
  readonly disk?: Disk;
}

const platform: Disk = { open, link, rename, rm };
const ownerOnly = 0o600;

/** Replaces the file, or creates it. Only one writer at a time is allowed. */
export async function replaceFile(path: string, text: string, options: WriteOptions = {}): Promise<void> {
  const { disk = platform, mode = ownerOnly } = options;
  const draft = `${path}.new`;
  await writeDraft(disk, { path: draft, flags: "w", mode }, text);
  await disk.rename(draft, path);
  await flushFolder(disk, path);
}

/**
 * Creates the file unless it exists; returns whether it did. Any number of writers, including other processes, may do so
 * concurrently: all of them then find the text of one writer in the file.
 */
export async function createFile(path: string, text: string, options: WriteOptions = {}): Promise<boolean> {
  const { disk = platform, mode = ownerOnly } = options;
  const draft = `${path}.${randomUUID()}.new`;
  try {
    await writeDraft(disk, { path: draft, flags: "wx", mode }, text);
    const isMade = await disk.link(draft, path).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, "EEXIST")) return false;
        throw error;
      },
    );
    // The writer that was first may not have flushed the name yet.
    await flushFolder(disk, path);
    return isMade;
  } finally {
    await disk.rm(draft, { force: true });
  }
}

/** Creates the file like {@link createFile}; returns the text that the file then has. */
export async function keepFirst(path: string, text: string, mode = ownerOnly): Promise<string> {
  return (await createFile(path, text, { mode })) ? text : await readFile(path, "utf8");
}

/** Reads the file; returns null if it does not exist. */
export async function readFileIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

async function writeDraft(
  disk: Disk,
  draft: { readonly path: string; readonly flags: "w" | "wx"; readonly mode: number },
  text: string,
): Promise<void> {
  await using file = await disk.open(draft.path, draft.flags, draft.mode);
  await file.writeFile(text);
  await file.sync();
}

/** A name survives a loss of power only once its folder is on the disk. */
async function flushFolder(disk: Disk, path: string): Promise<void> {
  // Windows cannot open a folder; its file names are durable without this.
  if (process.platform === "win32") return;
  await using folder = await disk.open(dirname(path), "r");
  await folder.sync();
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
