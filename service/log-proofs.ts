// Proofs from the transparency log for what the service itself answers about (specification, «POST /v1/verify»).
//   P1. A proof is given only if the pure verifier accepts it under the published checkpoint: what is said of the log is what
//       anybody who reads it would find.
//   P2. «The log does not contain it» is said only of a leaf that the log was asked for. A log that cannot be read is an error.
//   P3. A home of the log that was lost may have noted places of leaves in a tree that it never published. Where another entry is
//       proven to be there, the leaf is not.

import { formatHash, type Sha256 } from "../protocol/hash.ts";
import { type LogEntry, parseBundleEntry, parseEntry } from "../protocol/log/entries.ts";
import { inclusionProof, type TiledTree } from "../protocol/log/proofs.ts";
import { entriesPath, type KnownRoots, tilePath, tileWidth, widthInTree } from "../protocol/log/tiles.ts";
import type { ReasonCode, Refusal } from "../protocol/result.ts";
import { StoreError } from "../storage/actor-store.ts";
import type { LogStore, StoredCheckpoint } from "../storage/log-store.ts";
import { type InclusionEvidence, verifyLogInclusion } from "../verifier/log.ts";
import type { Trust } from "../verifier/trust.ts";

export interface LogTreeDeps {
  readonly log: Pick<LogStore, "read">;
  readonly sha256: Sha256;
  /** What earlier proofs from the same log found. */
  readonly known?: KnownRoots;
}

/** What can be read of the log to prove that it contains an entry. */
export type ProvingLog = Pick<LogStore, "read" | "findLeaves" | "readCheckpoint">;

/** Whether the published log contains an entry. `refused`: what was found there does not verify. */
export type LogFinding =
  | { readonly kind: "proven"; readonly evidence: InclusionEvidence }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly refusal: Refusal<ReasonCode> };

/** The findings on entries, in their order, all against one checkpoint. */
export async function findInLog(
  log: ProvingLog,
  trust: Trust,
  entries: readonly LogEntry[],
): Promise<readonly LogFinding[]> {
  const checkpoint = entries.length === 0 ? null : await log.readCheckpoint();
  if (checkpoint === null) return entries.map(() => ({ kind: "absent" }));
  const places = await log.findLeaves(entries.map(({ leaf }) => leaf));
  const tree = publishedTree({ log, sha256: trust.sha256 }, checkpoint);
  return Promise.all(
    entries.map(async (entry, at): Promise<LogFinding> => {
      const index = places[at] ?? null;
      if (index === null || index >= checkpoint.size) return { kind: "absent" };
      const proof = (await inclusionProof(tree, index)).map(formatHash);
      const { size, note } = checkpoint;
      const evidence = { leaf_index: index, tree_size: size, proof, checkpoint: note };
      const verdict = verifyLogInclusion(trust, entry, evidence);
      if (verdict.ok) return { kind: "proven", evidence };
      const there = await readEntry(log, index, checkpoint.size);
      const isOther =
        there !== null && there.leaf !== entry.leaf && verifyLogInclusion(trust, there, evidence).ok;
      return isOther ? { kind: "absent" } : { kind: "refused", refusal: verdict };
    }),
  );
}

/** The entry at an index of the tree of `size` leaves; null if what is there is none. */
export async function readEntry(
  log: Pick<LogStore, "read">,
  index: number,
  size: number,
): Promise<LogEntry | null> {
  const bundle = Math.floor(index / tileWidth);
  const width = widthInTree(0, bundle, size);
  const [bytes = null] = await log.read([entriesPath({ index: bundle, width })]);
  const entry = parseBundleEntry(bytes ?? missingTile(), width, index % tileWidth);
  return entry && parseEntry(entry);
}

/** The published tree. */
export function publishedTree({ log, sha256, known }: LogTreeDeps, { size }: StoredCheckpoint): TiledTree {
  return {
    size,
    sha256,
    known,
    read: async (tiles) => {
      const objects = await log.read(tiles.map(tilePath));
      return objects.map((bytes) => bytes ?? missingTile());
    },
  };
}

/** Another region wrote it, and it is on its way here. */
export function missingTile(): never {
  throw new StoreError("not_applied", "a tile of the log is not readable in this region yet");
}
