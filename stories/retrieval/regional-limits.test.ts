// What a key's limit does at one node and the next, message by message (E1 to E4 of service/authentication/regional-limits.ts).

import { describe, expect, it } from "vitest";
import type { LimitRule } from "../../actors/messages/integration-key.ts";
import { LimitWorld } from "./regional-limits.fixture.ts";

const units = 320;
const slice = units / 32;
const windowMs = 60_000;
const wayMs = 20;
const rule: LimitRule = { kind: "window", units, window_ms: windowMs };
const openWorld = (delayMs: () => number | null = () => wayMs) =>
  new LimitWorld({ rule, costMax: 1, nodes: 2, delayMs });

/** Sends, and says at once how many passed without a word from anybody. */
function passedAtOnce(world: LimitWorld, node: number, times = 1): number {
  const { length: before } = world.passed;
  for (let time = 0; time < times; time += 1) void world.send(node, 1);
  return world.passed.length - before;
}

describe("a node", () => {
  it("lets requests through while the next slice is under way, without waiting (E2)", async () => {
    const world = openWorld();
    for (let sent = 0; sent < 200; sent += 1) {
      expect(passedAtOnce(world, 0)).toBe(1);
      await world.until(world.nowMs + wayMs);
    }
    expect(world.asked).toBeLessThan(60);
  });

  it("lets a burst wait for one lease, and all of the limit through", async () => {
    const world = openWorld();
    expect(passedAtOnce(world, 0, units + 5)).toBe(slice);
    await world.until(10 * wayMs);
    expect([world.passed.length, world.refused.length]).toEqual([units, 5]);
    expect(world.asked).toBeLessThan(5);
  });

  it("takes no more than one slice before it has heard of the window, and asks at its end (E1)", async () => {
    const world = openWorld();
    passedAtOnce(world, 0, 40);
    await world.until(1_000);
    passedAtOnce(world, 1, units);
    await world.until(2_000);
    expect(world.passed.length).toBeLessThanOrEqual(units + slice);
    expect(world.refused.length).toBeGreaterThan(0);
    // The window began at the actor 20 ms after the first question, so it ends between these two instants.
    await world.until(windowMs + 5);
    expect(passedAtOnce(world, 0)).toBe(0);
    await world.until(windowMs + 2 * wayMs + 1);
    expect(passedAtOnce(world, 0)).toBe(1);
  });

  it("that starts again has one slice before it is told what the others spent (E1)", async () => {
    const world = openWorld();
    passedAtOnce(world, 0, units);
    await world.until(1_000);
    const restarted = world.open();
    const answers = Array.from({ length: 50 }, () => restarted.take("key", 1));
    await world.until(2_000);
    const passed = (await Promise.all(answers)).filter((retryMs) => retryMs === null);
    expect(passed).toHaveLength(slice);
  });
});

describe("a refusal", () => {
  it("is not for what was spent without a lease long ago (E3)", async () => {
    const world = new LimitWorld({
      rule: { kind: "bucket", units: 1, per_second: 1 },
      costMax: 1,
      nodes: 2,
      delayMs: () => 0,
    });
    passedAtOnce(world, 0, 4);
    passedAtOnce(world, 1);
    await world.until(1_000);
    // The node was told that nothing is free before the second instant. It has no lease, and lets one through.
    expect(passedAtOnce(world, 1)).toBe(1);
    await world.until(11_000);
    expect(passedAtOnce(world, 1)).toBe(1);
  });

  it("says when the window ends, at every node, and is not of a key that another used (E3)", async () => {
    const world = openWorld();
    passedAtOnce(world, 0, units);
    await world.until(1_000);
    passedAtOnce(world, 1, 2 * slice);
    await world.until(2_000);
    const told = world.refused.at(-1);
    expect(told).toMatchObject({ node: 1 });
    expect((told?.atMs ?? 0) + (told?.retryMs ?? 0)).toBeGreaterThanOrEqual(windowMs + wayMs);
    expect(await world.nodes[1]?.take("another", 1)).toBeNull();
    await world.until((told?.atMs ?? 0) + (told?.retryMs ?? 0));
    expect(passedAtOnce(world, 1)).toBe(1);
  });

  it("is told what is left, by the last that was heard", async () => {
    const world = openWorld();
    expect(world.nodes[0]?.standing("key")).toBeNull();
    passedAtOnce(world, 0, 5);
    expect(world.nodes[0]?.standing("key")).toEqual({ left: units - 5, moreInMs: windowMs });
    await world.until(1_000);
    passedAtOnce(world, 1, units);
    await world.until(2_000);
    expect(world.nodes[1]?.standing("key")).toMatchObject({
      left: 0,
      moreInMs: windowMs + 2 * wayMs - 2_000,
    });
    await world.until(2 * windowMs);
    expect(world.nodes[1]?.standing("key")).toBeNull();
  });
});

describe("while the actor cannot be reached (E4)", () => {
  it("a node lets its share through, after one wait, and reports it later", async () => {
    let isAway = true;
    const world = openWorld(() => (isAway ? null : wayMs));
    expect(passedAtOnce(world, 0, slice + 5)).toBe(slice);
    await world.until(900);
    expect(world.passed).toHaveLength(slice);
    await world.until(1_100);
    expect(world.passed).toHaveLength(slice + 5);
    const share = units / 2;
    expect(passedAtOnce(world, 0, units)).toBe(share - 5);
    expect(world.refused.length).toBe(units - (share - 5));
    // One question a second at most.
    expect(world.asked).toBeLessThanOrEqual(2);
    isAway = false;
    await world.until(3_000);
    passedAtOnce(world, 0);
    await world.until(4_000);
    passedAtOnce(world, 1, units);
    await world.until(5_000);
    // The actor has heard of the share: the rest of the window is what was left.
    expect(world.passed.length).toBeLessThanOrEqual(units + 2 * slice);
  });
});
