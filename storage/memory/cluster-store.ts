// What nodes know about each other, in memory, for tests and the simulator: one shared `MemoryCluster`, and a handle to it
// for each node. It meets the port's obligations C1–C8, and lets a script decide what happens to each call.
//   R1. Every region has its own copy. A write reaches the copies that the writer can reach; a stale copy returns old data
//       where the port permits it (C3, C5–C7) and nowhere else.
//   R2. Data of all regions together needs more than half of the regions in the store's replication.

import {
  type Beat,
  type ClusterStore,
  type Member,
  type PartyHome,
  type RegionStatus,
  type RegionView,
  StoreError,
} from "../cluster-store.ts";
import type { StoreFault } from "./actor-store.ts";

export type ClusterOperation = keyof ClusterStore;

export interface ClusterCall {
  readonly operation: ClusterOperation;
  /** The handle's own region. */
  readonly region: string;
}

/** Intercepts calls between caller and store. `apply` does the work, immediately and at most once per call. */
export type ClusterInterceptor = <T>(call: ClusterCall, apply: () => T) => Promise<T>;

const dayMs = 86_400_000;

interface Note {
  readonly home: PartyHome;
  readonly atMs: number;
}

class Copy {
  readonly views = new Map<string, RegionView>();
  readonly beats = new Map<string, Map<string, Beat>>();
  readonly homes = new Map<string, PartyHome>();
  readonly notes = new Map<string, Note>();
  readonly standings = new Map<string, RegionStatus>();

  /** Takes over what `other` knows. */
  learn(other: Copy): void {
    for (const name of ["views", "homes", "notes", "standings"] as const) {
      for (const [key, value] of other[name]) (this[name] as Map<string, unknown>).set(key, value);
    }
    for (const [region, beats] of other.beats) this.beats.set(region, new Map(beats));
  }
}

export class MemoryCluster {
  readonly truth = new Copy();
  readonly #copies = new Map<string, Copy>();
  readonly #replication: Set<string>;
  readonly #down = new Set<string>();
  readonly #apart = new Set<string>();
  readonly #lagging = new Set<string>();
  readonly #now: () => number;

  /** `now` is the store's clock, in Unix milliseconds. */
  constructor(regions: readonly string[], now: () => number = () => 0) {
    this.#replication = new Set(regions);
    for (const region of regions) this.#copies.set(region, new Copy());
    this.#now = now;
  }

  handle(region: string): MemoryClusterStore {
    return new MemoryClusterStore(this, region);
  }

  now(): number {
    return this.#now();
  }

  /** The region's part of the store stops answering, for everybody. */
  lose(region: string): void {
    this.#down.add(region);
  }

  /** The region's part of the store continues on its own, without the others. */
  separate(region: string): void {
    this.#apart.add(region);
  }

  /** Ends {@link lose}, {@link separate} and {@link lag}: the region catches up. */
  heal(region: string): void {
    for (const set of [this.#down, this.#apart, this.#lagging]) set.delete(region);
    this.copyOf(region).learn(this.truth);
  }

  /** From now on, reads in the region that may be stale are stale (R1). */
  lag(region: string): void {
    this.#lagging.add(region);
  }

  /** Takes the region out of the store's replication, as an operator does before declaring it dead (C4). */
  takeOut(region: string): void {
    this.#replication.delete(region);
  }

  copyOf(region: string): Copy {
    const copy = this.#copies.get(region);
    if (copy === undefined) throw new Error(`there is no region ${region}`);
    return copy;
  }

  isUp(region: string): boolean {
    return !this.#down.has(region);
  }

  /** Whether the parts of the two regions reach each other. */
  reaches(from: string, to: string): boolean {
    if (from === to) return this.isUp(to);
    return this.isUp(to) && !this.#apart.has(to) && !this.#apart.has(from);
  }

  /** See R2. */
  hasMajority(from: string): boolean {
    const inReach = [...this.#replication].filter((region) => this.reaches(from, region));
    return inReach.length * 2 > this.#replication.size;
  }

  /** Writes to the truth and to every reachable copy; to stale copies only where the port promises it. */
  write(from: string, options: { readonly promised: boolean }, apply: (copy: Copy) => void): void {
    apply(this.truth);
    for (const [region, copy] of this.#copies) {
      const isBehind = this.#lagging.has(region) && region !== from && !options.promised;
      if (this.reaches(from, region) && !isBehind) apply(copy);
    }
  }
}

export class MemoryClusterStore implements ClusterStore {
  readonly #cluster: MemoryCluster;
  readonly #region: string;
  readonly #faults: { operation: ClusterOperation; fault: StoreFault }[] = [];
  readonly #calls = new Map<ClusterOperation, number>();
  /** May be replaced at any time. */
  intercept: ClusterInterceptor | undefined;
  /** The node is cut off from the store: reads fail, writes have an unknown outcome, and none is applied. */
  cutOff = false;

  constructor(cluster: MemoryCluster, region: string) {
    this.#cluster = cluster;
    this.#region = region;
  }

  /** Makes the next call of `operation` that has no fault yet fail with `fault`; repeated calls queue up. */
  failNext(operation: ClusterOperation, fault: StoreFault): void {
    this.#faults.push({ operation, fault });
  }

  /** How often an operation was called, failures included. */
  callsOf(operation: ClusterOperation): number {
    return this.#calls.get(operation) ?? 0;
  }

  readView(region: string): Promise<RegionView> {
    return this.#call("readView", () => {
      const view = this.#source(region).views.get(region);
      return view ?? { region, version: 0, members: [] };
    });
  }

  casView(next: RegionView): Promise<boolean> {
    return this.#call("casView", () => {
      this.#assertOwn(next.region);
      const { views } = this.#cluster.truth;
      if ((views.get(next.region)?.version ?? 0) !== next.version - 1) return false;
      this.#write(false, (copy) => copy.views.set(next.region, copyOfView(next)));
      return true;
    });
  }

  beat(region: string, beat: Beat): Promise<void> {
    return this.#call("beat", () => {
      this.#assertOwn(region);
      this.#write(false, (copy) => {
        const beats = copy.beats.get(region) ?? new Map<string, Beat>();
        copy.beats.set(region, beats.set(beat.incarnation, { ...beat }));
      });
    });
  }

  readBeats(region: string): Promise<readonly Beat[]> {
    return this.#call("readBeats", () => [...(this.#source(region).beats.get(region)?.values() ?? [])]);
  }

  readHome(party: string): Promise<PartyHome | null> {
    return this.#call("readHome", () => {
      this.#assertMajority();
      return this.#cluster.truth.homes.get(party) ?? null;
    });
  }

  readHomeNearby(party: string): Promise<PartyHome | null> {
    return this.#call("readHomeNearby", () => this.#own.homes.get(party) ?? null);
  }

  casHome(next: PartyHome): Promise<boolean> {
    return this.#call("casHome", () => {
      this.#assertMajority();
      if ((this.#cluster.truth.homes.get(next.party)?.version ?? 0) !== next.version - 1) return false;
      this.#write(next.version > 1, (copy) => copy.homes.set(next.party, { ...next }));
      if (next.version > 1) this.#note(next);
      return true;
    });
  }

  noteMove(home: PartyHome): Promise<void> {
    return this.#call("noteMove", () => this.#note(home));
  }

  readMoves(): Promise<readonly PartyHome[]> {
    return this.#call("readMoves", () => {
      const sinceMs = this.#cluster.now() - dayMs;
      return [...this.#own.notes.values()].filter((note) => note.atMs >= sinceMs).map((note) => note.home);
    });
  }

  readStandings(): Promise<readonly RegionStatus[]> {
    return this.#call("readStandings", () => [...this.#newestInReach().standings.values()]);
  }

  casStanding(next: RegionStatus): Promise<boolean> {
    return this.#call("casStanding", () => {
      this.#assertMajority();
      if ((this.#cluster.truth.standings.get(next.region)?.version ?? 0) !== next.version - 1) return false;
      this.#write(false, (copy) => copy.standings.set(next.region, { ...next }));
      return true;
    });
  }

  storeTimeMs(): Promise<number> {
    return this.#call("storeTimeMs", () => this.#cluster.now());
  }

  get #own(): Copy {
    return this.#cluster.copyOf(this.#region);
  }

  /** The copy from which this region answers about the views and beats of `region`. */
  #source(region: string): Copy {
    return region === this.#region ? this.#cluster.truth : this.#own;
  }

  #newestInReach(): Copy {
    return this.#cluster.hasMajority(this.#region) ? this.#cluster.truth : this.#own;
  }

  #note(home: PartyHome): void {
    const atMs = this.#cluster.now();
    this.#write(true, (copy) => {
      if ((copy.notes.get(home.party)?.home.version ?? 0) <= home.version)
        copy.notes.set(home.party, { home: { ...home }, atMs });
    });
  }

  #write(promised: boolean, apply: (copy: Copy) => void): void {
    this.#cluster.write(this.#region, { promised }, apply);
  }

  #assertOwn(region: string): void {
    if (region !== this.#region) throw new Error(`${this.#region} may not write data of ${region}`);
  }

  #assertMajority(): void {
    if (!this.#cluster.hasMajority(this.#region)) {
      throw new StoreError("not_applied", "too few regions are in reach");
    }
  }

  #call<T>(operation: ClusterOperation, work: () => T): Promise<T> {
    this.#calls.set(operation, this.callsOf(operation) + 1);
    const apply = (): T => {
      if (!this.#cluster.isUp(this.#region)) throw new StoreError("not_applied", `${this.#region} is away`);
      return work();
    };
    const scripted = this.#faults.findIndex((fault) => fault.operation === operation);
    return this.#guard(() => {
      if (scripted >= 0) {
        const fault = this.#faults.splice(scripted, 1)[0]?.fault;
        if (fault === "unknown_applied") apply();
        const effect = fault === "before" ? "not_applied" : "unknown";
        throw new StoreError(effect, `scripted failure of ${operation}: ${fault}`);
      }
      if (this.cutOff) throw new StoreError(isWrite(operation) ? "unknown" : "not_applied", "cut off");
      return this.intercept === undefined
        ? apply()
        : this.intercept({ operation, region: this.#region }, apply);
    });
  }

  async #guard<T>(work: () => T | Promise<T>): Promise<T> {
    return work();
  }
}

function isWrite(operation: ClusterOperation): boolean {
  return ["casView", "beat", "casHome", "noteMove", "casStanding"].includes(operation);
}

function copyOfView(view: RegionView): RegionView {
  return { ...view, members: view.members.map((member: Member) => ({ ...member })) };
}
