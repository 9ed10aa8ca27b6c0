// The leaves of the seals that this program made, which `svc log audit --config` takes for the business's own.
//   O1. A seal's leaf is on disk before its signature leaves this module: the log cannot have a seal of ours that is not in the file.
//   O2. The file only grows, by whole appends, so several processes may write to it. A line that a crash cut short is skipped.

import { appendFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { leafOfSeal, leafOfSigned } from "../client/proofs.ts";
import type { PushState } from "../client/push-state.ts";
import type { SigningKey } from "../client/signing-key.ts";
import { readFileIfThere } from "../crypto/durable-file.ts";

/** The key, with which every seal is written down before it is given out. */
export function recordingKey(key: SigningKey, home: string): SigningKey {
  return {
    ...key,
    sign: async (message) => {
      const sig = await key.sign(message);
      const leaf = leafOfSigned(message, { keyId: key.keyId, sig });
      if (leaf === null) return sig;
      await mkdir(home, { recursive: true });
      await appendFile(pathOf(home), `${leaf}\n`, { mode: 0o600, flush: true });
      return sig;
    },
  };
}

/** The leaves of all seals that were made with a home folder, also of pushes that are older than the file of leaves. */
export async function ownSeals(home: string): Promise<ReadonlySet<string>> {
  const folder = join(home, "pushes");
  const names = await readdir(folder).catch(() => []);
  const journals = names.filter((name) => name.endsWith(".json"));
  const texts = await Promise.all(journals.map((name) => readFileIfThere(join(folder, name))));
  const sealed = texts.flatMap((text) => (text === null ? [] : sealsIn(text)));
  const written = leavesIn((await readFileIfThere(pathOf(home))) ?? "");
  return new Set([...written, ...sealed]);
}

function sealsIn(journal: string): readonly string[] {
  const { batches } = JSON.parse(journal) as PushState;
  return batches.flatMap(({ sealed }) => (sealed === null ? [] : [leafOfSeal(sealed.batch_seal)]));
}

/** Every leaf that a text names. */
export function leavesIn(text: string): readonly string[] {
  return text.match(/sha256:[0-9a-f]{64}(?![0-9a-f])/g) ?? [];
}

function pathOf(home: string): string {
  return join(home, "own-seals.txt");
}
