// The sequencer with a real store: its decisions are driven by hand, and its activities run over files and SQLite.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { formatHash, parseHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { entryBytes, entryHash, type LogEntry, parseBundle, parseEntry } from "../../protocol/log/leaves.ts";
import { parseCheckpoint } from "../../protocol/log/note.ts";
import { consistencyProof, entriesPath, inclusionProof } from "../../protocol/log/tiles.ts";
import { leafHash, rootFromPath, verifyConsistency } from "../../protocol/merkle.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import type { LogStore } from "../../storage/log-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { appendedMax, batchMax } from "../messages/log-sequencer.ts";
import { logRef } from "../messages/refs.ts";
import type { ActivityContext, Effect } from "../system/definition.ts";
import { logSequencerActivities, readTilesOf } from "./activities.ts";
import { logSequencerActor } from "./definition.ts";

const origin = "svc.test/log";
const intervals = { leafMs: 3_600_000, receiptsMs: 1_000 };
const definition = logSequencerActor({ origin, intervals });

function entry(at: number, change: Partial<LogEntry> = {}): LogEntry {
  return { leaf: formatHash(sha256(utf8(`seal ${at}`))), leaf_type: "seal", subject: "b", ...change };
}

const entries = (from: number, to: number): readonly LogEntry[] =>
  Array.from({ length: to - from }, (_, at) => entry(from + at));

let store: LogStore;
let actor: ActorHarness<"log-sequencer">;
let notes: string[];
let isCosigned: boolean;

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), "svc-sequencer-"));
  const database = SqliteDatabase.open(join(home, "store.db"));
  onTestFinished(() => {
    database.close();
    rmSync(home, { recursive: true });
  });
  store = openSqliteLogStore({ database, folder: join(home, "log") });
  actor = driveActor(definition, "svc-log");
  notes = [];
  isCosigned = true;
});

function activitiesOver(log: LogStore) {
  return logSequencerActivities({
    log,
    origin,
    sha256,
    sign: async (text) => {
      notes.push(text);
      return `${text}\n— svc-log AAAAAAA=\n`;
    },
    keyFault: () => null,
    policy: "p",
    report: () => {},
    cosign: async ({ note }) => (isCosigned ? { note: `${note}— w AAAAAAA=\n` } : { missing: "w is away" }),
  });
}

/** Does the work that the actor asked for, until it asks for none. */
async function work(log: LogStore = store): Promise<void> {
  for (let effect = actor.effects.shift(); effect !== undefined; effect = actor.effects.shift())
    await perform(effect, log);
}

async function perform(effect: Effect, log: LogStore): Promise<void> {
  if (effect.kind !== "activity") throw new Error("The sequencer tells nobody anything.");
  const context: ActivityContext = {
    actor: logRef(),
    workId: "w",
    nowMs: () => actor.nowMs,
    signal: { aborted: false },
    ask: async (_to, command) => rubbish(actor.send(rubbish(command))),
  };
  const result = await activitiesOver(log)[effect.name]?.(effect.params, context);
  actor.send(rubbish(result));
}

function isAtRest(): boolean {
  return actor.snapshot.matches({ sequencing: "idle", publication: "current" });
}

function pages(added: readonly LogEntry[]): readonly (readonly LogEntry[])[] {
  const count = Math.ceil(added.length / appendedMax);
  return Array.from({ length: count }, (_, at) => added.slice(at * appendedMax, (at + 1) * appendedMax));
}

/** Appends, lets the interval pass and does the work. */
async function sequence(added: readonly LogEntry[]): Promise<void> {
  for (const page of pages(added)) actor.send({ type: "log.append", entries: page });
  while (!isAtRest()) {
    actor.fireTimers();
    await work();
  }
}

async function logged(): Promise<readonly LogEntry[]> {
  const size = (await store.readCheckpoint())?.size ?? 0;
  const found: LogEntry[] = [];
  for (let index = 0; index * 256 < size; index += 1) {
    const width = Math.min(256, size - index * 256);
    const [bytes] = await store.read([entriesPath({ index, width })]);
    const bundle = parseBundle(bytes ?? new Uint8Array(), width) ?? [];
    found.push(...bundle.map((each) => parseEntry(each) as LogEntry));
  }
  return found;
}

describe("the log's sequencer", () => {
  it("puts every leaf in the log once, in the order in which they came", async () => {
    await sequence(entries(0, 3));
    await sequence(entries(1, 5));
    const seals = (await logged()).filter(({ leaf_type }) => leaf_type === "seal");
    expect(seals).toEqual(entries(0, 5));
    expect(actor.snapshot.context.pending).toBe(0);
    expect(actor.rows(16)).toEqual([]);
  });

  it("Q2: takes the first of a leaf that waits more than once, in one append, in several, and behind a full batch", async () => {
    const many = entries(0, batchMax);
    for (const added of [[entry(0), entry(1), entry(0)], [entry(1), entry(2)], ...pages(many), [entry(3)]])
      actor.send({ type: "log.append", entries: added });
    expect(actor.snapshot.context.pending).toBe(batchMax + 6);
    await sequence([]);
    expect((await logged()).filter(({ leaf_type }) => leaf_type === "seal")).toEqual(many);
    expect(actor.snapshot.context).toMatchObject({ pending: 0, oldestMs: null });
    expect(actor.rows(16)).toEqual([]);
  });

  it("publishes a checkpoint that every proof leads to, and every two of which are consistent", async () => {
    const heads: { readonly size: number; readonly root: Uint8Array }[] = [];
    for (const upTo of [1, 2, 300, 301, 900]) {
      await sequence(entries(heads.at(-1)?.size ?? 0, upTo));
      const parsed = parseCheckpoint(notes.at(-1) ?? "");
      if (!parsed.ok) throw new Error(parsed.detail);
      expect(parsed.value.origin).toBe(origin);
      heads.push(parsed.value);
    }
    const read = readTilesOf(store);
    const all = await logged();
    for (const { size, root } of heads) {
      const tree = { size, read, sha256 };
      for (const index of [0, size >> 1, size - 1]) {
        const hash = entryHash(all[index] as LogEntry, sha256);
        const path = await inclusionProof(tree, index);
        expect(rootFromPath({ leafHash: hash, index, treeSize: size, path }, sha256)).toEqual(root);
      }
    }
    for (const first of heads)
      for (const second of heads.filter(({ size }) => size >= first.size)) {
        const path = await consistencyProof({ size: second.size, read, sha256 }, first.size);
        const claim = { firstSize: first.size, secondSize: second.size, path };
        expect(verifyConsistency({ ...claim, firstRoot: first.root, secondRoot: second.root })).toBe(true);
      }
  });

  it("waits for the interval of the leaves, or the shorter one of a receipt batch", async () => {
    const timers = () => [...actor.timers.values()];
    actor.send({ type: "log.append", entries: [entry(0)] });
    expect(timers()).toEqual([3_600_000]);
    actor.nowMs += 10_000;
    actor.send({ type: "log.append", entries: [entry(1)] });
    expect(timers()).toEqual([3_600_000]);
    actor.send({ type: "log.append", entries: [entry(2, { leaf_type: "receipt_batch", subject: "r/n" })] });
    expect(timers()).toEqual([1_000]);
    actor.nowMs += 900;
    actor.send({ type: "log.append", entries: [entry(3, { leaf_type: "receipt_batch", subject: "r/o" })] });
    expect(timers()).toEqual([1_000]);
    expect(actor.snapshot.matches({ sequencing: "waiting" })).toBe(true);
  });

  it("makes a published checkpoint a leaf with what is appended next, and never by itself", async () => {
    await sequence([entry(0)]);
    expect(await logged()).toHaveLength(1);
    expect(isAtRest()).toBe(true);
    await sequence([entry(1)]);
    const [, checkpoint, next] = await logged();
    expect(checkpoint).toEqual({
      leaf: formatHash(sha256(utf8(notes[0] as string))),
      leaf_type: "checkpoint",
      subject: origin,
    });
    expect(next).toEqual(entry(1));
  });

  it("writes the same after a crash at any point of a batch", async () => {
    await sequence(entries(0, 3));
    actor.send({ type: "log.append", entries: entries(3, 6) });
    actor.fireTimers();
    // Each piece of work is done twice, the first time without its result reaching the actor.
    for (let effect = actor.effects.shift(); effect !== undefined; effect = actor.effects.shift()) {
      const kept = actor.effects.length;
      const result = await activitiesOver(store)[(effect as { name: string }).name]?.(
        (effect as { params: unknown }).params,
        {
          actor: logRef(),
          workId: "w",
          nowMs: () => 0,
          signal: { aborted: false },
          ask: async (_to, command) => rubbish(actor.send(rubbish(command))),
        },
      );
      expect(result).not.toBeNull();
      expect(actor.effects).toHaveLength(kept);
      await perform(effect, store);
      // What arrives once more changes nothing.
      const before = JSON.stringify(actor.snapshot.context);
      actor.send(rubbish(result));
      expect(JSON.stringify(actor.snapshot.context)).toBe(before);
    }
    expect((await logged()).filter(({ leaf_type }) => leaf_type === "seal")).toEqual(entries(0, 6));
  });

  it("goes on behind a batch that is full, without another interval", async () => {
    for (const page of pages(entries(0, batchMax + 94))) actor.send({ type: "log.append", entries: page });
    actor.fireTimers();
    await work();
    expect(actor.snapshot.context.head.size).toBe(batchMax);
    expect([...actor.timers.values()]).toEqual([0]);
    actor.fireTimers();
    await work();
    expect(actor.snapshot.context.head.size).toBe(batchMax + 94);
    expect(isAtRest()).toBe(true);
  });

  it("reads what waits from behind all that was sequenced, which a store may still pass over (TR1)", async () => {
    for (const page of pages(entries(0, 3 * batchMax))) actor.send({ type: "log.append", entries: page });
    for (let batch = 1; batch <= 3; batch += 1) {
      actor.fireTimers();
      await work();
      expect(actor.snapshot.context).toMatchObject({ head: { size: batch * batchMax } });
    }
    // Those that the log has already are gone as well.
    actor.send({ type: "log.append", entries: entries(0, appendedMax) });
    actor.fireTimers();
    await work();
    expect(actor.snapshot.context.goneUpTo).toBe(actor.snapshot.context.nextPlace - 1);
  });

  it("takes what is appended while it writes into the next batch", async () => {
    actor.send({ type: "log.append", entries: [entry(0)] });
    actor.fireTimers();
    const choose = actor.effects.shift() as Effect;
    await perform(choose, store);
    actor.send({ type: "log.append", entries: [entry(0), entry(1)] });
    await work();
    expect(actor.snapshot.context).toMatchObject({ head: { size: 1 }, pending: 2 });
    expect([...actor.timers.values()]).toEqual([3_600_000]);
    actor.fireTimers();
    await work();
    expect((await logged()).filter(({ leaf_type }) => leaf_type === "seal")).toEqual(entries(0, 2));
  });

  it("has an entry's bytes as the leaf", async () => {
    await sequence([entry(0)]);
    const [tile] = await store.read(["tile/0/000.p/1"]);
    expect([...(tile ?? [])]).toEqual([...leafHash(entryBytes(entry(0)), sha256)]);
    expect(parseHash(actor.snapshot.context.head.root)).toEqual(leafHash(entryBytes(entry(0)), sha256));
  });
});

describe("the publication of a head", () => {
  /** Appends one entry and sequences it, without publishing anything. */
  async function grow(at: number): Promise<Effect> {
    actor.send({ type: "log.append", entries: [entry(at)] });
    actor.fireTimers();
    for (;;) {
      const effect = actor.effects.shift() as Effect;
      if ((effect as { name: string }).name === "publishHead") return effect;
      await perform(effect, store);
    }
  }

  it("has the cosignatures in the note that is read", async () => {
    await sequence([entry(0)]);
    expect((await store.readCheckpoint())?.note).toMatch(/\n— svc-log \S+\n— w \S+\n$/);
  });

  it("LS4: waits for witnesses while the log grows, and then is that of the newest head", async () => {
    isCosigned = false;
    await perform(await grow(0), store);
    expect(await store.readCheckpoint()).toBeNull();
    expect(actor.snapshot.context).toMatchObject({
      head: { size: 1 },
      published: null,
      unwitnessed: { attempts: 1, sinceMs: actor.nowMs, detail: "w is away" },
    });
    for (let at = 1; at < 4; at += 1) {
      actor.send({ type: "log.append", entries: [entry(at)] });
      actor.fireTimers();
      await work();
    }
    expect(actor.snapshot.context).toMatchObject({ head: { size: 4 }, published: null, pending: 0 });
    expect(await store.readCheckpoint()).toBeNull();
    isCosigned = true;
    notes.length = 0;
    actor.fireTimers();
    await work();
    // No older head is published before it.
    expect(notes).toHaveLength(1);
    expect(isAtRest()).toBe(true);
    expect(actor.snapshot.context).toMatchObject({
      published: { size: 4 },
      publishing: null,
      unwitnessed: null,
    });
    expect(await store.readCheckpoint()).toMatchObject({ size: 4 });
  });

  it("asks witnesses again after longer and longer times, up to a minute, and by itself", async () => {
    isCosigned = false;
    await perform(await grow(0), store);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      waits.push(...actor.timers.values());
      actor.fireTimers();
      await work();
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it("LS4: that takes long stops nothing, and is followed by that of what came meanwhile", async () => {
    const publishing = await grow(0);
    actor.send({ type: "log.append", entries: entries(1, 3) });
    actor.fireTimers();
    await work();
    expect(actor.snapshot.context).toMatchObject({ head: { size: 3 }, publishing: { size: 1 } });
    actor.send({ type: "log.append", entries: [entry(3)] });
    await perform(publishing, store);
    expect(await store.readCheckpoint()).toMatchObject({ size: 1 });
    // The leaves that wait still are sequenced when they are due.
    expect([...actor.timers.values()]).toEqual([3_600_000]);
    await work();
    expect(await store.readCheckpoint()).toMatchObject({ size: 3 });
  });

  it("is told apart from one that was given up", async () => {
    isCosigned = false;
    const first = await grow(0);
    await perform(first, store);
    actor.send({ type: "log.unwitnessed", head: { size: 1, root: "r" }, detail: "once more" });
    actor.send({ type: "log.published", head: { size: 7, root: "r" }, leaf: "l", policy: "p" });
    expect(actor.snapshot.context).toMatchObject({ published: null, unwitnessed: { attempts: 1 } });
  });
});
