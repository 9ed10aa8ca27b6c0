// Small files that are whole or absent, whenever the process or the power ends. Keys are kept so, and what nodes and the
// program must find again.
//   D1. What is written goes to a draft beside the file and is flushed before it takes the name: no crash leaves half of it
//       under that name. A crash may leave the draft; nobody reads it.
//   D2. Whoever is told that a file has its text, or that another was first, may rely on it: the name is flushed, too.

import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** What is asked of the file system. */
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
  /** Of a new file: its owner's alone unless told otherwise. */
  readonly mode?: number;
  /** The platform's unless given. */
  readonly disk?: Disk;
}

const platform: Disk = { open, link, rename, rm };
const ownerOnly = 0o600;

/** Replaces the file, or makes it. One writer at a time. */
export async function replaceFile(path: string, text: string, options: WriteOptions = {}): Promise<void> {
  const { disk = platform, mode = ownerOnly } = options;
  const draft = `${path}.new`;
  await writeDraft(disk, { path: draft, flags: "w", mode }, text);
  await disk.rename(draft, path);
  await flushFolder(disk, path);
}

/**
 * Makes the file unless it is there; answers whether it did. Any number of writers, also of other processes, may do so at
 * once: for all of them the file has the text of one.
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
    // Whoever was first may not have come as far.
    await flushFolder(disk, path);
    return isMade;
  } finally {
    await disk.rm(draft, { force: true });
  }
}

/** As {@link createFile}; answers the text that the file has then. */
export async function keepFirst(path: string, text: string, mode = ownerOnly): Promise<string> {
  return (await createFile(path, text, { mode })) ? text : await readFile(path, "utf8");
}

/** Null when there is no such file. */
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
  // Windows cannot open a folder; its names are durable by themselves.
  if (process.platform === "win32") return;
  await using folder = await disk.open(dirname(path), "r");
  await folder.sync();
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
