// The records of pushes in progress and the Merkle trees over them, wherever the records are: staged with the push, or in
// an uploaded file.
//   L1. What is read of a file is compared with its leaf hashes, and these with the sealed root: a file that changed is
//       never published from.
// The trees are purely a cache: built at acceptance, or when the first chunk needs them, and reused for the inclusion path
// of every leaf.

import type { AcceptedLeaf, PushFacts } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import { equalBytes, formatHash, type Sha256 } from "../../protocol/bytes.ts";
import { leafHash, type MerkleTree, packedTree } from "../../protocol/merkle.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { inSteps, type PaceOf } from "../../std/work.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { FileNotHere, FileUnfit, type StagingArea } from "../../storage/staging-area.ts";

/** 6 MB for each of the largest. */
const treesMax = 8;
const leavesPerRead = 1_000;
/** Two milliseconds of work at most. */
const stepNodes = 2_000;
const hashBytes = 32;

export interface PushLeavesDeps {
  readonly records: RecordStore;
  /** Null where bulk import is not available. */
  readonly staging: StagingArea | null;
  readonly sha256: Sha256;
  readonly paceOf: PaceOf;
}

type Located = Pick<PushFacts, "business_uuid" | "push_id" | "records" | "file">;

export interface PushLeaves {
  /** Keeps a tree that was built over the staged leaves of a push. */
  put(push: string, tree: MerkleTree): void;
  /** The leaves `[first, first + count)` that exist here, in order. Throws {@link FileUnfit} and {@link FileNotHere}. */
  load(push: Located, first: number, count: number): Promise<readonly Uint8Array[]>;
  /** The tree over all leaves of a push. Throws {@link FileUnfit} and {@link FileNotHere}. */
  tree(push: Located): Promise<MerkleTree>;
  drop(push: string): void;
}

interface FileTree {
  readonly tree: MerkleTree;
  /** The leaf hashes, concatenated. */
  readonly hashes: Uint8Array;
}

/** Reads the leaves of a push, wherever they are staged, and keeps the trees of the newest. */
export function createPushLeaves(deps: PushLeavesDeps): PushLeaves {
  const trees = new BoundedMap<string, MerkleTree>(treesMax);
  const files = new BoundedMap<string, FileTree>(treesMax);
  const fileTree = async (push: Located, file: NonNullable<PushFacts["file"]>): Promise<FileTree> => {
    const { id } = refOf(push);
    const known = files.get(id);
    if (known !== undefined) return known;
    const found = await readFileTree(deps, push, file);
    files.set(id, found);
    return found;
  };
  return {
    put: (push, tree) => trees.set(push, tree),
    drop: (push) => {
      trees.delete(push);
      files.delete(push);
    },
    load: async (push, first, count) => {
      const { file } = push;
      if (file === undefined) return deps.records.loadLeaves(refOf(push).id, first, count);
      const { hashes } = await fileTree(push, file);
      const pace = deps.paceOf(push.business_uuid);
      const leaves = (await deps.staging?.readLeaves(file.name, first, count)) ?? [];
      for (const [offset, leaf] of leaves.entries()) {
        const due = pace();
        if (due !== null) await due;
        const at = (first + offset) * hashBytes;
        if (!equalBytes(leafHash(leaf, deps.sha256), hashes.subarray(at, at + hashBytes)))
          throw new FileUnfit(first + offset);
      }
      return leaves;
    },
    tree: async (push) => {
      if (push.file !== undefined) return (await fileTree(push, push.file)).tree;
      const { id } = refOf(push);
      const known = trees.get(id);
      if (known) return known;
      const tree = await stagedTree(deps, push);
      trees.set(id, tree);
      return tree;
    },
  };
}

function refOf(push: Located) {
  return pushRef(push.business_uuid, push.push_id);
}

async function readFileTree(
  { staging, sha256, paceOf }: PushLeavesDeps,
  push: Located,
  file: NonNullable<PushFacts["file"]>,
): Promise<FileTree> {
  const hashes = (await staging?.readHashes(file.name)) ?? null;
  // It may be on its way here from another region; if it was forgotten, the push is told so.
  if (hashes === null) throw new FileNotHere(file.name);
  const tree = await inSteps(packedTree(hashes, sha256, stepNodes), paceOf(push.business_uuid));
  if (formatHash(tree.root) !== file.root) throw new FileUnfit(null);
  return { tree, hashes };
}

async function stagedTree({ records, sha256, paceOf }: PushLeavesDeps, push: Located): Promise<MerkleTree> {
  const { id } = refOf(push);
  const pace = paceOf(push.business_uuid);
  const count = push.records;
  const hashes = new Uint8Array(count * hashBytes);
  let read = 0;
  while (read < count) {
    const more = Math.min(leavesPerRead, count - read);
    const leaves = await records.loadLeaves(id, read, more);
    if (leaves.length === 0) throw new Error(`Leaf ${read} of ${id} is not staged.`);
    for (const leaf of leaves) {
      const due = pace();
      if (due !== null) await due;
      hashes.set(leafHash(leaf, sha256), read * hashBytes);
      read += 1;
    }
  }
  return await inSteps(packedTree(hashes, sha256, stepNodes), pace);
}

// Leaves that were judged before the chunks that will publish them: records that admission parsed for planning, and the verdicts on
// those of a file, whose records would take too much memory. Purely a cache: a leaf that is not here is parsed and judged again.
//   J1. A leaf is handed out once, so that what is on its way to the store is not also kept here.
//   J2. At most `pushesMax` pushes are kept, and no more than `leafBytesMax` of leaves for each: parsed, they take about
//       four times as much. A verdict takes a hundred bytes.

const pushesMax = 2;
const leafBytesMax = 16 * 1024 * 1024;

export interface ParsedLeaves {
  /** Keeps the leaves of a push by their index; undefined for one that will be rejected. `bytes` is their total length. */
  put(push: string, leaves: readonly (AcceptedLeaf | undefined)[], bytes: number): void;
  /** Keeps that a leaf was accepted. */
  note(push: string, leafIndex: number, leaf: Omit<AcceptedLeaf, "record">): void;
  /** The leaf, if it is still cached (J1). */
  take(push: string, leafIndex: number): AcceptedLeaf | undefined;
  drop(push: string): void;
}

/** The parsed leaves of admitted pushes, kept in memory until their chunks take them. */
export function createParsedLeaves(): ParsedLeaves {
  const pushes = new BoundedMap<string, (AcceptedLeaf | undefined)[]>(pushesMax);
  return {
    put: (push, leaves, bytes) => {
      if (bytes > leafBytesMax) pushes.delete(push);
      else pushes.set(push, [...leaves]);
    },
    note: (push, leafIndex, leaf) => {
      const leaves = pushes.get(push) ?? [];
      leaves[leafIndex] = leaf;
      pushes.set(push, leaves);
    },
    take: (push, leafIndex) => {
      const leaves = pushes.get(push);
      const leaf = leaves?.[leafIndex];
      if (leaf !== undefined && leaves !== undefined) leaves[leafIndex] = undefined;
      return leaf;
    },
    drop: (push) => void pushes.delete(push),
  };
}
