// Cases about the transparency log: checkpoints, cosignatures, inclusion in one and in two levels, and consistency.

import { formatHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { entryHash, type LogEntry, receiptBatchEntry } from "../../protocol/log/leaves.ts";
import {
  formatCheckpoint,
  formatNote,
  logMessage,
  logSignature,
  noteKeyOf,
} from "../../protocol/log/note.ts";
import { buildTree, consistencyPath, leafHash } from "../../protocol/merkle.ts";
import { type ServiceKey, soleKey } from "../../verifier/service.fixture.ts";
import { signBytes } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import { checkpointCases, witnessCases } from "./checkpoint-cases.fixture.ts";
import { base64, casesOf, type World } from "./world.fixture.ts";

const entries: readonly LogEntry[] = Array.from({ length: 11 }, (_, at) => ({
  leaf: formatHash(sha256(utf8(`${at}`))),
  leaf_type: "seal",
  subject: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5d",
}));
const envelopes = ['{"a":1}', '{"b":2}', '{"c":3}'].map(utf8);
const batchTree = buildTree(
  envelopes.map((each) => leafHash(each, sha256)),
  sha256,
);
const batch = { region: "eu-west1", batch: "202611220000-x", root: formatHash(batchTree.root) };
const all: readonly LogEntry[] = [...entries, receiptBatchEntry(batch)];
const hashes = all.map((each) => entryHash(each, sha256));

interface NoteParts {
  readonly origin?: string;
  readonly key?: ServiceKey;
  readonly name?: string;
  readonly leaves?: readonly Uint8Array[];
}

export type NoteOf = (size: number, parts?: NoteParts) => string;

/** Signs checkpoints of the log, true unless it is told otherwise. */
export function noteMaker({ production: { service } }: World): NoteOf {
  return (
    size,
    { origin = service.anchors.log.origin, key = service.log, name = "svc-log", leaves = hashes } = {},
  ) => {
    const text = formatCheckpoint({
      origin,
      size,
      root: buildTree(leaves.slice(0, size), sha256).root,
      extensions: [],
    });
    const signer = soleKey(key);
    const named = noteKeyOf(name, signer.jwk);
    if (named === null) throw new Error("It is an Ed25519 key.");
    return formatNote({
      text,
      signatures: [logSignature(named, signBytes(signer, logMessage(text)), sha256)],
    });
  };
}

export function logCases(world: World): readonly VectorCase[] {
  const noteOf = noteMaker(world);
  return [
    ...checkpointCases(world, noteOf),
    ...witnessCases(noteOf),
    ...inclusionCases(noteOf),
    ...receiptBatchCases(noteOf),
    ...consistencyCases(noteOf),
  ];
}

function inclusionOf(noteOf: NoteOf, index: number, size = all.length) {
  const proof = buildTree(hashes.slice(0, size), sha256).path(index).map(formatHash);
  return { leaf_index: index, tree_size: size, proof, checkpoint: noteOf(size) };
}

function inclusionCases(noteOf: NoteOf): readonly VectorCase[] {
  const { good, bad } = casesOf("log_inclusion");
  const entry = all[4] as LogEntry;
  const evidence = inclusionOf(noteOf, 4);
  const { proof } = evidence;
  const sizes = [1, 2, 3, 7, 8, 12].flatMap((size) =>
    [0, size >> 1, size - 1].map((index) => ({ size, index })),
  );
  const distinct = [...new Map(sizes.map((each) => [`${each.index} of ${each.size}`, each]))];
  const changed = (change: object) => ({ entry, evidence: { ...evidence, ...change } });
  const reason = "inclusion_invalid";
  return [
    ...distinct.map(([name, { size, index }]) =>
      good(`leaf ${name}`, `Leaf ${index} of a tree of ${size} leaves.`, {
        entry: all[index],
        evidence: inclusionOf(noteOf, index, size),
      }),
    ),
    bad(reason, "index", "The index of another leaf.", changed({ leaf_index: 5 })),
    bad(reason, "size", "A size that is not the checkpoint's.", changed({ tree_size: 13 })),
    bad(reason, "short path", "A hash is missing.", changed({ proof: proof.slice(1) })),
    bad(reason, "long path", "A hash too many.", changed({ proof: [...proof, proof[0]] })),
    bad(
      reason,
      "path in another order",
      "The path from the root to the leaf.",
      changed({ proof: proof.toReversed() }),
    ),
    bad(reason, "no hash", "A hash that is none.", changed({ proof: ["sha256:x", ...proof.slice(1)] })),
    bad(reason, "another checkpoint", "The checkpoint of another size.", changed({ checkpoint: noteOf(11) })),
    bad(reason, "subject", "The entry of another subject.", {
      entry: { ...entry, subject: "other" },
      evidence,
    }),
    bad(reason, "leaf type", "The entry of another leaf type.", {
      entry: { ...entry, leaf_type: "key_event" },
      evidence,
    }),
    bad(reason, "another entry", "Another entry of the log.", { entry: all[5], evidence }),
    bad(
      "checkpoint_invalid",
      "checkpoint",
      "The checkpoint does not verify.",
      changed({ checkpoint: evidence.checkpoint.replace("— svc-log", "— svc-log2") }),
    ),
  ];
}

function receiptBatchCases(noteOf: NoteOf): readonly VectorCase[] {
  const { good, bad } = casesOf("receipt_inclusion");
  const { region, batch: name, root } = batch;
  const lower = (index: number) => ({
    region,
    name,
    root,
    leaf_index: index,
    tree_size: 3,
    proof: batchTree.path(index).map(formatHash),
  });
  const upper = inclusionOf(noteOf, 11);
  const of = (index: number, changes: object = {}) => ({
    envelope_base64: base64(envelopes[index] as Uint8Array),
    evidence: { ...upper, batch: { ...lower(index), ...changes } },
  });
  const reason = "inclusion_invalid";
  return [
    ...envelopes.map((_, index) =>
      good(
        `receipt ${index} of 3`,
        "Its path in the batch of its minute, and the batch's in the log.",
        of(index),
      ),
    ),
    bad(reason, "another index", "The path is that of another receipt.", of(1, { leaf_index: 0 })),
    bad(reason, "another region", "The batch of another region.", of(1, { region: "us-east1" })),
    bad(reason, "another batch", "A batch of another name.", of(1, { name: "202611220001-x" })),
    bad(
      reason,
      "another root",
      "A root to which the path does not lead.",
      of(1, { root: formatHash(sha256(utf8("other"))) }),
    ),
    bad(reason, "no path", "The path within the batch is missing.", of(1, { proof: [] })),
  ];
}

function consistencyCases(noteOf: NoteOf): readonly VectorCase[] {
  const { good, bad } = casesOf("log_consistency");
  const of = (first: number, second: number) => ({
    first: noteOf(first),
    second: noteOf(second),
    proof: consistencyPath(hashes.slice(0, second), first, sha256).map(formatHash),
  });
  const forked = hashes.with(2, sha256(utf8("another")));
  const swapped = hashes.with(0, hashes[1] as Uint8Array).with(1, hashes[0] as Uint8Array);
  const fork = (leaves: readonly Uint8Array[]) => ({
    first: noteOf(5),
    second: noteOf(all.length, { leaves }),
    proof: consistencyPath(leaves, 5, sha256).map(formatHash),
  });
  const whole = of(5, 12);
  const reason = "consistency_invalid";
  return [
    ...(
      [
        [1, 1],
        [1, 2],
        [2, 3],
        [3, 7],
        [4, 8],
        [5, 12],
        [8, 12],
        [12, 12],
      ] as const
    ).map(([first, second]) =>
      good(
        `${first} to ${second}`,
        `A tree of ${second} leaves extends the one of ${first}.`,
        of(first, second),
      ),
    ),
    bad(reason, "backwards", "The second checkpoint is smaller than the first.", {
      ...whole,
      first: whole.second,
      second: whole.first,
    }),
    bad(reason, "forked", "A leaf of the first tree was changed.", fork(forked)),
    bad(reason, "in another order", "Two leaves of the first tree changed places.", fork(swapped)),
    bad(reason, "short proof", "A hash is missing.", { ...whole, proof: whole.proof.slice(1) }),
    bad(reason, "long proof", "A hash too many.", { ...whole, proof: [...whole.proof, whole.proof[0]] }),
    bad(reason, "no proof", "There is no hash.", { ...whole, proof: [] }),
    bad(reason, "no hash", "A hash that is none.", { ...whole, proof: ["sha256:0"] }),
    bad(reason, "two trees of one size", "The same size with another root.", {
      first: noteOf(5),
      second: noteOf(5, { leaves: forked }),
      proof: [],
    }),
    bad("checkpoint_invalid", "another log", "The first checkpoint is of another log.", {
      ...whole,
      first: noteOf(5, { origin: "log.test/other" }),
    }),
  ];
}
