// Where the seal of a push is in the transparency log, and since when.
//   LL1. A leaf is said to be in the published log only if the entry at its place is this leaf: a home that was lost may have noted
//        places in a tree that it never published.
//   LL2. When it was appended and published is said only of a head that is known to be the first that covers it.

import { publishedHeads, selectCovering, writtenHeads } from "../../../actors/log-sequencer/head-times.ts";
import { logRef } from "../../../actors/messages/refs.ts";
import type { PushRoad } from "../../../ops/push-road-shape.ts";
import { parseEnvelope } from "../../../protocol/dsse.ts";
import { sha256 } from "../../../protocol/hash.ts";
import { sealLeafOf } from "../../../protocol/log/leaves.ts";
import { parseNote } from "../../../protocol/log/note.ts";
import { readEntry } from "../../../service/log-proofs.ts";
import { type ActorStore, StoreError } from "../../../storage/actor-store.ts";
import type { LogStore } from "../../../storage/log-store.ts";
import type { RecordStore } from "../../../storage/record-store.ts";

export type LogStanding = PushRoad["log"];

export interface LogLeafDeps {
  readonly store: Pick<ActorStore, "readRows">;
  readonly log: Pick<LogStore, "read" | "findLeaves" | "readCheckpoint">;
  readonly records: Pick<RecordStore, "readSeal">;
}

const nothing: LogStanding = {
  ...{ state: "unknown", leaf: null, leaf_index: null, appended_at: null, appended_size: null },
  ...{ published_at: null, published_size: null, newest_size: null, cosigned_by: [] },
};

/** `told`: the leaf that the log was told with the acceptance; undefined where an earlier release accepted the push. */
export async function readLogLeaf(
  deps: LogLeafDeps,
  { pushId, told }: { readonly pushId: string; readonly told: string | undefined },
): Promise<LogStanding> {
  try {
    const leaf = told ?? (await leafOf(deps, pushId));
    return leaf === null ? nothing : await standingOf(deps, leaf, told !== undefined);
  } catch (error) {
    if (error instanceof StoreError) return { ...nothing, leaf: told ?? null };
    throw error;
  }
}

async function leafOf({ records }: LogLeafDeps, pushId: string): Promise<string | null> {
  const seal = await records.readSeal(pushId);
  const parsed = seal === null ? null : parseEnvelope(JSON.parse(seal.envelope));
  return parsed?.ok === true ? sealLeafOf(parsed.value, sha256) : null;
}

async function standingOf(deps: LogLeafDeps, leaf: string, isTold: boolean): Promise<LogStanding> {
  const { log } = deps;
  const [[found = null], checkpoint] = await Promise.all([log.findLeaves([leaf]), log.readCheckpoint()]);
  const newest = checkpoint?.size ?? 0;
  const isPublished = found !== null && found < newest;
  const isThere = !isPublished || (await readEntry(log, found, newest))?.leaf === leaf;
  const index = isThere ? found : null;
  const signed = checkpoint === null ? null : parseNote(checkpoint.note);
  const cosigned_by = signed?.ok === true ? signed.value.signatures.map(({ name }) => name) : [];
  const common = { ...nothing, leaf, newest_size: checkpoint?.size ?? null, cosigned_by };
  if (index === null) return { ...common, state: isTold ? "waiting" : "absent" };
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
