// Where the seal of a push is in the transparency log, and since when.
//   LL1. A leaf is said to be in the published log only if the entry at its place is this leaf: a home that was lost may have noted
//        places in a tree that it never published.
//   LL2. When it was appended and published is said only of a head that is known to be the first that covers it.

import { publishedHeads, selectCovering, writtenHeads } from "../../../actors/log-sequencer/head-times.ts";
import { logRef } from "../../../actors/messages/refs.ts";
import type { PushRoad } from "../../../ops/push-road-shape.ts";
import { parseNote } from "../../../protocol/log/note.ts";
import { readEntry } from "../../../service/log-proofs.ts";
import { type ActorStore, StoreError } from "../../../storage/actor-store.ts";
import type { LogStore } from "../../../storage/log-store.ts";

export type LogStanding = PushRoad["log"];

export interface LogLeafDeps {
  readonly store: Pick<ActorStore, "readRows">;
  readonly log: Pick<LogStore, "read" | "findLeaves" | "readCheckpoint">;
}

const nothing: LogStanding = {
  ...{ state: "unknown", leaf: null, leaf_index: null, appended_at: null, appended_size: null },
  ...{ published_at: null, published_size: null, newest_size: null, cosigned_by: [] },
};

/** `leaf` is the one that the log was told with the acceptance. */
export async function readLogLeaf(deps: LogLeafDeps, leaf: string): Promise<LogStanding> {
  try {
    return await standingOf(deps, leaf);
  } catch (error) {
    if (error instanceof StoreError) return { ...nothing, leaf };
    throw error;
  }
}

async function standingOf(deps: LogLeafDeps, leaf: string): Promise<LogStanding> {
  const { log } = deps;
  const [[found = null], checkpoint] = await Promise.all([log.findLeaves([leaf]), log.readCheckpoint()]);
  const newest = checkpoint?.size ?? 0;
  const isPublished = found !== null && found < newest;
  const isThere = !isPublished || (await readEntry(log, found, newest))?.leaf === leaf;
  const index = isThere ? found : null;
  const signed = checkpoint === null ? null : parseNote(checkpoint.note);
  const cosigned_by = signed?.ok === true ? signed.value.signatures.map(({ name }) => name) : [];
  const common = { ...nothing, leaf, newest_size: checkpoint?.size ?? null, cosigned_by };
  if (index === null) return { ...common, state: "waiting" };
  const state = isPublished ? "published" : "sequenced";
  return { ...common, state, leaf_index: index, ...(await timesOf(deps, index)) };
}

/** LL2. */
async function timesOf({ store }: LogLeafDeps, index: number) {
  const tables = [writtenHeads, publishedHeads];
  const rows = await store.readRows(
    logRef(),
    tables.map((table) => selectCovering(table, index)),
  );
  const [written = null, published = null] = tables.map((table) => {
    const row = rows.find(({ rt }) => rt === table.rt);
    const head = row === undefined ? null : table.decode(row.body, row);
    return row === undefined || head === null || head.from > index
      ? null
      : { size: row.k, at: new Date(head.at_ms).toISOString() };
  });
  return {
    ...{ appended_at: written?.at ?? null, appended_size: written?.size ?? null },
    ...{ published_at: published?.at ?? null, published_size: published?.size ?? null },
  };
}
