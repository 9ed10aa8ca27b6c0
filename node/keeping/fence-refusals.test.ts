import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import type { ActorCommit, ActorStore } from "../../storage/actor-store.ts";
import { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import { MemoryFenceLedger } from "../../storage/memory/fence-ledger.ts";
import { FenceWitness } from "./fence-refusals.ts";

const ref = { kind: "business", id: "b" };
let time: ManualTime;
let ledger: MemoryFenceLedger;
let lines: string[];
let witness: FenceWitness;
let store: MemoryActorStore;
const open: FenceWitness[] = [];

beforeEach(() => {
  time = new ManualTime();
  ledger = new MemoryFenceLedger();
  lines = [];
  store = new MemoryActorStore();
  witness = newWitness();
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop();
});

function newWitness(region = "east"): FenceWitness {
  const made = new FenceWitness({
    ledger,
    region,
    clock: { now: () => time.now() },
    timers: time,
    monotonic: { nowMs: () => time.now() },
    log: ({ event }) => void lines.push(event),
  });
  open.push(made);
  return made;
}

function commitOf(epoch: number, changes: Partial<ActorCommit> = {}): ActorCommit {
  const expected = { expectedHead: 0, expectedOp: "", op: crypto.randomUUID() };
  return { ref, epoch, ...expected, puts: [], deletes: [], wakeAtMs: null, ...changes };
}

/** One commit of an activation that another has superseded. */
async function refusedOnce(watched: ActorStore): Promise<void> {
  const stale = await watched.claim(ref, "zombie");
  await store.claim(ref, "successor");
  expect(await watched.commit(commitOf(stale.head.epoch))).toMatchObject({ status: "refused" });
  await time.settle();
}

describe("what the fence held back", () => {
  it("R4: is remembered one by one for the actor, the newest first, and of the newest 512 alone", async () => {
    const watched = witness.watch(store, "n1");
    await refusedOnce(watched);
    await refusedOnce(watched);
    expect(witness.refusedCommits(ref)).toMatchObject([
      { epoch: 3, supersededBy: 4, incarnation: "n1" },
      { epoch: 1, supersededBy: 2, incarnation: "n1" },
    ]);
    expect(witness.refusedCommits({ kind: "business", id: "c" })).toEqual([]);
    for (let more = 0; more < 512; more += 1) await watched.commit(commitOf(3));
    await time.settle();
    const kept = witness.refusedCommits(ref);
    expect(kept).toHaveLength(512);
    expect(kept.every(({ supersededBy }) => supersededBy === 4)).toBe(true);
  });

  it("R4: is of the actor whose commit was refused, not of one with which it was sent", async () => {
    const watched = witness.watch(store, "n1");
    const first = { kind: "business", id: "c" };
    const { head } = await watched.claim(first, "n1");
    const stale = await watched.claim(ref, "zombie");
    await store.claim(ref, "successor");
    const joins = commitOf(stale.head.epoch);
    await watched.commit(commitOf(head.epoch, { ref: first, with: [joins] }));
    await time.settle();
    expect(witness.refusedCommits(first)).toEqual([]);
    expect(witness.refusedCommits(ref)).toMatchObject([{ epoch: 1, supersededBy: 2 }]);
  });

  it("R1, R2: is in the store at once, by the incarnation that was refused, and other nodes show it", async () => {
    const other = newWitness();
    const [first, second] = [witness.watch(store, "n1"), witness.watch(store, "n2")];
    await refusedOnce(first);
    await refusedOnce(second);
    await refusedOnce(first);
    expect(witness.total()).toBe(3);
    expect(await ledger.read()).toEqual([
      { region: "east", incarnation: "n1", refusals: 2, last_at_ms: time.now() },
      { region: "east", incarnation: "n2", refusals: 1, last_at_ms: time.now() },
    ]);
    await time.advance(10_000);
    expect(other.refusals()).toEqual(await ledger.read());
    expect(other.total()).toBe(3);
  });

  it("outlives the node", async () => {
    await refusedOnce(witness.watch(store, "n1"));
    await witness.stop();
    const next = newWitness();
    await time.settle();
    expect(next.total()).toBe(1);
  });

  it("is neither a commit that was applied nor one that its own activation had overtaken", async () => {
    const watched = witness.watch(store, "n1");
    const { head } = await watched.claim(ref, "n1");
    expect(await watched.commit(commitOf(head.epoch))).toMatchObject({ status: "applied" });
    expect(await watched.commit(commitOf(head.epoch))).toMatchObject({ status: "refused" });
    store.failNext("commit", "before");
    await expect(watched.commit(commitOf(head.epoch))).rejects.toThrow();
    await time.settle();
    expect(witness.total()).toBe(0);
    expect(await ledger.read()).toEqual([]);
  });

  it("R2, R3: is shown while it cannot be written, and written as soon as it can", async () => {
    await time.settle();
    ledger.failure = new Error("away");
    await refusedOnce(witness.watch(store, "n1"));
    await time.advance(65_000);
    expect(witness.total()).toBe(1);
    expect(lines).toEqual(["fence.ledger_failed", "fence.ledger_failed"]);
    ledger.failure = null;
    expect(await ledger.read()).toEqual([]);
    await time.advance(1_000);
    expect(await ledger.read()).toMatchObject([{ incarnation: "n1", refusals: 1 }]);
    expect(lines.at(-1)).toBe("fence.ledger_succeeded");
  });

  it("R2: is written when the node stops", async () => {
    await time.settle();
    ledger.failure = new Error("away");
    await refusedOnce(witness.watch(store, "n1"));
    ledger.failure = null;
    await witness.stop();
    expect(await ledger.read()).toMatchObject([{ incarnation: "n1", refusals: 1 }]);
    await time.advance(60_000);
    expect(lines).toEqual(["fence.ledger_failed"]);
  });

  it("leaves the promise of a commit as the store gave it: what shares a commit is known by it", () => {
    const promise = Promise.resolve({ status: "applied" } as const);
    const given = { commit: () => promise } as unknown as ActorStore;
    expect(witness.watch(given, "n1").commit(commitOf(1))).toBe(promise);
  });
});
