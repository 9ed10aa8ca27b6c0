// C1 to C3 of the collector, with witnesses that are true, behind, slow, dead, or lie.

import { describe, expect, it } from "vitest";
import { sha256 } from "../../protocol/bytes.ts";
import { verifySignature as verify } from "../../protocol/keys/signatures.ts";
import { judgeCosignatures } from "../../protocol/log/cosignatures.ts";
import { type AddCheckpoint, formatNote, parseNote } from "../../protocol/log/note.ts";
import { cosign, noteKey, SignedLog, type TestNoteKey } from "../../protocol/log/signed-log.fixture.ts";
import type { ReachedWitness, WitnessReply } from "../../transport/witness-port.ts";
import { collectMs, createCollector } from "./collect-cosignatures.ts";

const log = new SignedLog();
const nowSeconds = 1_000_000;
const keys = [1, 2, 3].map((seed) => noteKey(`witness.test/w${seed}`, "cosignature", seed)) as [
  TestNoteKey,
  TestNoteKey,
  TestNoteKey,
];

const lineOf = (key: TestNoteKey, text: string, seconds = nowSeconds) =>
  formatNote({ text: "", signatures: [cosign(key, text, seconds)] }).slice(1);

interface Made extends ReachedWitness {
  readonly asked: AddCheckpoint[];
  readonly cancelled: Set<AddCheckpoint>;
}

function witness(
  key: TestNoteKey,
  answer: (request: AddCheckpoint, attempt: number) => WitnessReply | Promise<WitnessReply>,
): Made {
  const asked: AddCheckpoint[] = [];
  const cancelled = new Set<AddCheckpoint>();
  return {
    key,
    asked,
    cancelled,
    addCheckpoint: (request) => {
      asked.push(request);
      const reply = Promise.resolve().then(() => answer(request, asked.length));
      return { reply, cancel: () => void cancelled.add(request) };
    },
  };
}

const never = new Promise<never>(() => {});
/** One that cosigns whatever it is shown, after the tree of `size` leaves. */
function follows(key: TestNoteKey, size = 0): Made {
  let at = size;
  return witness(key, ({ oldSize, note }) => {
    if (oldSize !== at) return { kind: "at", size: at };
    const parsed = parseNote(note);
    if (!parsed.ok) throw new Error(parsed.detail);
    at = Number(parsed.value.text.split("\n")[1]);
    return { kind: "cosigned", lines: lineOf(key, parsed.value.text) };
  });
}
const silent = (key: TestNoteKey) => witness(key, () => never);
const dead = (key: TestNoteKey) => witness(key, () => Promise.reject(new Error("ECONNREFUSED")));
const says = (key: TestNoteKey, lines: string) => witness(key, () => ({ kind: "cosigned", lines }));

function collectorOf(witnesses: readonly ReachedWitness[], quorum: number, stop = new AbortController()) {
  const timers: { readonly delayMs: number; run: (() => void) | null }[] = [];
  const collector = createCollector({
    policy: { witnesses, quorum },
    stopped: stop.signal,
    crypto: { verify, sha256 },
    now: () => nowSeconds * 1_000,
    schedule: (delayMs, run) => {
      const timer: (typeof timers)[number] = { delayMs, run };
      timers.push(timer);
      return () => {
        timer.run = null;
      };
    },
  });
  const collect = (size: number, publishedSize = 0) =>
    collector({
      note: log.note(size),
      size,
      publishedSize,
      proofFrom: async (from) => log.proof(from, size),
    });
  /** Lets everything answer that does, and then the time pass. */
  const pass = async (delayMs = collectMs): Promise<void> => {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    for (const timer of timers) if (timer.delayMs <= delayMs) timer.run?.();
  };
  return { collect, pass, timers };
}

function judged(collected: object, quorum: number) {
  if (!("note" in collected)) throw new Error(JSON.stringify(collected));
  const parsed = parseNote(String(collected.note));
  if (!parsed.ok) throw new Error(parsed.detail);
  return judgeCosignatures({ verify, sha256 }, parsed.value, { witnesses: keys, quorum });
}

describe("the collector", () => {
  it("adds nothing where no witness is asked for, and waits for nothing", async () => {
    expect(await collectorOf([], 0).collect(9)).toEqual({ note: log.note(9) });
  });

  it("puts the cosignatures behind the log's signature, in the order of the policy", async () => {
    const collected = await collectorOf(
      keys.map((key) => follows(key)),
      3,
    ).collect(9);
    expect(judged(collected, 3)).toMatchObject({
      ok: true,
      value: keys.map(({ name }) => ({ name, seconds: nowSeconds })),
    });
    const names = [...String((collected as { note: string }).note).matchAll(/^— (\S+)/gm)].map(
      ([, name]) => name,
    );
    expect(names).toEqual(["svc-log", ...keys.map(({ name }) => name)]);
  });

  it("C3: asks once what it knows, and again from where a witness says that it is", async () => {
    const [first, second] = [follows(keys[0]), follows(keys[1], 5)];
    const { collect } = collectorOf([first, second], 2);
    await collect(9);
    expect(first.asked.map(({ oldSize }) => oldSize)).toEqual([0]);
    expect(second.asked.map(({ oldSize, proof }) => [oldSize, proof.length])).toEqual([
      [0, 0],
      [5, log.proof(5, 9).length],
    ]);
    await collect(9, 9);
    await collect(20, 9);
    expect(first.asked.slice(1).map(({ oldSize, proof }) => [oldSize, proof])).toEqual([
      [9, []],
      [9, log.proof(9, 20)],
    ]);
  });

  it("C3: remembers how far a witness is, also where nothing was published meanwhile", async () => {
    const one = follows(keys[0]);
    const { collect } = collectorOf([one], 1);
    for (const size of [9, 20, 30]) await collect(size);
    expect(one.asked.map(({ oldSize }) => oldSize)).toEqual([0, 9, 20]);
  });

  it("begins after a restart with the checkpoint that is in force", async () => {
    const one = follows(keys[0], 9);
    await collectorOf([one], 1).collect(20, 9);
    expect(one.asked.map(({ oldSize }) => oldSize)).toEqual([9]);
  });

  it("C2: is not held by a witness that is silent or dead once there are enough", async () => {
    for (const bad of [silent(keys[2]), dead(keys[2])]) {
      const { collect, pass } = collectorOf([follows(keys[0]), bad, follows(keys[1])], 2);
      const collecting = collect(9);
      await pass(500);
      expect(judged(await collecting, 2).ok).toBe(true);
    }
  });

  it("C2: says who is missing and why, when the time is over", async () => {
    const quiet = silent(keys[0]);
    const { collect, pass, timers } = collectorOf([quiet, dead(keys[1]), follows(keys[2])], 2);
    const collecting = collect(9);
    await pass();
    expect(await collecting).toEqual({
      missing:
        "1 of 2 cosignatures: witness.test/w1 did not answer in time; witness.test/w2 cannot be reached: ECONNREFUSED",
    });
    expect(quiet.cancelled.size).toBe(1);
    expect(timers.every(({ run }) => run === null)).toBe(true);
  });

  it("C4: ends when the node stops, and asks nobody afterwards", async () => {
    const stop = new AbortController();
    const quiet = silent(keys[0]);
    const { collect, timers } = collectorOf([quiet], 1, stop);
    const collecting = collect(9);
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    stop.abort();
    expect(await collecting).toEqual({ missing: expect.stringContaining("did not answer in time") });
    expect(quiet.cancelled.size).toBe(1);
    expect(timers.every(({ run }) => run === null)).toBe(true);
    expect(await collect(9)).toHaveProperty("missing");
    expect(quiet.asked).toHaveLength(1);
  });

  it("does not wait for the time to be over when all have answered", async () => {
    expect(await collectorOf([dead(keys[0]), dead(keys[1])], 1).collect(9)).toHaveProperty("missing");
  });

  it.each<[string, Made, string]>([
    ["of another text", says(keys[0], lineOf(keys[0], log.text(8))), "no valid cosignature"],
    [
      "by another key under its name",
      says(keys[0], lineOf({ ...keys[1], name: keys[0].name }, log.text(9))),
      "no valid cosignature",
    ],
    ["under another name", says(keys[0], lineOf(keys[1], log.text(9))), "no valid cosignature"],
    ["that is ahead of time", says(keys[0], lineOf(keys[0], log.text(9), nowSeconds + 301)), "ahead"],
    [
      "twice, once wrong",
      says(keys[0], lineOf(keys[0], log.text(9)) + lineOf(keys[0], log.text(8))),
      "no valid cosignature",
    ],
    ["that is none", says(keys[0], "hello\n"), "no valid cosignature"],
    ["with another note", says(keys[0], `\n${log.note(9)}`), "no valid cosignature"],
    ["that is empty", says(keys[0], ""), "no valid cosignature"],
  ])("C1: counts no cosignature %s", async (_what, liar, reason) => {
    const { collect } = collectorOf([liar], 1);
    expect(await collect(9)).toEqual({ missing: expect.stringContaining(reason) });
  });

  it("C1: ignores further lines of an answer, as those of unknown keys", async () => {
    const older = noteKey(keys[0].name, "cosignature", 9);
    const lines = [keys[1], older, keys[0]].map((key) => lineOf(key, log.text(9))).join("");
    const collected = await collectorOf([says(keys[0], lines)], 1).collect(9);
    expect((collected as { note: string }).note).toBe(log.note(9) + lineOf(keys[0], log.text(9)));
  });

  it.each<[string, Made, string, number, "dispute"?]>([
    [
      "another size each time",
      witness(keys[0], (_asked, at) => ({ kind: "at", size: at })),
      "another size each time",
      3,
    ],
    [
      "a larger tree",
      witness(keys[0], () => ({ kind: "at", size: 30 })),
      "cosigned a tree of 30 leaves",
      1,
      "dispute",
    ],
    [
      "a tree of its own",
      witness(keys[0], ({ oldSize }) => ({ kind: "at", size: oldSize })),
      "which it says is its own",
      1,
    ],
    [
      "no size in a conflict",
      witness(keys[0], () => ({ kind: "refused", status: 409 })),
      "answered 409 without a size",
      1,
    ],
    [
      "another tree",
      witness(keys[0], () => ({ kind: "refused", status: 422 })),
      "answered 422: it knows another tree",
      1,
      "dispute",
    ],
    ["that it cannot", witness(keys[0], () => ({ kind: "refused", status: 503 })), "answered 503", 1],
  ])("C3: leaves a witness alone that says %s", async (_what, bad, reason, requests, dispute) => {
    const { collect } = collectorOf([bad], 1);
    const missing = expect.stringContaining(reason);
    expect(await collect(9)).toEqual(dispute ? { missing, disputed: missing } : { missing });
    expect(bad.asked).toHaveLength(requests);
  });

  it("gives each witness a chance at the next checkpoint, whatever it said before", async () => {
    let isBad = true;
    const moody = witness(keys[0], ({ note }) => {
      if (isBad) return { kind: "refused", status: 503 };
      const parsed = parseNote(note);
      return { kind: "cosigned", lines: lineOf(keys[0], parsed.ok ? parsed.value.text : "") };
    });
    const { collect } = collectorOf([moody], 1);
    expect(await collect(9)).toHaveProperty("missing");
    isBad = false;
    expect(await collect(9)).toHaveProperty("note");
  });

  it("takes a proof that cannot be read for that witness's fault alone", async () => {
    const collector = createCollector({
      policy: { witnesses: [follows(keys[0], 5), follows(keys[1])], quorum: 1 },
      crypto: { verify, sha256 },
      now: () => nowSeconds * 1_000,
      schedule: () => () => {},
    });
    const broken = { proofFrom: () => Promise.reject(new Error("no tile")) };
    const collected = await collector({ note: log.note(9), size: 9, publishedSize: 0, ...broken });
    expect(judged(collected, 1)).toMatchObject({ ok: true, value: [{ name: keys[1].name }] });
  });
});
