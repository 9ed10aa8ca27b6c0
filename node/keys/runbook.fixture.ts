// The commands in the pages under docs/, for the tests that run them.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../../tools/process.ts";

/** A block of commands; its kind follows `sh`, and is empty for those that are simply run. */
export interface Block {
  readonly kind: string;
  readonly script: string;
}

/** Makes `svc` refer to this checkout's program. */
export const shellPrelude = `set -euo pipefail
svc() { "${process.execPath}" "${join(root, "cli", "main.ts")}" "$@"; }
`;

/** The command blocks of a page, by the title above them, in order. */
export async function playedBlocks(page: string): Promise<ReadonlyMap<string, readonly Block[]>> {
  const found = new Map<string, Block[]>();
  const text = await readFile(join(root, "docs", page), "utf8");
  let blocks: Block[] = [];
  for (const part of text.matchAll(/^## (.+)$|^```sh ?(\w*)\n([\s\S]*?)^```$/gm)) {
    const [, title, kind = "", script = ""] = part;
    if (title === undefined) blocks.push({ kind, script });
    else {
      blocks = [];
      found.set(title, blocks);
    }
  }
  return found;
}
