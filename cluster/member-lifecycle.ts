// One incarnation's life in its region's view: it sends heartbeats, enters, watches the others, leaves, or loses its lease.
//   I1. Its lease is checked before every act; the first check that finds it ended ends the incarnation, and
//       everything that has to stop is stopped before the answer (L3).
//   I2. It is `joining` first, and `active` only once the others have released what will belong to it, or have lost
//       their own leases: every node that acted by the previous view has read this one, or may not act.
//   I3. It considers itself `leaving` before it writes so, and is removed once it has finished what it had accepted.
//   I4. Only a node that holds a lease removes another member, and only one that is overdue (cluster-view.ts W2): since that
//       member's lease was lost earlier, no two nodes hold the right to act for one actor. (The fence of the actor store holds
//       even if clocks betray this.)
//   I5. A member at the node's own address is an earlier life of this node, and is replaced at once.
//   I6. If it is missing from the view, or its region is declared dead, it has lost its lease, whatever its heartbeats say.

import type { TimerPort } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import {
  type ClusterStore,
  type Member,
  type RegionStatus,
  type RegionView,
  StoreError,
} from "../storage/cluster-store.ts";
import { assertProtocol, assertRegionAlive, type JoinRefused } from "./admission.ts";
import {
  type BeatRead,
  BeatWatch,
  type ClusterLog,
  type ClusterView,
  type Observer,
} from "./cluster-view.ts";
import { type ClusterTiming, type Monotonic, Poller } from "./poller.ts";

export type LossReason = "lease_expired" | "evicted" | "region_dead" | "stopped";

export interface MemberLifecycleOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  readonly region: string;
  readonly timing: ClusterTiming;
  readonly outlook: ClusterView;
  readonly log: ClusterLog;
  /** Members that share no protocol version and are not alive. */
  readonly silent: ReadonlySet<string>;
  /** Stops everything that acts for this incarnation before it returns. Called at most once. */
  readonly ended: (reason: LossReason) => void;
  /** Called when a view was written, so that others may read it. */
  readonly viewWritten: () => void;
}

/** The incarnation ended before the requested step was complete. */
export class MemberLifecycleEnded extends Error {
  constructor(reason: LossReason | null) {
    super(`the node is no longer a member: ${reason ?? "left"}`);
    this.name = "MemberLifecycleEnded";
  }
}

export class MemberLifecycle implements Observer {
  readonly #options: MemberLifecycleOptions;
  readonly #beats: Poller;
  readonly #watch: BeatWatch;
  #self: Member;
  #lease: Lease | null = null;
  #beatBeganMs: number | null = null;
  #enteredVersion = Number.POSITIVE_INFINITY;
  #count = 0;
  #over: LossReason | "left" | null = null;
  #evicting = false;
  #cancelLease: (() => void) | null = null;

  constructor(options: MemberLifecycleOptions, self: Member) {
    this.#options = options;
    this.#self = self;
    this.#watch = new BeatWatch(options.timing.evictMs);
    const { beatMs, hurryMs } = options.timing;
    this.#beats = new Poller({
      ...options,
      run: () => this.#beat(),
      everyMs: () => beatMs,
      gapMs: hurryMs / 2,
    });
  }

  /** This member as the node itself knows it, which may be ahead of the view (I3). */
  get self(): Member {
    return this.#self;
  }

  get isOver(): boolean {
    return this.#over !== null;
  }

  /** See I1. False before it has entered. */
  /** Milliseconds until its lease ends unless it is renewed; 0 without one. */
  leaseRemainingMs(): number {
    return this.holdsLease() ? (this.#lease?.remainingMs(this.#options.monotonic.nowMs()) ?? 0) : 0;
  }

  holdsLease(): boolean {
    if (this.#lease === null || this.#over !== null) return false;
    if (this.#lease.isHeld(this.#options.monotonic.nowMs())) return true;
    this.end("lease_expired");
    return false;
  }

  /**
   * Resolves as an active member. Throws {@link MemberLifecycleEnded}, {@link JoinRefused} or the store's error; then the
   * incarnation is over, and removed from the view if the store could be reached.
   */
  async enter(): Promise<void> {
    try {
      await this.#enter();
    } catch (error) {
      if (this.#lease !== null) await this.#attempt((members) => this.#withoutSelf(members));
      if (this.#over === null) this.#finish("stopped");
      throw error;
    }
  }

  async #enter(): Promise<void> {
    const { outlook, timing, store, region, monotonic } = this.#options;
    const lateMs = monotonic.nowMs() + timing.joinPatienceMs;
    this.#beats.start();
    await this.#until(() => this.#beatBeganMs !== null, { lateMs });
    const beganMs = monotonic.nowMs();
    const view = await changeView(store, region, (members) => this.#withSelf(members));
    this.#lease = new Lease(timing.leaseMs, { beatMs: this.#beatBeganMs ?? beganMs, viewMs: beganMs });
    this.#assertOn();
    this.#enteredVersion = view.version;
    this.#armLease();
    outlook.watchedBy(this);
    this.#wrote(view);
    const patientMs = monotonic.nowMs() + timing.joinPatienceMs;
    await this.#until(() => this.#othersFollow(view) || monotonic.nowMs() >= patientMs);
    // Moves and standings have to be known: without them this node could act for a party that is elsewhere.
    await this.#until(() => outlook.followed >= view.version, { lateMs: patientMs + timing.joinPatienceMs });
    const active = await changeView(store, region, (members) => this.#withState(members, "active"));
    this.#assertOn();
    // It may have been asked to leave in the meantime.
    if (this.#self.state !== "joining") throw new MemberLifecycleEnded(null);
    this.#self = { ...this.#self, state: "active" };
    this.#wrote(active);
  }

  /** Leaves: others take over once `drain` is complete and the member is removed (I3). Never rejects. */
  async leave(drain: () => Promise<void>): Promise<void> {
    const { outlook, log } = this.#options;
    this.#self = { ...this.#self, state: "leaving" };
    outlook.changed({ moves: [], missed: false });
    await this.#attempt((members) => this.#withState(members, "leaving"));
    try {
      await drain();
    } catch (error) {
      log("error", "cluster.drain_failed", error instanceof Error ? error.message : String(error));
    }
    await this.#attempt((members) => this.#withoutSelf(members));
    if (this.#over === null) this.#finish("left");
  }

  /** Ends the incarnation without leaving the view; the others will notice the missing heartbeats. */
  end(reason: LossReason): void {
    if (this.#over === null) this.#finish(reason);
  }

  viewRead(view: RegionView, beganMs: number): void {
    if (this.#over !== null || view.version < this.#enteredVersion) return;
    const isThere = view.members.some((member) => member.incarnation === this.#self.incarnation);
    if (isThere) this.#lease?.noteView(beganMs, this.#options.monotonic.nowMs());
    else this.end("evicted");
  }

  beatsRead(read: BeatRead): void {
    const { outlook, region } = this.#options;
    const { members } = outlook.view(region);
    this.#watch.note(
      members.filter((member) => member.incarnation !== this.#self.incarnation),
      read,
    );
    const overdue = this.#watch.overdue();
    if (overdue.length > 0 && this.holdsLease() && !this.#evicting) void this.#evict(new Set(overdue));
  }

  standingsRead(standings: readonly RegionStatus[]): void {
    try {
      assertRegionAlive(this.#options.region, standings);
    } catch {
      this.end("region_dead");
    }
  }

  followed(): void {
    this.#beats.by(this.#options.monotonic.nowMs());
  }

  nextDueMs(): number | null {
    return this.#watch.nextDueMs();
  }

  /** Sends one heartbeat; if it succeeds, the lease is renewed from the instant at which the heartbeat began. */
  async #beat(): Promise<void> {
    const { store, clock, monotonic, region, outlook, log } = this.#options;
    const beganMs = monotonic.nowMs();
    this.#count += 1;
    const beat = {
      incarnation: this.#self.incarnation,
      count: this.#count,
      wall_ms: clock.now(),
      homes_seen: outlook.followed,
    };
    try {
      await store.beat(region, beat);
    } catch (error) {
      // Nobody waits for the heartbeat of an incarnation that is over.
      if (this.#over === null)
        log("warn", "cluster.beat_failed", error instanceof Error ? error.message : String(error));
      return;
    }
    if (this.#lease === null) this.#beatBeganMs = beganMs;
    else if (this.holdsLease()) this.#lease.noteBeat(beganMs, monotonic.nowMs());
  }

  async #evict(overdue: ReadonlySet<string>): Promise<void> {
    const { store, region, log } = this.#options;
    this.#evicting = true;
    try {
      const view = await changeView(store, region, (members) =>
        this.holdsLease() ? without(members, (member) => overdue.has(member.incarnation)) : null,
      );
      if (this.#over !== null) return;
      log("warn", "cluster.evicted", [...overdue].join(" "));
      this.#wrote(view);
    } catch (error) {
      log("warn", "cluster.evict_failed", error instanceof Error ? error.message : String(error));
    } finally {
      this.#evicting = false;
    }
  }

  /** I2: every member of `view` that may act has followed it, or is gone. */
  #othersFollow(view: RegionView): boolean {
    const { outlook, region } = this.#options;
    const seen = new Map(outlook.beats().map((beat) => [beat.incarnation, beat.homes_seen]));
    const acting = new Set(
      view.members.flatMap((each) => (each.state === "joining" ? [] : [each.incarnation])),
    );
    return outlook
      .view(region)
      .members.every(
        ({ incarnation }) => !acting.has(incarnation) || (seen.get(incarnation) ?? 0) >= view.version,
      );
  }

  #withSelf(members: readonly Member[]): readonly Member[] | null {
    const { silent, log } = this.#options;
    if (members.some((member) => member.incarnation === this.#self.incarnation)) return null;
    const others = members.filter((member) => member.address !== this.#self.address);
    if (others.length < members.length) log("info", "cluster.replaced", this.#self.address);
    assertProtocol({ min: this.#self.protocol_min, max: this.#self.protocol_max }, others, silent);
    return [...others, this.#self];
  }

  #withState(members: readonly Member[], state: Member["state"]): readonly Member[] | null {
    const own = members.find((member) => member.incarnation === this.#self.incarnation);
    if (own === undefined) this.end("evicted");
    this.#assertOn();
    if (own?.state === state) return null;
    return members.map((member) => (member === own ? { ...member, state } : member));
  }

  #wrote(view: RegionView): void {
    this.#options.outlook.see(view);
    this.#options.viewWritten();
  }

  #armLease(): void {
    const { timers, monotonic } = this.#options;
    const remainingMs = this.#lease?.remainingMs(monotonic.nowMs()) ?? 0;
    this.#cancelLease = timers.schedule(remainingMs + 1, () => {
      if (this.holdsLease()) this.#armLease();
    });
  }

  #assertOn(): void {
    if (this.#lease !== null) this.holdsLease();
    if (this.#over !== null) throw new MemberLifecycleEnded(this.#over === "left" ? null : this.#over);
  }

  /**
   * Waits for `condition`, checking at the hurried interval. Throws {@link MemberLifecycleEnded}, or an error if it is
   * late.
   */
  async #until(condition: () => boolean, { lateMs = Number.POSITIVE_INFINITY } = {}): Promise<void> {
    const { timers, timing, outlook, monotonic } = this.#options;
    for (;;) {
      this.#assertOn();
      if (condition()) return;
      if (monotonic.nowMs() >= lateMs) throw new StoreError("unknown", "the store did not answer in time");
      outlook.hurry(2 * timing.hurryMs);
      await new Promise<void>((resolve) => void timers.schedule(timing.hurryMs, resolve));
    }
  }

  /** Changes the view if the store can be reached. */
  async #attempt(change: Parameters<typeof changeView>[2]): Promise<void> {
    const { store, region, log } = this.#options;
    try {
      if (this.#over === null) this.#wrote(await changeView(store, region, change));
    } catch (error) {
      log("warn", "cluster.leave_failed", error instanceof Error ? error.message : String(error));
    }
  }

  #withoutSelf(members: readonly Member[]): readonly Member[] | null {
    return without(members, (member) => member.incarnation === this.#self.incarnation);
  }

  /** Ends the right to act first, then stops whatever acts, and only then informs everybody else (I1). */
  #finish(over: LossReason | "left"): void {
    this.#over = over;
    this.#lease = null;
    this.#beats.stop();
    this.#cancelLease?.();
    const { outlook, ended } = this.#options;
    outlook.watchedBy(null);
    if (over !== "left") ended(over);
    outlook.changed({ moves: [], missed: false });
  }
}

/** Returns null if nobody is dropped. */
function without(
  members: readonly Member[],
  isDropped: (member: Member) => boolean,
): readonly Member[] | null {
  return members.some(isDropped) ? members.filter((member) => !isDropped(member)) : null;
}

// A node's right to act, as the node itself sees it.
//   L1. It ends when the last heartbeat, or the last read of the view that showed the node, *began* longer ago than the lease
//       lasts: what counts is when the request was sent, because the answer may have been on its way for long.
//   L2. Once it has ended, it is never held again: a heartbeat that is confirmed too late does not renew it.
//   L3. It is checked, never announced: after a pause the first check finds it ended, whatever runs first.

export class Lease {
  readonly #leaseMs: number;
  #beatBeganMs: number;
  #viewBeganMs: number;
  #ended = false;

  /** Takes the instants on the node's monotonic clock at which its first heartbeat and its entry into the view began. */
  constructor(leaseMs: number, began: { readonly beatMs: number; readonly viewMs: number }) {
    this.#leaseMs = leaseMs;
    this.#beatBeganMs = began.beatMs;
    this.#viewBeganMs = began.viewMs;
  }

  isHeld(nowMs: number): boolean {
    if (nowMs - Math.min(this.#beatBeganMs, this.#viewBeganMs) > this.#leaseMs) this.#ended = true;
    return !this.#ended;
  }

  /** A heartbeat that began at `beganMs` is confirmed now (L2). */
  noteBeat(beganMs: number, nowMs: number): void {
    if (this.isHeld(nowMs)) this.#beatBeganMs = Math.max(this.#beatBeganMs, beganMs);
  }

  /** A read of the view that began at `beganMs` has shown the node now (L2). */
  noteView(beganMs: number, nowMs: number): void {
    if (this.isHeld(nowMs)) this.#viewBeganMs = Math.max(this.#viewBeganMs, beganMs);
  }

  /** Milliseconds until it ends unless it is renewed; 0 if it has ended. */
  remainingMs(nowMs: number): number {
    if (!this.isHeld(nowMs)) return 0;
    return Math.min(this.#beatBeganMs, this.#viewBeganMs) + this.#leaseMs - nowMs;
  }
}

// Changes a region's view by compare-and-set.
//   V1. Every attempt reads first; a change that is already in force is not made again. So an attempt of unknown outcome
//       is settled by the next one, and a change by another node is never undone.

/** An attempt fails only because another node's succeeded, and members are few. */
const attemptsMax = 32;

/**
 * Sets the members to the result of `change`; null leaves them as they are. Returns the view in force, which includes the change.
 * Throws {@link StoreError}, and whatever `change` throws.
 */
export async function changeView(
  store: ClusterStore,
  region: string,
  change: (members: readonly Member[]) => readonly Member[] | null,
): Promise<RegionView> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const view = await store.readView(region);
    const members = change(view.members);
    if (members === null) return view;
    const next = { region, version: view.version + 1, members };
    try {
      if (await store.casView(next)) return next;
    } catch (error) {
      if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
    }
  }
  throw new StoreError("unknown", `the view of ${region} changed under every attempt`);
}

/** Returns a version of the view that was written after this call began, with unchanged members. */
export async function raiseVersion(store: ClusterStore, region: string): Promise<number> {
  const view = await store.readView(region);
  const version = view.version + 1;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    try {
      // The write was refused: another node wrote that version after it was read here, which serves the same purpose.
      await store.casView({ ...view, version });
      return version;
    } catch (error) {
      if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
      if ((await store.readView(region)).version >= version) return version;
    }
  }
  throw new StoreError("unknown", `the view of ${region} could not be raised`);
}
