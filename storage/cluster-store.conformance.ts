// What every implementation of the port in cluster-store.ts must pass: obligations C1–C6 as far as a healthy engine shows
// them. What happens while regions are unreachable is covered by the tests of each engine. An adapter's test calls
// `clusterStoreConformance` with a way to open it, and `clusterRegionsConformance` as well if the store has two regions.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StoreError } from "./actor-store.ts";
import type { Beat, ClusterStore, Member, PartyHome, RegionStatus, RegionView } from "./cluster-store.ts";

export interface OpenClusterStore {
  /** At least one; tests across regions need at least two. */
  readonly regions: readonly string[];
  /** Opens another handle, that of a node in that region. */
  handle(region: string): Promise<ClusterStore>;
  close(): Promise<void>;
}

let counter = 0;
/** A unique name for each test, so that stores which keep their contents between runs can be used. */
function fresh(prefix: string): string {
  counter += 1;
  return `${prefix}-${Date.now().toString(36)}-${counter}`;
}

/** A party's UUID. */
function freshParty(): string {
  counter += 1;
  return `${Date.now().toString(16).padStart(12, "0").slice(-8)}-0000-4000-8000-${counter.toString(16).padStart(12, "0")}`;
}

/** An engine may answer one of two that compete, or both, that it does not know what became of theirs. */
async function orUnknown<T>(outcome: Promise<T>): Promise<T | "unknown"> {
  return outcome.catch((error: unknown) => {
    if (error instanceof StoreError && error.effect === "unknown") return "unknown";
    throw error;
  });
}

function member(incarnation: string, changes: Partial<Member> = {}): Member {
  return {
    incarnation,
    address: "127.0.0.1:7000",
    state: "joining",
    protocol_min: 1,
    protocol_max: 2,
    joined_at_ms: 1_780_000_000_123,
    ...changes,
  };
}

function home(party: string, region: string, changes: Partial<PartyHome> = {}): PartyHome {
  return { party, region, moving_to: null, version: 1, ...changes };
}

/** The current view, whatever earlier tests or runs left. */
async function nextView(
  store: ClusterStore,
  region: string,
  members: readonly Member[],
): Promise<RegionView> {
  return { region, version: (await store.readView(region)).version + 1, members };
}

export function clusterStoreConformance(name: string, open: () => Promise<OpenClusterStore>): void {
  describe(`${name} keeps the contract of a cluster store`, () => {
    let opened: OpenClusterStore;
    let region: string;
    let store: ClusterStore;
    let other: ClusterStore;

    beforeEach(async () => {
      opened = await open();
      region = opened.regions[0] ?? "";
      store = await opened.handle(region);
      other = await opened.handle(region);
    });
    afterEach(() => opened.close());

    const context = { region: () => region, store: () => store, other: () => other, opened: () => opened };
    describeViews(context);
    describeBeats(context);
    describeHomes(context);
    describeStandings(context);
  });
}

/** The obligations between two regions. */
export function clusterRegionsConformance(name: string, open: () => Promise<OpenClusterStore>): void {
  describe(`${name} keeps the contract of a cluster store between regions`, () => {
    let opened: OpenClusterStore;
    let [region, elsewhere] = ["", ""];
    let near: ClusterStore;
    let far: ClusterStore;

    beforeEach(async () => {
      opened = await open();
      [region = "", elsewhere = ""] = opened.regions;
      if (elsewhere === "") throw new Error("these tests need a store with two regions");
      near = await opened.handle(region);
      far = await opened.handle(elsewhere);
    });
    afterEach(() => opened.close());

    it("C4, C5: every region agrees on a home, and hears of its moves", async () => {
      const party = freshParty();
      const claims = [home(party, region), home(party, elsewhere)] as const;
      const outcomes = await Promise.all([
        orUnknown(near.casHome(claims[0])),
        orUnknown(far.casHome(claims[1])),
      ]);
      expect(outcomes.filter((each) => each === true).length).toBeLessThanOrEqual(1);
      // Where both came to nothing that they know of, none of them may be in force.
      if ((await far.readHome(party)) === null) await near.casHome(claims[0]);
      const settled = await far.readHome(party);
      const winner = outcomes.indexOf(true);
      expect(winner < 0 ? claims : [claims[winner]]).toContainEqual(settled);
      expect(await near.readHome(party)).toEqual(settled);
      const moving = home(party, region, { moving_to: elsewhere, version: 2 });
      expect(await near.casHome(moving)).toBe(true);
      expect(await far.readMoves()).toContainEqual(moving);
      expect(await far.readHome(party)).toEqual(moving);
    });

    it("C3, C7: other regions read a region's view and standing, too", async () => {
      const view = await nextView(near, region, [member(fresh("a"))]);
      await near.casView(view);
      // It may be stale for a moment, but never wrong.
      expect([view.version, view.version - 1]).toContain((await far.readView(region)).version);
      const dead: RegionStatus = { region: fresh("region"), status: "dead", successor: region, version: 1 };
      await near.casStanding(dead);
      expect(await far.readStandings()).toContainEqual(dead);
    });
  });
}

interface Context {
  readonly region: () => string;
  /** Two nodes of one region. */
  readonly store: () => ClusterStore;
  readonly other: () => ClusterStore;
  readonly opened: () => OpenClusterStore;
}

function describeViews({ region, store, other, opened }: Context): void {
  it("a view that was never written has version 0 and nobody in it", async () => {
    const unknown = fresh("nowhere");
    expect(await store().readView(unknown)).toEqual({ region: unknown, version: 0, members: [] });
  });

  it("C1, C3: a view follows the one before it, and its region reads it as it was written", async () => {
    const members = [member("a"), member("b", { state: "leaving", address: "[::1]:7001" })];
    const first = await nextView(store(), region(), members);
    expect(await store().casView(first)).toBe(true);
    expect(await other().readView(region())).toEqual(first);
    const second = { ...first, version: first.version + 1, members: [] };
    expect(await other().casView(second)).toBe(true);
    expect(await store().readView(region())).toEqual(second);
  });

  it("C1: what does not follow the view in force changes nothing", async () => {
    const first = await nextView(store(), region(), [member("a")]);
    await store().casView(first);
    for (const version of [first.version - 1, first.version, first.version + 2].filter((each) => each > 0)) {
      expect(await other().casView({ ...first, version, members: [] })).toBe(false);
    }
    expect(await store().readView(region())).toEqual(first);
  });

  it("C1: of many that race for a version one is applied", async () => {
    const { version } = await store().readView(region());
    const writers = await Promise.all(["a", "b", "c", "d"].map(() => opened().handle(region())));
    const outcomes = await Promise.all(
      writers.map((writer, index) =>
        // The reader must then see which of the racing writes were applied (C2).
        writer
          .casView({ region: region(), version: version + 1, members: [member(`racer-${index}`)] })
          .catch(() => null),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === true).length).toBeLessThanOrEqual(1);
    const last = { region: region(), version: version + 1, members: [member("last")] };
    if ((await store().readView(region())).version === version) await store().casView(last);
    const view = await store().readView(region());
    if (outcomes.includes(true)) {
      expect(view.members[0]?.incarnation).toBe(`racer-${outcomes.indexOf(true)}`);
    }
    expect(view.version).toBe(version + 1);
  });
}

function describeBeats({ region, store, other }: Context): void {
  it("C3: the last beat of each incarnation is there, the views untouched", async () => {
    const [one, two] = [fresh("one"), fresh("two")];
    const beat = (incarnation: string, count: number): Beat => ({
      incarnation,
      count,
      wall_ms: 1_780_000_000_000 + count,
      homes_seen: count * 2,
    });
    const before = await store().readView(region());
    await store().beat(region(), beat(one, 1));
    await other().beat(region(), beat(two, 7));
    await store().beat(region(), beat(one, 2));
    const mine = (await other().readBeats(region())).filter((each) => [one, two].includes(each.incarnation));
    expect(mine.sort((a, b) => a.count - b.count)).toEqual([beat(one, 2), beat(two, 7)]);
    expect(await store().readView(region())).toEqual(before);
    expect(await store().readBeats(fresh("nowhere"))).toEqual([]);
  });

  it("the store's clock is in milliseconds and does not stand still or run back", async () => {
    const first = await store().storeTimeMs();
    expect(first).toBeGreaterThan(1_600_000_000_000);
    // The clocks of two nodes of one store may differ slightly.
    expect(await other().storeTimeMs()).toBeGreaterThanOrEqual(first - 2_000);
  });
}

function describeHomes({ region, store, other }: Context): void {
  it("C1, C4: a home is inserted once, and whoever comes second learns whose it is", async () => {
    const party = freshParty();
    expect(await store().readHome(party)).toBeNull();
    expect(await store().readHomeNearby(party)).toBeNull();
    expect(await store().casHome(home(party, region()))).toBe(true);
    expect(await other().casHome(home(party, "elsewhere"))).toBe(false);
    expect(await other().readHome(party)).toEqual(home(party, region()));
    expect(await store().readHomeNearby(party)).toEqual(home(party, region()));
  });

  it("C5: a changed home is noted as a move, a first one is not", async () => {
    const [still, moved] = [freshParty(), freshParty()];
    await store().casHome(home(still, region()));
    await store().casHome(home(moved, region()));
    const moving = home(moved, region(), { moving_to: "elsewhere", version: 2 });
    expect(await store().casHome(moving)).toBe(true);
    const noted = await other().readMoves();
    expect(noted).toContainEqual(moving);
    expect(noted.some((each) => each.party === still)).toBe(false);
    const arrived = home(moved, "elsewhere", { version: 3 });
    expect(await other().casHome(arrived)).toBe(true);
    expect((await store().readMoves()).filter((each) => each.party === moved)).toEqual([arrived]);
    expect(await store().casHome({ ...arrived, moving_to: "further" })).toBe(false);
    expect(await store().readHome(moved)).toEqual(arrived);
  });

  it("C5: a note may be written again, and never replaces that of a later home", async () => {
    const party = freshParty();
    const homes = [1, 2, 3].map((version) => home(party, `region-${version}`, { version }));
    for (const each of homes) await store().casHome(each);
    const [, second, third] = homes;
    if (second === undefined || third === undefined) throw new Error("three homes were made");
    await other().noteMove(third);
    await other().noteMove(second);
    expect((await store().readMoves()).filter((each) => each.party === party)).toEqual([third]);
  });
}

function describeStandings({ store, other }: Context): void {
  it("C1, C4: a standing follows the one before it, and nobody spoke of the others", async () => {
    const name = fresh("region");
    const standingOf = async (reader: ClusterStore): Promise<RegionStatus | undefined> =>
      (await reader.readStandings()).find((each) => each.region === name);
    expect(await standingOf(store())).toBeUndefined();
    const dead: RegionStatus = { region: name, status: "dead", successor: null, version: 1 };
    expect(await store().casStanding(dead)).toBe(true);
    expect(await other().casStanding({ ...dead, successor: "b" })).toBe(false);
    expect(await standingOf(other())).toEqual(dead);
    const named: RegionStatus = { ...dead, successor: "b", version: 2 };
    expect(await other().casStanding(named)).toBe(true);
    expect(await standingOf(store())).toEqual(named);
    expect(await other().casStanding({ ...named, status: "active", successor: null, version: 3 })).toBe(true);
    expect(await standingOf(store())).toMatchObject({ status: "active", successor: null, version: 3 });
  });
}
