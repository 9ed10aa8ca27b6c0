// The transparency log, verified offline (specification, «Verification reason codes»): a checkpoint is signed by a log key of the key
// set, a proof leads from an entry to its root, and two checkpoints are of one log that only grew.

import { formatHash, parseHash } from "../protocol/bytes.ts";
import { judgeCosignatures } from "../protocol/log/cosignatures.ts";
import { entryHash, type LogEntry, receiptBatchEntry } from "../protocol/log/leaves.ts";
import {
  type Checkpoint,
  isSignedBy,
  type NoteKey,
  noteKeysOf,
  parseCheckpoint,
  parseNote,
  verifierKeyOf,
} from "../protocol/log/note.ts";
import { leafHash, rootFromPath, verifyConsistency } from "../protocol/merkle.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { refuse } from "../protocol/result.ts";
import type { Trust } from "./trust.ts";

/** A leaf's place in a tree, as an inclusion read states it: its path consists of hash texts. */
export interface StatedPath {
  readonly leaf_index: number;
  readonly tree_size: number;
  readonly proof: readonly string[];
}

/** What an inclusion read answers about an entry, with the signed note of the tree. */
export interface InclusionEvidence extends StatedPath {
  readonly checkpoint: string;
}

/** The lower level of a receipt's proof. */
export interface ReceiptBatchEvidence extends StatedPath {
  readonly region: string;
  readonly name: string;
  readonly root: string;
}

/**
 * Reads a checkpoint: a note of the anchored log, signed by one of its keys in the key set that is not compromised, without a wrong
 * line of any of them, and cosigned as the caller's policy of witnesses demands.
 * `checkpoint_invalid` for anything else.
 */
export function verifyCheckpoint(trust: Trust, note: string): Verdict<Checkpoint> {
  const parsed = parseNote(note);
  if (!parsed.ok) return parsed;
  const checkpoint = parseCheckpoint(parsed.value.text);
  if (!checkpoint.ok) return checkpoint;
  const { origin } = trust.anchors.log;
  if (checkpoint.value.origin !== origin)
    return refuse("checkpoint_invalid", `The checkpoint is of another log than ${origin}.`);
  if (!isSignedBy(trust, parsed.value, logKeys(trust)))
    return refuse("checkpoint_invalid", "No key of the log signed this checkpoint, or a signature is wrong.");
  const { witnessPolicy } = trust;
  const cosigned =
    witnessPolicy === undefined ? checkpoint : judgeCosignatures(trust, parsed.value, witnessPolicy);
  return cosigned.ok ? checkpoint : cosigned;
}

/**
 * The keys that sign checkpoints, under both of their names. A checkpoint states no time, so a key that is compromised at all is none
 * of them.
 */
export function logKeys({ anchors, keys }: Trust): readonly NoteKey[] {
  return [...keys.values()].flatMap(({ use, public_key, compromised_from }) =>
    use === "log" && compromised_from === null ? noteKeysOf(anchors.log, public_key) : [],
  );
}

/** The keys that a policy file names the log by (C2SP tlog-policy). */
export function logKeysByOrigin(trust: Trust): readonly NoteKey[] {
  return logKeys(trust).filter(({ name }) => name === trust.anchors.log.origin);
}

/** The verifier keys that a policy file names the log by. */
export function namedAs(trust: Trust): readonly string[] {
  return logKeysByOrigin(trust).map((key) => verifierKeyOf(key, trust.sha256));
}

/** What a witness is told of the log, one line for each key: the origin and the verifier key (C2SP signed-note). */
export function witnessedAs(trust: Trust): readonly string[] {
  const { origin, key_name } = trust.anchors.log;
  const keys = logKeys(trust).filter(({ name }) => name === key_name);
  return keys.map((key) => `${origin} ${verifierKeyOf(key, trust.sha256)}`);
}

/** Whether the log contains an entry: `checkpoint_invalid` for the checkpoint, `inclusion_invalid` for the path to its root. */
export function verifyLogInclusion(
  trust: Trust,
  entry: LogEntry,
  evidence: InclusionEvidence,
): Verdict<Checkpoint> {
  const checkpoint = verifyCheckpoint(trust, evidence.checkpoint);
  if (!checkpoint.ok) return checkpoint;
  const { size, root } = checkpoint.value;
  const reached = rootOf(trust, entryHash(entry, trust.sha256), evidence);
  if (evidence.tree_size !== size || reached === null || reached !== formatHash(root))
    return refuse(
      "inclusion_invalid",
      "The path does not lead from the entry to the root of the checkpoint.",
    );
  return checkpoint;
}

/**
 * Whether the log contains the batch of a receipt, and the batch the receipt. `envelope` is the exact text of the receipt's
 * envelope, as bytes.
 */
export function verifyReceiptInclusion(
  trust: Trust,
  envelope: Uint8Array,
  evidence: InclusionEvidence & { readonly batch: ReceiptBatchEvidence },
): Verdict<Checkpoint> {
  const { region, name: batch, root, ...path } = evidence.batch;
  if (rootOf(trust, leafHash(envelope, trust.sha256), path) !== root)
    return refuse("inclusion_invalid", "The path does not lead from the receipt to the root of its batch.");
  return verifyLogInclusion(trust, receiptBatchEntry({ region, batch, root }), evidence);
}

function rootOf(
  { sha256 }: Trust,
  hash: Uint8Array,
  { leaf_index: index, tree_size: treeSize, proof }: StatedPath,
): string | null {
  const path = proof.map((each) => parseHash(each));
  if (path.some((each) => each === null)) return null;
  const root = rootFromPath(
    { leafHash: hash, index, treeSize, path: path.filter((each) => each !== null) },
    sha256,
  );
  return root === null ? null : formatHash(root);
}

/**
 * Whether the second checkpoint's tree is the first one's with leaves behind: `consistency_invalid` otherwise, and for a second one
 * that is smaller; `checkpoint_invalid` for either. `proof` is that of the consistency read between their sizes.
 */
export function verifyLogConsistency(
  trust: Trust,
  first: string,
  second: string,
  proof: readonly string[],
): Verdict<Checkpoint> {
  const [earlier, later] = [verifyCheckpoint(trust, first), verifyCheckpoint(trust, second)];
  if (!earlier.ok) return earlier;
  if (!later.ok) return later;
  const path = proof.map((each) => parseHash(each));
  const isConsistent =
    !path.includes(null) &&
    verifyConsistency(
      {
        firstSize: earlier.value.size,
        secondSize: later.value.size,
        firstRoot: earlier.value.root,
        secondRoot: later.value.root,
        path: path.filter((each) => each !== null),
      },
      trust.sha256,
    );
  return isConsistent
    ? later
    : refuse(
        "consistency_invalid",
        "The second checkpoint is not of the first one's log with leaves behind.",
      );
}
