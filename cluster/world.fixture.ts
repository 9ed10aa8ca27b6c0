// A small world for tests of the cluster: time that only tests move, nodes with their own clocks that can be killed,
// paused and cut off, and a store with latency. Everything that happens to a node passes through its gate, so a paused node
// does nothing at all, and what it missed arrives in any order when it wakes.

import { afterEach } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { ManualTime } from "../actors/system/manual-time.fixture.ts";
import type { TimerPort } from "../actors/system/ports.ts";
import { type Member, StoreError } from "../storage/cluster-store.ts";
import { MemoryCluster, type MemoryClusterStore } from "../storage/memory/cluster-store.ts";
import type { Greeting } from "./admission.ts";
import { createMembership, type Membership, type MembershipOptions } from "./membership.ts";
import { createPlacement, type Placement } from "./placement.ts";

/** Call this once in a test file: the nodes of its worlds then end with each test. */
export function endWithTest(current: () => Pick<World, "nodes">): void {
  afterEach(() => {
    for (const node of current().nodes) node.kill();
  });
}

/** A seeded random generator (mulberry32): returns numbers from 0 up to, but not including, 1. */
export function chance(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface NodeTraits {
  readonly region?: string;
  readonly address?: string;
  /** The rate of its monotonic clock. */
  readonly rate?: number;
  /** The offset of its wall clock. */
  readonly wallOffMs?: number;
  readonly membership?: Partial<MembershipOptions>;
}

let nodes = 0;

export class WorldNode {
  readonly store: MemoryClusterStore;
  readonly membership: Membership;
  readonly placement: Placement;
  readonly log: string[] = [];
  /** The incarnations that were begun and halted, in order. */
  readonly life: string[] = [];
  readonly timers: TimerPort;
  readonly monotonic: { nowMs(): number };
  readonly region: string;
  /** Latency of each call to the store, in each direction, in milliseconds. */
  latencyMs: () => number = () => 1;
  /** Latency of the answer alone, if it differs. */
  answerMs: (() => number) | null = null;
  /** Time after which a lost call rejects. */
  lostMs = 2_000;
  isKilled = false;
  /** How other members answer this node's greeting. */
  greet: (member: Member) => Greeting = () => "known";
  readonly #world: World;
  readonly #held: (() => void)[] = [];
  #isPaused = false;
  #isCut = false;

  constructor(world: World, traits: NodeTraits) {
    nodes += 1;
    const name = `n${nodes}`;
    const {
      region = "east",
      address = `127.0.0.1:${7_000 + world.nodes.length}`,
      rate = 1,
      wallOffMs = 0,
    } = traits;
    const { time } = world;
    this.#world = world;
    this.region = region;
    this.store = world.cluster.handle(region);
    this.store.intercept = (_, apply) => this.#call(apply);
    const monotonic = { nowMs: () => 5_000 + time.now() * rate };
    this.monotonic = monotonic;
    this.timers = { schedule: (delayMs, run) => time.schedule(delayMs / rate, () => this.#pass(run)) };
    let incarnations = 0;
    this.membership = createMembership({
      store: this.store,
      clock: { now: () => world.epochMs + time.now() + wallOffMs },
      monotonic,
      timers: this.timers,
      region,
      regions: world.regions,
      address,
      protocol: { min: 1, max: 2 },
      schema: { known: 3, read: async () => 3 },
      newIncarnation: () => {
        incarnations += 1;
        return `${name}.${incarnations}`;
      },
      life: {
        begin: async (self) => void this.life.push(`begin ${self.incarnation}`),
        greet: async (member) => this.greet(member),
        halt: (self, reason) => void this.life.push(`halt ${self.incarnation} ${reason}`),
      },
      log: (level, event, detail) => this.log.push(`${level} ${event} ${detail}`),
      ...traits.membership,
    });
    this.placement = createPlacement({ store: this.store, monotonic, membership: this.membership });
  }

  get isRunning(): boolean {
    return !this.isKilled && !this.#isPaused;
  }

  get incarnation(): string {
    return this.membership.self()?.incarnation ?? "";
  }

  /** Whether the party's actor is here according to this node. */
  has(party: string): boolean {
    return this.placement.locate(businessRef(party)).at === "here";
  }

  kill(): void {
    this.isKilled = true;
    this.#held.length = 0;
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Resumes the node. What it missed happens in an order that `random` draws. */
  resume(random: () => number = () => 0): void {
    this.#isPaused = false;
    while (this.#held.length > 0 && !this.#isPaused) {
      const [run] = this.#held.splice(Math.floor(random() * this.#held.length), 1);
      if (run !== undefined) this.#pass(run);
    }
  }

  /** Cuts the node off from the store: calls and answers under way may or may not arrive, in either direction. */
  cut(): void {
    this.#isCut = true;
  }

  mend(): void {
    this.#isCut = false;
  }

  #pass(run: () => void): void {
    if (this.isKilled) return;
    if (this.#isPaused) this.#held.push(run);
    else run();
  }

  #call<T>(apply: () => T): Promise<T> {
    const { time } = this.#world;
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void): void => {
        if (!this.#isCut)
          time.schedule((this.answerMs ?? this.latencyMs)(), () =>
            this.#isCut ? undefined : this.#pass(settle),
          );
      };
      time.schedule(this.lostMs, () => this.#pass(() => reject(new StoreError("unknown", "no answer"))));
      if (this.#isCut) return;
      time.schedule(this.latencyMs(), () => {
        try {
          const result = apply();
          answer(() => resolve(result));
        } catch (error) {
          answer(() => reject(error));
        }
      });
    });
  }
}

export class World {
  /** The true time, which no node sees. */
  readonly time = new ManualTime(1_000);
  readonly regions: readonly string[];
  readonly cluster: MemoryCluster;
  readonly epochMs = 1_780_000_000_000;
  readonly nodes: WorldNode[] = [];

  constructor(regions: readonly string[] = ["east"]) {
    this.regions = regions;
    this.cluster = new MemoryCluster(regions, () => this.epochMs + this.time.now());
  }

  /** Makes another node, which has not joined yet. */
  node(traits: NodeTraits = {}): WorldNode {
    const node = new WorldNode(this, traits);
    this.nodes.push(node);
    return node;
  }

  /** Makes another node and lets it join. */
  async joined(traits: NodeTraits = {}): Promise<WorldNode> {
    const node = this.node(traits);
    await this.time.run(node.membership.join());
    return node;
  }

  /** Makes parties with their home in `region`, known to every node that exists so far. */
  async parties(count: number, region: string): Promise<readonly string[]> {
    const store = this.cluster.handle(region);
    const parties = Array.from({ length: count }, (_, index) => `party-${region}-${index}`);
    for (const party of parties) await store.casHome({ party, region, moving_to: null, version: 1 });
    for (const node of this.nodes) await this.know(node, parties);
    return parties;
  }

  async know(node: WorldNode, parties: readonly string[]): Promise<void> {
    await this.time.run(Promise.all(parties.map((party) => node.placement.settle(businessRef(party)))));
  }

  /** The members of the first region as its store has them, with their states. */
  async members(): Promise<readonly string[]> {
    const region = this.regions[0] ?? "";
    const view = await this.cluster.handle(region).readView(region);
    return view.members.map((member) => `${member.incarnation} ${member.state}`);
  }

  /** The running nodes that have the party according to their own knowledge. */
  havers(party: string): readonly WorldNode[] {
    return this.nodes.filter((node) => node.isRunning && node.has(party));
  }
}
