// An operator's declaration that a region is lost.
//
// What the store does not do automatically: before a region is declared dead, it is taken out of the keyspace's replication
// (otherwise no majority of all regions can be found), its machines are kept from writing to the others, and its nodes are
// stopped. Commits acknowledged there that had not yet reached another region are lost for the successor: none, if
// commits are replicated before they are acknowledged, and otherwise those of the last moments before the loss.
//   D1. A region is declared dead once, with a successor that is alive, or with none yet; naming or replacing the successor
//       later is a change of the same standing.
//   D2. Its nodes lose their leases as soon as they read this, and do not join while it lasts (admission.ts A4).
//   D3. Re-joining: its data centre is rebuilt from the others first. Then its successor stops taking parties over, and
//       only once every node there has followed that is the region active again; its nodes may join from then on. Parties
//       that were taken over in the meantime have their home with the successor and stay there until they are moved.

import type { TimerPort } from "../actors/system/ports.ts";
import { type ClusterStore, type RegionStatus, StoreError } from "../storage/cluster-store.ts";
import { awaitVersion } from "./moves.ts";
import { effectiveRegion } from "./placement.ts";
import type { Monotonic } from "./poller.ts";

export interface RegionStatusOptions {
  readonly store: ClusterStore;
  readonly monotonic: Monotonic;
  readonly timers: TimerPort;
  /** The region of the node that carries out the operator's command. */
  readonly region: string;
  readonly regions: readonly string[];
  /** Tells the nodes of this region to look (moves.ts F3). */
  readonly announce: () => Promise<void>;
  readonly patienceMs?: number;
}

export type DeclareOutcome =
  | "declared"
  | "region_unknown"
  /** A node cannot declare its own region dead. */
  | "own_region"
  /** It is not one of the cluster's regions, or is dead itself. */
  | "successor_unfit";

export type RejoinOutcome =
  | "rejoined"
  | "not_dead"
  /** The command must be given to a node of the region that takes over. */
  | "not_successor"
  /** A node did not follow in time: no party is taken over any more, but the region is still out. Repeat the command here. */
  | "not_followed";

const patienceMsDefault = 10_000;
const attemptsMax = 10;

/** Why a region cannot be declared dead; null if it can. Throws the store's error. */
export async function declareFault(
  { store, regions, region: own }: RegionStatusOptions,
  region: string,
  successor: string | null,
): Promise<Exclude<DeclareOutcome, "declared"> | null> {
  if (!regions.includes(region)) return "region_unknown";
  if (region === own) return "own_region";
  if (successor === null) return null;
  const standing = (await store.readStandings()).find((each) => each.region === successor);
  const isFit = regions.includes(successor) && successor !== region && standing?.status !== "dead";
  return isFit ? null : "successor_unfit";
}

/** Declares a region dead (D1). Repeatable. Throws the store's error. */
export async function declareDead(
  options: RegionStatusOptions,
  region: string,
  successor: string | null,
): Promise<DeclareOutcome> {
  const fault = await declareFault(options, region, successor);
  if (fault !== null) return fault;
  await stand(options.store, region, { status: "dead", successor });
  return "declared";
}

/** Lets a region re-join (D3). Repeatable. Throws the store's error. */
export async function rejoin(options: RegionStatusOptions, region: string): Promise<RejoinOutcome> {
  const { store } = options;
  const standings = new Map((await store.readStandings()).map((each) => [each.region, each]));
  if (standings.get(region)?.status !== "dead") return "not_dead";
  const heir = effectiveRegion(region, (each) => standings.get(each));
  if (heir !== null && heir !== options.region) return "not_successor";
  await stand(store, region, { status: "dead", successor: null });
  const patienceMs = options.patienceMs ?? patienceMsDefault;
  if (!(await awaitVersion({ ...options, patienceMs }))) return "not_followed";
  await stand(store, region, { status: "active", successor: null });
  return "rejoined";
}

async function stand(
  store: ClusterStore,
  region: string,
  wanted: Pick<RegionStatus, "status" | "successor">,
): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const known = (await store.readStandings()).find((each) => each.region === region);
    if (known?.status === wanted.status && known.successor === wanted.successor) return;
    try {
      if (await store.casStanding({ region, ...wanted, version: (known?.version ?? 0) + 1 })) return;
    } catch (error) {
      if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
    }
  }
  throw new StoreError("unknown", `the standing of ${region} changed under every attempt`);
}

// Lists the nodes of a region that show signs of life, for an operator who is about to declare the region dead.
//   S1. A heartbeat whose count changes while it is watched is a sign of life, whatever its age: heartbeats of another region
//       arrive late. The absence of such a sign proves nothing: heartbeats of a region that is cut off cannot be seen.

export interface BeatingOptions {
  readonly store: Pick<ClusterStore, "readBeats" | "readView">;
  readonly timers: TimerPort;
}

/**
 * Returns `address (incarnation)` of each after `watchMs`, or only the incarnation if the region's view does not contain
 * it.
 */
export async function stillBeating(
  { store, timers }: BeatingOptions,
  region: string,
  watchMs: number,
): Promise<readonly string[]> {
  const before = new Map((await store.readBeats(region)).map((beat) => [beat.incarnation, beat.count]));
  await new Promise<void>((resolve) => void timers.schedule(watchMs, resolve));
  const [beats, view] = await Promise.all([store.readBeats(region), store.readView(region)]);
  const addresses = new Map(view.members.map((member) => [member.incarnation, member.address]));
  return beats
    .filter(({ incarnation, count }) => before.get(incarnation) !== count)
    .map(({ incarnation }) => {
      const address = addresses.get(incarnation);
      return address === undefined ? incarnation : `${address} (${incarnation})`;
    })
    .sort();
}
