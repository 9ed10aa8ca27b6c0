// No two nodes ever both hold a lease and both have the same actor; and when the faults stop, everything has one place again.
// (That two nodes cannot both act even then is ensured by the fence; this tests that the fence is rarely needed.)

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dose } from "../tools/test-dose.ts";
import { chance, World, type WorldNode } from "./world.fixture.ts";

const kinds = ["kill", "restart", "pause", "cut", "slow", "leave", "join", "unknown", "refused"] as const;

const fault = fc.record({
  afterMs: fc.integer({ min: 0, max: 4_000 }),
  node: fc.nat(),
  kind: fc.constantFrom(...kinds),
  forMs: fc.integer({ min: 100, max: 7_000 }),
});

const scenario = fc.record({
  seed: fc.integer(),
  /** Clock rates in percent of true time. */
  rates: fc.array(fc.integer({ min: 92, max: 108 }), { minLength: 2, maxLength: 4 }),
  latencyMaxMs: fc.constantFrom(2, 30, 200, 450),
  faults: fc.array(fault, { minLength: 1, maxLength: 12 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;
type Fault = Scenario["faults"][number];

class Run {
  readonly world = new World();
  readonly random: () => number;
  readonly gone = new Set<WorldNode>();
  readonly overlaps: string[] = [];
  parties: readonly string[] = [];
  readonly #latencyMaxMs: number;

  constructor({ seed, latencyMaxMs }: Scenario) {
    this.random = chance(seed);
    this.#latencyMaxMs = latencyMaxMs;
    this.world.time.probe = () => this.#probe();
  }

  start(rate: number, address?: string): WorldNode {
    const node = this.world.node({ rate, ...(address === undefined ? {} : { address }) });
    node.latencyMs = () => this.random() * this.#latencyMaxMs;
    const join = (): void => {
      // A node that was told to leave while it waited to retry does not join any more.
      if (this.gone.has(node)) return;
      node.membership
        .join()
        .then(() => this.#know(node))
        .catch(() => {
          if (node.isRunning && !this.gone.has(node)) node.timers.schedule(500, join);
        });
    };
    join();
    return node;
  }

  /** Makes a fault happen; returns the function that ends it. */
  inject({ kind, node: index, forMs }: Fault): () => void {
    const living = this.world.nodes.filter((each) => each.isRunning && !this.gone.has(each));
    const node = living[index % Math.max(1, living.length)];
    if (kind === "join" || node === undefined) {
      if (living.length < 6) this.start(1);
      return () => {};
    }
    switch (kind) {
      case "kill":
        node.kill();
        return () => {};
      case "restart":
        node.kill();
        return () => void this.start(1, node.membership.address);
      case "pause":
        node.pause();
        return () => node.resume(this.random);
      case "cut":
        node.cut();
        return () => node.mend();
      case "slow": {
        node.latencyMs = () => this.random() * 2_500;
        return () => {
          node.latencyMs = () => this.random() * this.#latencyMaxMs;
        };
      }
      case "leave":
        this.gone.add(node);
        void node.membership.leave(
          () => new Promise((resolve) => void node.timers.schedule(forMs / 2, resolve)),
        );
        return () => {};
      case "unknown":
        node.store.failNext("casView", this.random() < 0.5 ? "unknown_applied" : "unknown_not_applied");
        node.store.failNext("beat", "unknown_not_applied");
        return () => {};
      case "refused":
        for (const operation of ["casView", "readView", "readMoves", "readBeats"] as const)
          node.store.failNext(operation, "before");
        return () => {};
    }
  }

  /** The nodes that should be members when there are no faults. */
  living(): readonly WorldNode[] {
    return this.world.nodes.filter((node) => !node.isKilled && !this.gone.has(node));
  }

  end(): void {
    this.world.time.probe = () => {};
    for (const node of this.world.nodes) node.kill();
  }

  #know(node: WorldNode): void {
    for (const party of this.parties)
      node.placement
        .settle({ kind: "business", id: party })
        .catch(() => node.timers.schedule(500, () => this.#know(node)));
  }

  #probe(): void {
    for (const party of this.parties) {
      const havers = this.world.havers(party);
      if (havers.length > 1)
        this.overlaps.push(`${party} at ${this.world.time.now()}: ${havers.map((node) => node.incarnation)}`);
    }
  }
}

async function play(drawn: Scenario): Promise<Run> {
  const run = new Run(drawn);
  const { time } = run.world;
  run.parties = await run.world.parties(8, "east");
  for (const rate of drawn.rates) run.start(rate / 100);
  await time.advance(4_000);
  const open: (() => void)[] = [];
  for (const each of drawn.faults) {
    await time.advance(each.afterMs);
    const end = run.inject(each);
    open.push(end);
    time.schedule(each.forMs, () => {
      if (open.includes(end)) end();
      open.splice(open.indexOf(end), 1);
    });
  }
  await time.advance(8_000);
  if (run.living().length === 0) run.start(1);
  await time.advance(20_000);
  return run;
}

describe("one place", () => {
  it("no actor is at two nodes, and in the end each is at one", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (drawn) => {
        const run = await play(drawn);
        try {
          expect(run.overlaps).toEqual([]);
          const living = run.living();
          expect(living.map((node) => node.membership.self()?.state)).toEqual(living.map(() => "active"));
          const view = await run.world.cluster.handle("east").readView("east");
          expect(view.members.map((member) => member.incarnation).sort()).toEqual(
            living.map((node) => node.incarnation).sort(),
          );
          for (const party of run.parties) expect(run.world.havers(party)).toHaveLength(1);
        } finally {
          run.end();
        }
      }),
      { numRuns: dose(40) },
    );
  }, 180_000);
});
