// The list of the files in a cache folder, by which a partially written or damaged one is recognised.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { pipeline } from "node:stream/promises";

/** Size and SHA-256 (hex) of each file, by its path relative to the folder, with forward slashes. */
export type Contents = Readonly<Record<string, { readonly size: number; readonly sha256: string }>>;

/** Lists every file below `folder`. */
export async function listContents(folder: string): Promise<Contents> {
  const contents: Record<string, { size: number; sha256: string }> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1).replaceAll(sep, "/");
    contents[name] = { size: (await stat(path)).size, sha256: await hashFile(path) };
  }
  return contents;
}

/** One SHA-256 (hex) over names, sizes and hashes of all files, sorted by line. */
export function digestOf(contents: Contents): string {
  const lines = Object.entries(contents).map(([name, { size, sha256 }]) => `${sha256} ${size} ${name}\n`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}

/** Whether `folder` has a `contents.json` that matches its `files`, with no file missing or added. */
export async function isComplete(folder: string): Promise<boolean> {
  try {
    const wanted = JSON.parse(await readFile(join(folder, "contents.json"), "utf8")) as Contents;
    const found = await listContents(join(folder, "files"));
    const names = Object.keys(wanted);
    return (
      names.length > 0 &&
      names.length === Object.keys(found).length &&
      names.every((name) => found[name]?.sha256 === wanted[name]?.sha256)
    );
  } catch {
    return false;
  }
}

/** SHA-256 of a file, in hex. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}
