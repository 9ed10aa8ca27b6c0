// Proofs of the transparency log, judged with nothing but the key set: what is true is accepted, and every change of it is refused by
// name.

import { beforeAll, describe, expect, it } from "vitest";
import { formatHash, sha256, toBase64, utf8 } from "../protocol/bytes.ts";
import { entryHash, type LogEntry, receiptBatchEntry } from "../protocol/log/leaves.ts";
import {
  formatCheckpoint,
  formatNote,
  logMessage,
  logSignature,
  type NoteSignature,
  noteKeyOf,
  parseNote,
  verifierKeyOf,
} from "../protocol/log/note.ts";
import { cosign, noteKey, type TestNoteKey } from "../protocol/log/signed-log.fixture.ts";
import { buildTree, consistencyPath, leafHash } from "../protocol/merkle.ts";
import {
  keySetAnswer,
  makeService,
  makeServiceKey,
  type ServiceKey,
  soleKey,
  type TestService,
} from "./service.fixture.ts";
import { signBytes } from "./signing.fixture.ts";
import { createVerifier, type Verifier } from "./verifier.ts";

const entries: readonly LogEntry[] = Array.from({ length: 11 }, (_, at) => ({
  leaf: formatHash(sha256(utf8(`${at}`))),
  leaf_type: "seal",
  subject: "b",
}));
const envelopes = ['{"a":1}', '{"b":2}', '{"c":3}'].map(utf8);
const batchTree = buildTree(
  envelopes.map((each) => leafHash(each, sha256)),
  sha256,
);
const batch = { region: "eu-west1", batch: "202611220000-x", root: formatHash(batchTree.root) };
const all = [...entries, receiptBatchEntry(batch)];
const hashes = all.map((each) => entryHash(each, sha256));

let service: TestService;
let verifier: Verifier;

beforeAll(() => {
  service = makeService();
  const made = createVerifier({ anchors: service.anchors, keySet: keySetAnswer(service) });
  if (!made.ok) throw new Error(made.detail);
  verifier = made.value;
});

function noteOf(
  size: number,
  given: {
    readonly origin?: string;
    readonly key?: ServiceKey;
    readonly name?: string;
    readonly leaves?: readonly Uint8Array[];
  } = {},
): string {
  const { origin = service.anchors.log.origin, key = service.log, name = "svc-log", leaves = hashes } = given;
  const root = buildTree(leaves.slice(0, size), sha256).root;
  const text = formatCheckpoint({ origin, size, root, extensions: [] });
  const signer = soleKey(key);
  const noteKey = noteKeyOf(name, signer.jwk);
  if (noteKey === null) throw new Error("It is an Ed25519 key.");
  return formatNote({
    text,
    signatures: [logSignature(noteKey, signBytes(signer, logMessage(text)), sha256)],
  });
}

function inclusionOf(index: number, size = all.length) {
  const tree = buildTree(hashes.slice(0, size), sha256);
  const proof = tree.path(index).map(formatHash);
  return { leaf_index: index, tree_size: size, proof, checkpoint: noteOf(size) };
}

const refused = (code: string) => ({ ok: false, code });

describe("a checkpoint", () => {
  it("of the anchored log under its key is accepted", async () => {
    expect(verifier.checkpoint(noteOf(5))).toMatchObject({ ok: true, value: { size: 5 } });
  });

  it.each([
    ["of another origin", { origin: "log.test/other" }],
    ["under another name", { name: "svc-log2" }],
    ["of a key that the key set does not have", { key: makeServiceKey("log") }],
  ])("%s is refused", async (_what, given) => {
    expect(verifier.checkpoint(noteOf(5, given))).toMatchObject(refused("checkpoint_invalid"));
  });

  it("by another working key of the service is refused", async () => {
    const note = noteOf(5, { key: service.statement });
    expect(verifier.checkpoint(note)).toMatchObject(refused("checkpoint_invalid"));
  });

  it("by a key that is compromised is refused, for it states no time", async () => {
    const entries = (key: ServiceKey) =>
      key === service.log ? { compromised_from: "2026-01-01T00:00:00.000Z" } : {};
    const keySet = keySetAnswer(service, { entries });
    const made = createVerifier({ anchors: service.anchors, keySet });
    if (!made.ok) throw new Error(made.detail);
    expect(made.value.checkpoint(noteOf(5))).toMatchObject(refused("checkpoint_invalid"));
  });
});

describe("an inclusion proof", () => {
  it("of every leaf in every tree is accepted", async () => {
    for (let size = 1; size <= all.length; size += 1)
      for (let index = 0; index < size; index += 1)
        expect(verifier.logInclusion(all[index] as LogEntry, inclusionOf(index, size)).ok).toBe(true);
  });

  it("is refused with anything of it changed", async () => {
    const evidence = inclusionOf(4);
    const entry = all[4] as LogEntry;
    const { proof } = evidence;
    for (const changed of [
      { ...evidence, leaf_index: 5 },
      { ...evidence, tree_size: 13 },
      { ...evidence, proof: proof.slice(1) },
      { ...evidence, proof: [...proof, proof[0] ?? ""] },
      { ...evidence, proof: proof.toReversed() },
      { ...evidence, proof: ["sha256:x", ...proof.slice(1)] },
      { ...evidence, checkpoint: noteOf(11) },
    ])
      expect(verifier.logInclusion(entry, changed)).toMatchObject(refused("inclusion_invalid"));
    for (const other of [
      { ...entry, subject: "c" },
      { ...entry, leaf_type: "key_event" as const },
      all[5] as LogEntry,
    ])
      expect(verifier.logInclusion(other, evidence)).toMatchObject(refused("inclusion_invalid"));
    const unsigned = { ...evidence, checkpoint: evidence.checkpoint.replace("— svc-log", "— svc-log2") };
    expect(verifier.logInclusion(entry, unsigned)).toMatchObject(refused("checkpoint_invalid"));
  });

  it("every flipped bit of which is refused", async () => {
    const entry = all[4] as LogEntry;
    const bytes = utf8(JSON.stringify({ entry, evidence: inclusionOf(4) }));
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = bytes.slice();
      flipped[at] = (flipped[at] as number) ^ 1;
      let judged = false;
      try {
        const read = JSON.parse(new TextDecoder().decode(flipped));
        judged = verifier.logInclusion(read.entry, read.evidence).ok;
      } catch {
        // Not JSON, or without a member: there is no evidence any more.
      }
      expect(judged, `byte ${at}`).toBe(false);
    }
  });
});

describe("a receipt's two levels", () => {
  const lower = (index: number) => {
    const { region, batch: name, root } = batch;
    const proof = batchTree.path(index).map(formatHash);
    return { region, name, root, leaf_index: index, tree_size: 3, proof };
  };

  it("are accepted for each receipt of the batch", async () => {
    for (const [index, envelope] of envelopes.entries()) {
      const evidence = { ...inclusionOf(11), batch: lower(index) };
      expect(verifier.receiptInclusion(envelope, evidence).ok).toBe(true);
    }
  });

  it("are refused for another receipt, batch, region or root", async () => {
    const upper = inclusionOf(11);
    const receipt = envelopes[1] as Uint8Array;
    const judged = (changes: object) =>
      verifier.receiptInclusion(receipt, { ...upper, batch: { ...lower(1), ...changes } });
    expect(judged({}).ok).toBe(true);
    for (const changes of [
      { leaf_index: 0 },
      { region: "us-east1" },
      { name: "202611220001-x" },
      { root: formatHash(sha256(utf8("other"))) },
      { proof: [] },
    ])
      expect(judged(changes)).toMatchObject(refused("inclusion_invalid"));
  });
});

describe("consistency", () => {
  it("of every two sizes is accepted, and refused backwards", async () => {
    for (let second = 1; second <= all.length; second += 1)
      for (let first = 1; first <= second; first += 1) {
        const proof = consistencyPath(hashes.slice(0, second), first, sha256).map(formatHash);
        const notes = [noteOf(first), noteOf(second)] as const;
        expect(verifier.logConsistency(...notes, proof).ok).toBe(true);
        if (first < second)
          expect(verifier.logConsistency(notes[1], notes[0], proof)).toMatchObject(
            refused("consistency_invalid"),
          );
      }
  });

  it("is refused for a log that was forked, re-ordered or cut", async () => {
    const proof = consistencyPath(hashes, 5, sha256).map(formatHash);
    const first = noteOf(5);
    const forked = hashes.with(2, sha256(utf8("another")));
    for (const leaves of [forked, hashes.with(0, hashes[1] as Uint8Array).with(1, hashes[0] as Uint8Array)]) {
      const second = noteOf(all.length, { leaves });
      const own = consistencyPath(leaves, 5, sha256).map(formatHash);
      expect(verifier.logConsistency(first, second, own)).toMatchObject(refused("consistency_invalid"));
    }
    const second = noteOf(all.length);
    for (const wrong of [proof.slice(1), [...proof, proof[0] ?? ""], ["sha256:0"], []])
      expect(verifier.logConsistency(first, second, wrong)).toMatchObject(refused("consistency_invalid"));
    const other = noteOf(5, { origin: "log.test/other" });
    expect(verifier.logConsistency(other, second, proof)).toMatchObject(refused("checkpoint_invalid"));
    expect(toBase64(utf8(first))).not.toBe(toBase64(utf8(second)));
  });
});

describe("a checkpoint under a policy of witnesses", () => {
  const keys = [1, 2, 3].map((seed) => noteKey(`witness.test/w${seed}`, "cosignature", seed));
  const vkeys = keys.map((key) => verifierKeyOf(key, sha256));
  const [one, two, three] = keys as [TestNoteKey, TestNoteKey, TestNoteKey];
  const seconds = 1_800_000_000;

  const verifierOf = (quorum: number, of = vkeys) =>
    createVerifier({
      anchors: service.anchors,
      keySet: keySetAnswer(service),
      witnesses: { keys: of, quorum },
    });

  /** The note of 5 leaves with the lines behind it. */
  function cosigned(lines: readonly NoteSignature[]): string {
    const parsed = parseNote(noteOf(5));
    if (!parsed.ok) throw new Error(parsed.detail);
    return formatNote({ ...parsed.value, signatures: [...parsed.value.signatures, ...lines] });
  }

  const text = () => `${noteOf(5).split("\n\n")[0]}\n`;
  const by = (key: TestNoteKey) => cosign(key, text(), seconds);
  const judge = (lines: readonly NoteSignature[], quorum = 2) => {
    const made = verifierOf(quorum);
    if (!made.ok) throw new Error(made.detail);
    return made.value.checkpoint(cosigned(lines));
  };

  it("is accepted with enough cosignatures, whatever else signed it", () => {
    for (const lines of [
      [one, two],
      [two, three],
      [three, two, one],
    ])
      expect(judge(lines.map(by))).toMatchObject({ ok: true, value: { size: 5 } });
    const stranger = by(noteKey("witness.test/w9", "cosignature", 9));
    expect(judge([stranger, by(one), by(three)]).ok).toBe(true);
    expect(judge([], 0).ok).toBe(true);
  });

  it.each<[string, () => readonly NoteSignature[], RegExp]>([
    ["none", () => [], /0 of at least 2 witnesses .*w1 did not sign; .*w2 did not sign/],
    ["too few", () => [by(one)], /1 of at least 2/],
    ["one twice", () => [by(one), by(one)], /1 of at least 2/],
    ["one under another name", () => [by(one), by({ ...two, name: "witness.test/w7" })], /w2 did not sign/],
    [
      "one by another key",
      () => [by(one), by({ ...noteKey(two.name, "cosignature", 8) })],
      /w2 signed with another key/,
    ],
    [
      "the log's own signature under a witness's name",
      () => [by(one), by({ ...two, kind: "log" })],
      /another key/,
    ],
    [
      "one of another size",
      () => [by(one), cosign(two, text(), seconds, { of: text().replace("\n5\n", "\n6\n") })],
      /w2 is not one of this checkpoint/,
    ],
    [
      "a signature under its key that is another's",
      () => [by(one), { ...by(two), bytes: by(one).bytes }],
      /w2 is not one of this checkpoint/,
    ],
    [
      "another time than the signed one",
      () => [by(one), { ...by(two), bytes: by(two).bytes.with(7, 1) }],
      /w2 is not one of this checkpoint/,
    ],
    ["no time", () => [by(one), { ...by(two), bytes: by(two).bytes.slice(8) }], /w2 is no cosignature/],
    [
      "a time that is too long",
      () => [by(one), { ...by(two), bytes: Uint8Array.of(0, ...by(two).bytes) }],
      /w2 is no cosignature/,
    ],
    [
      "a time that cannot be counted",
      () => [by(one), { ...by(two), bytes: by(two).bytes.with(0, 255) }],
      /w2 is not one of this checkpoint/,
    ],
    [
      "enough, and a wrong one",
      () => [by(one), by(two), { ...by(three), bytes: by(three).bytes.with(70, 1) }],
      /w3 is not one of this checkpoint/,
    ],
  ])("is refused with cosignatures: %s", (_what, lines, detail) => {
    expect(judge(lines())).toMatchObject({
      ...refused("checkpoint_invalid"),
      detail: expect.stringMatching(detail),
    });
  });

  it("that fails proves nothing else", () => {
    const made = verifierOf(2);
    if (!made.ok) throw new Error(made.detail);
    const entry = all[3] as LogEntry;
    const evidence = inclusionOf(3, 5);
    expect(verifier.logInclusion(entry, evidence).ok).toBe(true);
    expect(made.value.logInclusion(entry, evidence)).toMatchObject(refused("checkpoint_invalid"));
    const checkpoint = cosigned([by(one), by(two)]);
    expect(made.value.logInclusion(entry, { ...evidence, checkpoint }).ok).toBe(true);
    expect(made.value.logConsistency(noteOf(5), noteOf(5), [])).toMatchObject(refused("checkpoint_invalid"));
    expect(made.value.logConsistency(checkpoint, checkpoint, []).ok).toBe(true);
  });

  it("every flipped bit of which is refused", () => {
    const made = verifierOf(2, vkeys.slice(0, 2));
    if (!made.ok) throw new Error(made.detail);
    const bytes = utf8(cosigned([by(one), by(two)]));
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = bytes.with(at, (bytes[at] as number) ^ 1);
      expect(made.value.checkpoint(new TextDecoder().decode(flipped)).ok, `byte ${at}`).toBe(false);
    }
  });

  it("is refused with a policy that nobody can satisfy, or that counts one witness twice", () => {
    const again = verifierKeyOf({ ...one, name: "witness.test/again" }, sha256);
    for (const [quorum, of] of [
      [4, vkeys],
      [-1, vkeys],
      [0.5, vkeys],
      [1, [...vkeys, "witness.test/w4"]],
      [1, [...vkeys, vkeys[0] ?? ""]],
      [1, [...vkeys, again]],
      [1, [verifierKeyOf({ ...one, kind: "log" }, sha256)]],
    ] as const)
      expect(verifierOf(quorum, [...of])).toMatchObject(refused("checkpoint_invalid"));
  });
});
