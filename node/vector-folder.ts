// The folder of the public test vectors, which is part of the release.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { VectorFolder } from "../service/test-vectors.ts";

/** Above any file of vectors; what is larger does not belong there. */
export const vectorBytesMax = 8_388_608;

const ofRelease = fileURLToPath(new URL("../vectors", import.meta.url));

/** The files below `folder`. */
export function vectorFolder(folder: string = ofRelease): VectorFolder {
  return {
    read: async (path) => {
      const place = join(folder, path);
      const found = await stat(place).catch(absent);
      if (found === null || !found.isFile()) return null;
      if (found.size > vectorBytesMax) throw new Error(`${place} is too large for test vectors.`);
      return new Uint8Array(await readFile(place));
    },
  };
}

function absent(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
  throw error;
}
