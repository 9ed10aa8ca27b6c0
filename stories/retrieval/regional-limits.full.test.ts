// A key's limit at several nodes of a region (E1 to E4 of service/authentication/regional-limits.ts).

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LimitRule } from "../../actors/messages/integration-key.ts";
import { sliceOf } from "../../service/authentication/regional-limits.ts";
import { queryCostMax } from "../../service/authentication/request-rate.ts";
import { LimitWorld } from "./regional-limits.fixture.ts";

const windowMs = 60_000;
const window = (units: number): LimitRule => ({ kind: "window", units, window_ms: windowMs });
const bucket = (units: number, per_second: number): LimitRule => ({ kind: "bucket", units, per_second });

const nodes = 3;
const requests = (costMax: number) =>
  fc.array(
    fc.record({
      node: fc.nat(nodes - 1),
      pauseMs: fc.oneof(
        { weight: 8, arbitrary: fc.nat(20) },
        { weight: 2, arbitrary: fc.nat(1_500) },
        { weight: 1, arbitrary: fc.nat(40_000) },
      ),
      /** How many are sent at once. */
      times: fc.integer({ min: 1, max: 8 }),
      cost: fc.integer({ min: 1, max: costMax }),
    }),
    { minLength: 10, maxLength: 60, size: "max" },
  );
/** One-way delays of messages, over and over; null for one that is lost. */
const delays = (isLossy: boolean) =>
  fc.array(isLossy ? fc.oneof({ weight: 5, arbitrary: fc.nat(30) }, fc.constant(null)) : fc.nat(30), {
    minLength: 1,
    maxLength: 20,
  });

type Drawn = ReturnType<typeof requests> extends fc.Arbitrary<infer T> ? T : never;

interface Case {
  readonly rule: LimitRule;
  readonly costMax: number;
  readonly delays: readonly (number | null)[];
}

async function run({ rule, costMax, delays }: Case, drawn: Drawn, forgetAt = -1): Promise<LimitWorld> {
  let messages = 0;
  const delayMs = (): number | null => {
    messages += 1;
    return delays[messages % delays.length] ?? null;
  };
  const world = new LimitWorld({ rule, costMax, nodes, delayMs });
  let atMs = 0;
  for (const [index, { node, pauseMs, times, cost }] of drawn.entries()) {
    if (index === forgetAt) world.forget();
    atMs += pauseMs;
    await world.until(atMs);
    for (let time = 0; time < times; time += 1) void world.send(node, cost);
  }
  return world;
}

/** Everything that is under way ends. */
const settleMs = 10_000;

const spentIn = ({ passed }: LimitWorld, fromMs: number, untilMs: number): number =>
  passed.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs).reduce((sum, { cost }) => sum + cost, 0);

describe("a budget that several nodes lease", () => {
  const cases = fc.integer({ min: queryCostMax, max: 600 });

  it("is exceeded in no window by more than one slice a node (E1)", async () => {
    await fc.assert(
      fc.asyncProperty(cases, delays(false), requests(queryCostMax), async (units, delays, drawn) => {
        const rule = window(units);
        const world = await run({ rule, costMax: queryCostMax, delays }, drawn);
        await world.until(world.nowMs + settleMs);
        const most = units + nodes * sliceOf({ rule, costMax: queryCostMax });
        for (const beganMs of world.windowsMs)
          expect(spentIn(world, beganMs, beganMs + windowMs)).toBeLessThanOrEqual(most);
      }),
    );
  });

  it("is exceeded by no more than the share of each node where messages are lost (E4)", async () => {
    await fc.assert(
      fc.asyncProperty(cases, delays(true), requests(queryCostMax), async (units, delays, drawn) => {
        const rule = window(units);
        const world = await run({ rule, costMax: queryCostMax, delays }, drawn);
        await world.until(world.nowMs + settleMs);
        const slice = sliceOf({ rule, costMax: queryCostMax });
        const most = units + nodes * (slice + 2 * Math.max(queryCostMax, Math.ceil(units / nodes)));
        for (const beganMs of world.windowsMs)
          expect(spentIn(world, beganMs, beganMs + windowMs)).toBeLessThanOrEqual(most);
      }),
    );
  });

  it("is leased once more at most by an actor that forgot what it leased (L3)", async () => {
    await fc.assert(
      fc.asyncProperty(cases, requests(queryCostMax), fc.nat(59), async (units, drawn, forgetAt) => {
        const rule = window(units);
        const hurried = drawn.map((each) => ({ ...each, pauseMs: Math.min(each.pauseMs, 500) }));
        const world = await run({ rule, costMax: queryCostMax, delays: [5] }, hurried, forgetAt);
        await world.until(world.nowMs + settleMs);
        const most = 2 * (units + nodes * sliceOf({ rule, costMax: queryCostMax }));
        expect(spentIn(world, 0, windowMs)).toBeLessThanOrEqual(most);
      }),
    );
  });

  it("says truly when a refused request would pass, at whichever node (E3)", async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        delays(false),
        requests(queryCostMax),
        fc.nat(nodes - 1),
        fc.nat(nodes - 1),
        async (units, delays, drawn, node, other) => {
          const world = await run({ rule: window(units), costMax: queryCostMax, delays }, drawn);
          await expectTrueRefusal(world, { node, other, cost: queryCostMax });
        },
      ),
    );
  });

  it("is all there for a key that one node serves alone (E2)", async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        fc.nat(30),
        fc.integer({ min: 1, max: 20 }),
        async (units, delayMs, pauseMs) => {
          const world = new LimitWorld({
            rule: window(units),
            costMax: queryCostMax,
            nodes,
            delayMs: () => delayMs,
          });
          for (let sent = 0; sent < units; sent += 1) {
            await world.until(world.nowMs + pauseMs);
            void world.send(0, 1);
          }
          await world.until(world.nowMs + 1_000);
          expect(world.passed).toHaveLength(units);
        },
      ),
      { numRuns: 20 },
    );
  });
});

/** Sends until one is refused, and after the time that it is told sends one that has to pass. */
async function expectTrueRefusal(
  world: LimitWorld,
  { node, other, cost }: { readonly node: number; readonly other: number; readonly cost: number },
): Promise<void> {
  await world.until(world.nowMs + settleMs);
  const { length: before } = world.refused;
  for (let sent = 0; world.refused.length === before; sent += 1) {
    expect(sent).toBeLessThan(2_000);
    for (let time = 0; time < 20; time += 1) void world.send(node, cost);
    await world.until(world.nowMs + 70);
  }
  const told = world.refused.at(-1);
  if (told === undefined) throw new Error("None was refused.");
  await world.until(told.atMs + Math.max(1, Math.ceil(told.retryMs / 1_000)) * 1_000);
  const { length: passed } = world.passed;
  void world.send(other, cost);
  await world.until(world.nowMs + settleMs);
  expect(world.passed).toHaveLength(passed + 1);
}

describe("a rate that several nodes lease", () => {
  const cases = fc
    .record({ units: fc.integer({ min: 1, max: 200 }), perSecond: fc.integer({ min: 1, max: 100 }) })
    .map(({ units, perSecond }) => bucket(units, perSecond));

  it("is exceeded in no span by more than what nodes had leased and not spent, and one slice each (E1)", async () => {
    await fc.assert(
      fc.asyncProperty(cases, delays(false), requests(1), async (rule, delays, drawn) => {
        const world = await run({ rule, costMax: 1, delays }, drawn);
        await world.until(world.nowMs + settleMs);
        if (rule.kind !== "bucket") return;
        const slack = 3 * nodes * sliceOf({ rule, costMax: 1 });
        for (const { atMs: fromMs } of world.passed)
          for (const { atMs: toMs } of world.passed) {
            if (toMs < fromMs) continue;
            const most = rule.units + (rule.per_second * (toMs - fromMs)) / 1_000 + slack;
            expect(spentIn(world, fromMs, toMs + 1)).toBeLessThanOrEqual(most);
          }
      }),
    );
  });

  it("says truly when a refused request would pass, at whichever node (E3)", async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        delays(false),
        requests(1),
        fc.nat(nodes - 1),
        fc.nat(nodes - 1),
        async (rule, delays, drawn, node, other) => {
          const world = await run({ rule, costMax: 1, delays }, drawn);
          await expectTrueRefusal(world, { node, other, cost: 1 });
        },
      ),
    );
  });
});
