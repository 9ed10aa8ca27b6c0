// Small files that are whole or absent, whenever the process or the power ends.

import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes beside the file, flushes, renames over it, and flushes the folder, so that the rename itself survives.
 * One writer at a time. `mode` is that of a new file: its owner's alone unless told otherwise.
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const draft = `${path}.new`;
  {
    await using file = await open(draft, "w", mode);
    await file.writeFile(text);
    await file.sync();
  }
  await rename(draft, path);
  // Windows cannot open a folder; its rename is durable by itself.
  if (process.platform === "win32") return;
  await using folder = await open(dirname(path), "r");
  await folder.sync();
}

/**
 * As {@link replaceFile}, unless the file is there: answers the text that it has then. Any number of writers, also of
 * other processes, may do so at once; all get the text of the first.
 */
export async function keepFirst(path: string, text: string, mode = 0o600): Promise<string> {
  const draft = `${path}.${randomUUID()}.new`;
  try {
    {
      await using file = await open(draft, "wx", mode);
      await file.writeFile(text);
      await file.sync();
    }
    await link(draft, path);
    if (process.platform !== "win32") {
      await using folder = await open(dirname(path), "r");
      await folder.sync();
    }
    return text;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    return await readFile(path, "utf8");
  } finally {
    await rm(draft, { force: true });
  }
}

/** Null when there is no such file. */
export async function readFileIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
