// Files that only their owner can read, and that never overwrite an existing one.

import { open } from "node:fs/promises";
import { UsageError } from "./exit-codes.ts";

/** Throws {@link UsageError} where a file of that name exists. */
export async function writePrivate(path: string, text: string): Promise<void> {
  try {
    await using file = await open(path, "wx", 0o600);
    await file.writeFile(text);
    await file.sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw new UsageError((error as Error).message);
    throw new UsageError(`${path} exists and is not overwritten. Choose another name.`);
  }
}
