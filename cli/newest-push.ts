// Which push was the last thing that this home folder did to a business's catalogue. Only that push may be taken for done
// when its file is pushed again: after any other push, withdrawal or deletion the catalogue may differ from the file.

import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfThere, replaceFile } from "../crypto/durable-file.ts";

/** Saved before anything is sent, so that a crash makes the next run send too much rather than nothing. */
export async function rememberNewest(home: string, identity: string, name: string): Promise<void> {
  await mkdir(join(home, "pushes"), { recursive: true });
  await replaceFile(pathOf(home, identity), `${name}\n`);
}

export async function isNewest(home: string, identity: string, name: string): Promise<boolean> {
  return (await readFileIfThere(pathOf(home, identity)))?.trim() === name;
}

/** Something else than a push changes the catalogue. */
export async function forgetNewest(home: string, identity: string): Promise<void> {
  await rm(pathOf(home, identity), { force: true });
}

function pathOf(home: string, identity: string): string {
  return join(home, "pushes", `newest-${createHash("sha256").update(identity).digest("hex")}`);
}
