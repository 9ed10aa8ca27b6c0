// S7 on a real engine, with a clock that the test moves: hints lead to every actor that is due, and disappear.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { following, freshRef, after as headAfter } from "../actor-store.fixture.ts";
import type { ActorCommit, ActorRef } from "../actor-store.ts";
import { type ActorNode, ActorWorld } from "./actor-world.fixture.ts";
import { hasCassandra, mostPassedOver, testRegions } from "./keyspace.fixture.ts";
import { needsHint, slotMs, WakeHints, wasSlow } from "./wake-hints.ts";

const minuteMs = 60_000;

describe("H1: a commit writes a hint", () => {
  it.each([
    ["never, when nobody has to be woken", null, 5, false],
    ["when there is none", 90_000, null, true],
    ["when it is to be earlier than the one there is", 50_000, 60_000, true],
    ["when the one there is may be removed before the commit is applied", 90_000, 14_000, true],
    ["not, when an earlier one leads there in time", 90_000, 60_000, false],
    ["not, when one of its own time is there", 60_000, 60_000, false],
  ] as const)("%s", (_, wakeAtMs, hintAtMs, expected) => {
    expect(needsHint(wakeAtMs, hintAtMs, 0)).toBe(expected);
  });

  it("again, when it took so long that the hint may have been removed", () => {
    expect([wasSlow(0, 10_000), wasSlow(0, 10_001)]).toEqual([false, true]);
  });
});

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let world: ActorWorld;
  let node: ActorNode;
  let ref: ActorRef;
  let last: ActorCommit;
  beforeAll(async () => {
    world = await ActorWorld.open();
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());
  let region: string;
  /** Another node of the test's own region, whose hints and floor nobody else uses. */
  const sibling = () => world.node({ region });
  beforeEach(async () => {
    region = `region-${randomUUID()}`;
    node = await sibling();
    ref = freshRef();
    const { head } = await node.store.claim(ref, "a");
    last = following(ref, head);
    await node.store.commit(last);
  });

  const commitWake = async (wakeAtMs: number | null) => {
    last = following(ref, headAfter(last), { wakeAtMs });
    expect((await node.store.commit(last)).status).toBe("applied");
  };
  /** Wake-up times that a node finds for the actor. */
  const dueAt = async (nowMs: number, who = node) =>
    (await who.store.dueActors(nowMs, 10_000))
      .filter((each) => each.ref.kind === ref.kind)
      .map((each) => each.wakeAtMs);
  const hints = async () => {
    const cql = "SELECT kind, wake_at FROM actor_wake";
    const { rows } = await (await world.session()).execute(cql, [], { idempotent: true });
    return rows.filter((row) => row["kind"] === ref.kind).map((row) => Number(row["wake_at"]));
  };

  it("H1: an actor whose time moves on leaves one hint, and is found when its last time has come", async () => {
    const firstMs = world.nowMs + 30_000;
    for (let step = 0; step < 5; step += 1) await commitWake(firstMs + step * 1_000);
    expect(await hints()).toEqual([firstMs]);
    expect(await dueAt(firstMs)).toEqual([]);
    world.nowMs = firstMs + 5_000;
    expect(await dueAt(world.nowMs, await sibling())).toEqual([firstMs + 4_000]);
  });

  it("H3, H4: a hint too many is removed once it is over and old, not before", async () => {
    const wakeAtMs = world.nowMs + 30_000;
    await commitWake(wakeAtMs);
    await commitWake(null);
    const other = await sibling();
    for (const laterMs of [0, 31_000, 55_000]) {
      expect(await dueAt(wakeAtMs - 30_000 + laterMs, other)).toEqual([]);
      expect(await hints()).toEqual([wakeAtMs]);
    }
    world.nowMs += 3 * minuteMs;
    expect(await dueAt(world.nowMs, other)).toEqual([]);
    expect(await hints()).toEqual([]);
  });

  it("H3: a hint that is not over yet stays, for a commit may rely on it", async () => {
    const wakeAtMs = world.nowMs + 5 * minuteMs;
    await commitWake(wakeAtMs);
    await commitWake(null);
    world.nowMs = wakeAtMs - 20_000;
    const other = await sibling();
    expect(await dueAt(wakeAtMs, other)).toEqual([]);
    await commitWake(wakeAtMs + 1_000);
    world.nowMs = wakeAtMs + 2_000;
    expect(await dueAt(world.nowMs, await sibling())).toEqual([wakeAtMs + 1_000]);
  });

  it("H3: a hint that is removed leaves one for the time that the actor names now", async () => {
    const firstMs = world.nowMs + 20_000;
    const laterMs = world.nowMs + 5 * minuteMs;
    await commitWake(firstMs);
    await commitWake(laterMs);
    expect(await hints()).toEqual([firstMs]);
    world.nowMs += 3 * minuteMs;
    const other = await sibling();
    expect(await dueAt(world.nowMs, other)).toEqual([]);
    expect(await hints()).toEqual([laterMs]);
    world.nowMs = laterMs + 1;
    expect(await dueAt(world.nowMs, other)).toEqual([laterMs]);
    expect(await dueAt(world.nowMs, await sibling())).toEqual([laterMs]);
  });

  it("H3: an actor that stays due is found again and again, however old its hint", async () => {
    const wakeAtMs = world.nowMs + 20_000;
    await commitWake(wakeAtMs);
    const other = await sibling();
    for (let round = 0; round < 4; round += 1) {
      world.nowMs += 5 * minuteMs;
      expect(await dueAt(world.nowMs, other)).toEqual([wakeAtMs]);
    }
  });

  it("H3: a hint is not removed while a commit that it serves may be on its way", async () => {
    const wakeAtMs = world.nowMs - 5_000;
    node.session.failNext("UPDATE actor SET head", "late");
    const commit = following(ref, headAfter(last), { wakeAtMs });
    await expect(node.store.commit(commit)).rejects.toMatchObject({ effect: "unknown" });
    const other = await sibling();
    expect(await dueAt(world.nowMs, other)).toEqual([]);
    world.nowMs += 11_000;
    expect(await dueAt(world.nowMs, other)).toEqual([]);
    expect((await node.session.releaseLate()).applied).toBe(true);
    world.nowMs += 11_000;
    expect(await dueAt(world.nowMs, other)).toEqual([wakeAtMs]);
  });

  it("H3: of an actor that stays due, one hint goes on, however many there were", async () => {
    const write = async (wakeAtMs: number) => {
      const hints = new WakeHints(node.session, { now: () => world.nowMs, consistency: "LOCAL_QUORUM" });
      await hints.write(region, ref, wakeAtMs);
    };
    const wakeAtMs = world.nowMs;
    await commitWake(wakeAtMs);
    for (let slot = 0; slot < 5; slot += 1) {
      world.nowMs += slotMs;
      await write(wakeAtMs);
    }
    const others = [await sibling(), await sibling()];
    for (let look = 0; look < 40; look += 1) {
      world.nowMs += 5_000;
      for (const other of others) expect(await dueAt(world.nowMs, other)).toEqual([wakeAtMs]);
    }
    expect(await hints()).toEqual([wakeAtMs]);
    await commitWake(null);
    world.nowMs += 3 * minuteMs;
    for (const other of others) expect(await dueAt(world.nowMs, other)).toEqual([]);
    expect(await hints()).toEqual([]);
  });

  it("H5: no read passes over deleted rows, however many hints there were in a slot", async () => {
    const many = new WakeHints(node.session, { now: () => world.nowMs, consistency: "LOCAL_QUORUM" });
    const wakeAtMs = world.nowMs + slotMs;
    const refs = Array.from({ length: 3_000 }, () => ({ kind: ref.kind, id: randomUUID() }));
    for (let from = 0; from < refs.length; from += 100)
      await Promise.all(refs.slice(from, from + 100).map((each) => many.write(region, each, wakeAtMs)));
    expect(await hints()).toHaveLength(3_000);
    const others = [await sibling(), await sibling()];
    for (let look = 0; look < 8; look += 1) {
      world.nowMs += 2 * slotMs;
      for (const other of others) expect(await dueAt(world.nowMs, other)).toEqual([]);
    }
    expect(await hints()).toEqual([]);
    const session = await world.session();
    expect(await mostPassedOver(session, "actor_wake")).toBeLessThanOrEqual(10);
  });

  it("H2: the floor follows the clock over empty slots, and no hint is ever behind it", async () => {
    const other = await sibling();
    world.nowMs += 60 * minuteMs;
    await dueAt(world.nowMs, other);
    const session = await world.session();
    const cql = "SELECT slot FROM actor_wake_floor WHERE region = ?";
    const floor = await session.execute(cql, [region], { idempotent: true });
    expect(floor.rows[0]?.["slot"]).toBeGreaterThan(world.nowMs / slotMs - 12);
    // A time long past, set now: its hint goes into a slot that every node still reads.
    await commitWake(1_000);
    expect(await dueAt(world.nowMs, other)).toEqual([1_000]);
    expect(await dueAt(world.nowMs, await sibling())).toEqual([1_000]);
    expect(await dueAt(1_000, await sibling())).toEqual([1_000]);
  });

  it("H2: a slot stays open while it holds a hint, whatever instant was asked about", async () => {
    const wakeAtMs = world.nowMs - 5_000;
    await commitWake(wakeAtMs);
    world.nowMs += 30 * minuteMs;
    const other = await sibling();
    expect(await dueAt(1_000, other)).toEqual([]);
    expect(await dueAt(world.nowMs, other)).toEqual([wakeAtMs]);
    expect(await dueAt(world.nowMs, await sibling())).toEqual([wakeAtMs]);
  });

  it("H2: a node that stood still while it wrote its hint writes it again", async () => {
    const { session } = node;
    const execute = session.execute.bind(session);
    let pauses = 1;
    session.execute = async (cql, params, options) => {
      if (cql.includes("INTO actor_wake (") && pauses > 0) {
        pauses -= 1;
        world.nowMs += 30 * minuteMs;
        // Meanwhile the others close the slot that it had chosen.
        await dueAt(world.nowMs, await sibling());
      }
      return execute(cql, params, options);
    };
    const hints = new WakeHints(session, { now: () => world.nowMs, consistency: "LOCAL_QUORUM" });
    await hints.write(region, ref, 7);
    const cql = "SELECT wake_at FROM actor_wake WHERE region = ? AND slot = ?";
    const slot = Math.floor(world.nowMs / slotMs);
    const { rows } = await execute(cql, [region, slot], { idempotent: true });
    expect(rows).toEqual([{ wake_at: 7 }]);
  });

  it("a node that stood still between hint and commit leaves a hint behind", async () => {
    const { session } = node;
    const batch = session.batch.bind(session);
    const other = await sibling();
    session.batch = async (statements, options) => {
      world.nowMs += 3 * minuteMs;
      await dueAt(world.nowMs, other);
      expect(await hints()).toEqual([]);
      return batch(statements, options);
    };
    await commitWake(9);
    expect(await hints()).toEqual([9]);
    session.batch = batch;
  });

  it("S7: the actors of a dead region are found by the one that takes over", async () => {
    const lost = await world.node({ region: "lost" });
    const theirs = freshRef();
    const { head } = await lost.store.claim(theirs, "a");
    const wakeAtMs = world.nowMs - 1;
    await lost.store.commit(following(theirs, head, { wakeAtMs }));
    const found = async (who: ActorNode) =>
      (await who.store.dueActors(world.nowMs, 10_000)).map((each) => each.ref);
    expect(await found(node)).not.toContainEqual(theirs);
    const heir = await world.node({ region, deadRegions: () => new Set(["lost"]) });
    expect(await found(heir)).toContainEqual(theirs);
    await heir.store.claim(theirs, "heir");
    expect(await found(node)).toContainEqual(theirs);
    expect(testRegions).not.toContain("lost");
  });

  it("no more are found than were asked for, and failures are store errors", async () => {
    await commitWake(3);
    expect(await node.store.dueActors(world.nowMs, 1)).toHaveLength(1);
    node.session.failNext("FROM actor_wake", "refused");
    await expect(node.store.dueActors(world.nowMs, 1)).rejects.toMatchObject({ effect: "not_applied" });
  });
});
