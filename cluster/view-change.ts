// Changes a region's view by compare-and-set.
//   V1. Every attempt reads first; a change that is already in force is not made again. So an attempt of unknown outcome
//       is settled by the next one, and a change by another node is never undone.

import { type ClusterStore, type Member, type RegionView, StoreError } from "../storage/cluster-store.ts";

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
