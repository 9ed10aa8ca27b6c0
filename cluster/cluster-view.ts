// What this node knows about its cluster: views, standings and moves, polled continuously whether or not it is a member.
// Acting on it is left to member-lifecycle.ts (this node's own membership) and placement.ts.
// Also the log of outages and the failure detector.
//   O1. Nothing that is known is replaced by something older: views, standings and moves are compared by their versions.
//   O2. `followed` is a version of the region's view such that, since then, this node has read the moves and standings,
//       and every listener has finished what followed from them. Members publish it with their heartbeats, so a node that
//       writes a move or a member and then a view knows when all others act by it.
//   O3. The region's own view, the heartbeats and the rest are read separately: a read that hangs delays no other (the lease
//       depends on the first), and another region that is unavailable delays nothing in this one.

import type { TimerPort } from "../actors/system/ports.ts";
import type {
  Beat,
  ClusterStore,
  Member,
  PartyHome,
  RegionStatus,
  RegionView,
} from "../storage/cluster-store.ts";
import { type ClusterTiming, type Monotonic, Poller } from "./poller.ts";

export type ClusterLog = (level: "info" | "warn" | "error", event: string, detail: string) => void;

export interface Change {
  /** Homes from the moves of the last day that were not known yet. */
  readonly moves: readonly PartyHome[];
  /** Moves may have been missed, so cached homes must be discarded. */
  readonly missed: boolean;
}

/** Called on every change. The promise that it returns is awaited before the change counts as followed (O2). */
export type ChangeListener = (change: Change) => void | Promise<void>;

/** Watches over this node's own membership. */
export interface Observer {
  viewRead(view: RegionView, beganMs: number): void;
  beatsRead(read: BeatRead): void;
  standingsRead(standings: readonly RegionStatus[]): void;
  followed(version: number): void;
  /** When the heartbeats should be read again at the latest; null for the usual interval. */
  nextDueMs(): number | null;
}

export interface ClusterViewOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  readonly region: string;
  /** All regions of the cluster, including the node's own. */
  readonly regions: readonly string[];
  readonly timing: ClusterTiming;
  readonly log: ClusterLog;
}

/** The store keeps moves for a day; a node that has read none for this long looks up every home again. */
const movesMissedMs = 12 * 3_600_000;
const nothing: Change = { moves: [], missed: false };

export class ClusterView {
  readonly #options: ClusterViewOptions;
  readonly #views = new Map<string, RegionView>();
  readonly #standings = new Map<string, RegionStatus>();
  readonly #moveVersions = new Map<string, number>();
  readonly #leavingSinceMs = new Map<string, number>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #cycles: { readonly view: Poller; readonly beats: Poller; readonly rest: Poller };
  readonly #outage: OutageLog;
  #isStopped = false;
  #observer: Observer | null = null;
  #beats: readonly Beat[] = [];
  #movesReadMs = Number.NEGATIVE_INFINITY;
  #following: Promise<void> = Promise.resolve();
  #hurryUntilMs = Number.NEGATIVE_INFINITY;
  generation = 0;
  /** See O2. */
  followed = 0;

  constructor(options: ClusterViewOptions) {
    this.#options = options;
    const { timing } = options;
    this.#outage = new OutageLog({
      ...options,
      failed: (detail) => this.#tell("warn", "cluster.look_failed", detail),
      over: (detail) => this.#tell("info", "cluster.look_succeeded", detail),
    });
    const everyMs = (): number => (this.#isHurried ? timing.hurryMs : timing.viewMs);
    const cycle = (what: string, look: () => Promise<void>): Poller =>
      new Poller({
        ...options,
        run: () => this.#outage.watch(what, look),
        everyMs,
        gapMs: timing.hurryMs / 2,
      });
    this.#cycles = {
      view: cycle("the view", () => this.#lookAtView()),
      beats: cycle("the beats", () => this.#lookAtBeats()),
      rest: cycle("moves and standings", () => this.#lookAtRest()),
    };
  }

  start(): void {
    this.#isStopped = false;
    for (const cycle of Object.values(this.#cycles)) cycle.start();
  }

  /** Starts no further polls; the results of those under way are ignored. */
  stop(): void {
    this.#isStopped = true;
    for (const cycle of Object.values(this.#cycles)) cycle.stop();
  }

  watchedBy(observer: Observer | null): void {
    this.#observer = observer;
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.add(listener);
  }

  view(region: string): RegionView {
    return this.#views.get(region) ?? { region, version: 0, members: [] };
  }

  standings(): readonly RegionStatus[] {
    return [...this.#standings.values()];
  }

  standing(region: string): RegionStatus | undefined {
    return this.#standings.get(region);
  }

  /** The most recently read heartbeats of the own region. */
  beats(): readonly Beat[] {
    return this.#beats;
  }

  /** How long the member has been seen leaving; 0 if it is not leaving. */
  leavingForMs(member: Member): number {
    const sinceMs = this.#leavingSinceMs.get(member.incarnation);
    return sinceMs === undefined ? 0 : this.#options.monotonic.nowMs() - sinceMs;
  }

  /** Polls everything again; resolves when the results of reads that began after this call are known. Never rejects. */
  async refresh(): Promise<void> {
    await this.#cycles.view.fresh();
    await this.#cycles.rest.fresh();
  }

  /** Polls view and heartbeats at short intervals for the given time. */
  hurry(forMs: number): void {
    const { monotonic, timing } = this.#options;
    this.#hurryUntilMs = Math.max(this.#hurryUntilMs, monotonic.nowMs() + forMs);
    for (const cycle of Object.values(this.#cycles)) cycle.by(monotonic.nowMs() + timing.hurryMs);
  }

  /** Takes in a view that was read or written (O1). */
  see(view: RegionView): void {
    if (view.version <= this.view(view.region).version) return;
    this.#views.set(view.region, view);
    if (view.region === this.#options.region) this.#noteLeaving(view.members);
    this.changed(nothing);
  }

  changed(change: Change): void {
    this.generation += 1;
    const busy = [...this.#listeners].map(async (listener) => listener(change));
    const { timers, timing, log } = this.#options;
    const late = Promise.withResolvers<void>();
    const cancel = timers.schedule(timing.followMs, late.resolve);
    const finished = Promise.allSettled(busy).then((outcomes) => {
      cancel();
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") log("error", "cluster.follow_failed", String(outcome.reason));
      }
    });
    const before = this.#following;
    this.#following = Promise.race([finished, late.promise]).then(() => before);
  }

  #tell(...line: Parameters<ClusterLog>): void {
    if (!this.#isStopped) this.#options.log(...line);
  }

  get #isHurried(): boolean {
    return this.#options.monotonic.nowMs() < this.#hurryUntilMs;
  }

  #noteLeaving(members: readonly Member[]): void {
    const leaving = new Set(members.flatMap((each) => (each.state === "leaving" ? [each.incarnation] : [])));
    for (const incarnation of this.#leavingSinceMs.keys()) {
      if (!leaving.has(incarnation)) this.#leavingSinceMs.delete(incarnation);
    }
    for (const incarnation of leaving) {
      if (!this.#leavingSinceMs.has(incarnation))
        this.#leavingSinceMs.set(incarnation, this.#options.monotonic.nowMs());
    }
  }

  async #lookAtView(): Promise<void> {
    const { store, region, monotonic } = this.#options;
    const beganMs = monotonic.nowMs();
    const view = await store.readView(region);
    this.see(view);
    this.#observer?.viewRead(view, beganMs);
  }

  async #lookAtBeats(): Promise<void> {
    const { store, region, monotonic } = this.#options;
    const beganMs = monotonic.nowMs();
    const beats = await store.readBeats(region);
    this.#beats = beats;
    this.#observer?.beatsRead({ beats, beganMs, endedMs: monotonic.nowMs() });
    const dueMs = this.#observer?.nextDueMs() ?? null;
    if (dueMs !== null) this.#cycles.beats.by(dueMs);
  }

  async #lookAtRest(): Promise<void> {
    const { store, region, regions } = this.#options;
    const { version } = this.view(region);
    const others = regions.filter((each) => each !== region);
    const views = others.map((each) =>
      this.#outage.watch(`the view of ${each}`, async () => this.see(await store.readView(each))),
    );
    const [moves, standings] = await Promise.all([store.readMoves(), store.readStandings()]);
    this.#learnMoves(moves);
    this.#learnStandings(standings);
    await this.#following;
    if (version > this.followed) {
      this.followed = version;
      this.#observer?.followed(version);
    }
    await Promise.all(views);
  }

  #learnMoves(moves: readonly PartyHome[]): void {
    const nowMs = this.#options.monotonic.nowMs();
    const missed = this.#movesReadMs > 0 && nowMs - this.#movesReadMs > movesMissedMs;
    this.#movesReadMs = nowMs;
    const known = new Set(moves.map((home) => home.party));
    for (const party of this.#moveVersions.keys()) if (!known.has(party)) this.#moveVersions.delete(party);
    const news = moves.filter((home) => (this.#moveVersions.get(home.party) ?? 0) < home.version);
    for (const home of news) this.#moveVersions.set(home.party, home.version);
    if (missed || news.length > 0) this.changed({ moves: news, missed });
  }

  #learnStandings(standings: readonly RegionStatus[]): void {
    let isNew = false;
    for (const standing of standings) {
      if ((this.#standings.get(standing.region)?.version ?? 0) >= standing.version) continue;
      this.#standings.set(standing.region, standing);
      isNew = true;
    }
    if (isNew) this.changed(nothing);
    this.#observer?.standingsRead(this.standings());
  }
}

// A log of repeated work that fails while something is unavailable, in few lines.
//   T1. The first failure is logged at once, later ones at most once a minute, with the number of failures since the last line.
//   T2. One line reports the end: once everything that had failed has worked since.
//   T3. A run that began before a run that has already ended reports nothing new: a call that hung for long is not a new failure.

export interface OutageLogOptions {
  readonly monotonic: Monotonic;
  readonly failed: (detail: string) => void;
  readonly over: (detail: string) => void;
}

const tellAgainMs = 60_000;

export class OutageLog {
  readonly #options: OutageLogOptions;
  /** The work that failed last time. */
  readonly #failing = new Set<string>();
  /** For each kind of work, the number of the latest run that has ended (T3). */
  readonly #ended = new Map<string, number>();
  #runs = 0;
  #failures = 0;
  #untold = 0;
  #toldMs = 0;

  constructor(options: OutageLogOptions) {
    this.#options = options;
  }

  /** Runs `work`, called `what` each time. Never rejects. */
  async watch(what: string, work: () => Promise<void>): Promise<void> {
    this.#runs += 1;
    const run = this.#runs;
    try {
      await work();
      if (this.#isNews(what, run)) this.#worked(what);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      if (this.#isNews(what, run)) this.#failed(what, detail);
    }
  }

  #isNews(what: string, run: number): boolean {
    if ((this.#ended.get(what) ?? 0) > run) return false;
    this.#ended.set(what, run);
    return true;
  }

  #failed(what: string, detail: string): void {
    const { monotonic, failed } = this.#options;
    const nowMs = monotonic.nowMs();
    const isFirst = this.#failing.size === 0;
    this.#failing.add(what);
    this.#failures = isFirst ? 1 : this.#failures + 1;
    this.#untold = isFirst ? 1 : this.#untold + 1;
    if (!isFirst && nowMs - this.#toldMs < tellAgainMs) return;
    failed(
      isFirst ? `${what}: ${detail}` : `${what}: ${detail} (failures since the last line: ${this.#untold})`,
    );
    this.#toldMs = nowMs;
    this.#untold = 0;
  }

  #worked(what: string): void {
    if (!this.#failing.delete(what) || this.#failing.size > 0) return;
    this.#options.over(`failures: ${this.#failures}`);
  }
}

// The failure detector: notices that a member no longer sends heartbeats.
//   W1. Time is this node's own monotonic clock; no wall clock is trusted.
//   W2. A member is overdue if a read of the heartbeats that *began* `evictMs` after its count was last seen to change finds
//       the same count. So neither a slow answer nor a pause of this node makes another node overdue.

interface Seen {
  readonly count: number | null;
  readonly sinceMs: number;
  overdue: boolean;
}

export interface BeatRead {
  readonly beats: readonly Beat[];
  readonly beganMs: number;
  readonly endedMs: number;
}

export class BeatWatch {
  readonly #evictMs: number;
  readonly #seen = new Map<string, Seen>();
  #latestBeganMs = Number.NEGATIVE_INFINITY;

  constructor(evictMs: number) {
    this.#evictMs = evictMs;
  }

  /** Compares a read with the earlier ones of `members`; forgets all others. */
  note(members: readonly Pick<Member, "incarnation">[], read: BeatRead): void {
    // Reads may overtake each other; one that began earlier contains nothing newer.
    if (read.beganMs < this.#latestBeganMs) return;
    this.#latestBeganMs = read.beganMs;
    const counts = new Map(read.beats.map((beat) => [beat.incarnation, beat.count]));
    const watched = new Set(members.map((member) => member.incarnation));
    for (const incarnation of this.#seen.keys())
      if (!watched.has(incarnation)) this.#seen.delete(incarnation);
    for (const incarnation of watched) {
      const count = counts.get(incarnation) ?? null;
      const seen = this.#seen.get(incarnation);
      if (seen === undefined || seen.count !== count) {
        this.#seen.set(incarnation, { count, sinceMs: read.endedMs, overdue: false });
      } else if (read.beganMs - seen.sinceMs >= this.#evictMs) seen.overdue = true;
    }
  }

  /** The incarnations that are overdue (W2). */
  overdue(): readonly string[] {
    return [...this.#seen].flatMap(([incarnation, { overdue }]) => (overdue ? [incarnation] : []));
  }

  /** The instant at which a read must begin to find the next member overdue; null if there is none. */
  nextDueMs(): number | null {
    let earliestMs: number | null = null;
    for (const { sinceMs, overdue } of this.#seen.values()) {
      const dueMs = sinceMs + this.#evictMs;
      if (!overdue && (earliestMs === null || dueMs < earliestMs)) earliestMs = dueMs;
    }
    return earliestMs;
  }
}
