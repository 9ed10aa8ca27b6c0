// Files that are readable by their owner alone, and are never written over another one.

import { open } from "node:fs/promises";
import { UsageError } from "./exit-codes.ts";

/** Throws {@link UsageError} where there is a file of that name. */
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
