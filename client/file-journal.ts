// Where the state of a push is kept so that it can be resumed.

import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { PushJournal, PushState } from "./push-state.ts";

/** For a push that need not survive its process. */
export function memoryJournal(): PushJournal {
  let kept: PushState | null = null;
  return {
    load: async () => kept,
    save: async (state) => {
      kept = state;
    },
  };
}

/**
 * A file that always has a whole state, also after a loss of power. Only one process at a time may push with it: two that
 * seal the same records would publish them twice.
 */
export function fileJournal(path: string): PushJournal {
  return {
    load: async () => {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
      return text === null ? null : (JSON.parse(text) as PushState);
    },
    save: async (state) => {
      const draft = `${path}.new`;
      await writeAndFlush(draft, `${JSON.stringify(state)}\n`);
      await rename(draft, path);
      await flushFolder(path);
    },
  };
}

async function writeAndFlush(path: string, text: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A name survives a loss of power only once its folder is on the disk. Windows cannot open a folder, and need not. */
async function flushFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
