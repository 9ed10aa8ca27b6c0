// Building a collection's index anew: a further generation beside the serving one, from every row there is.
//   G1. The serving generation is searched and written as ever until the new one takes its place in one step. Whatever
//       happens before leaves it as it was.
//   G2. Every change is in the new generation when it begins to serve. The generation and its alias are there, and known to
//       every node of the cluster, before the first row is read from the source. A change whose `apply` had read the
//       aliases by then was in the truth before; any other is written to both (E1 of row-index.ts). External versions sort
//       out which of the two is newer.
//   G3. One at a time: the alias of the generation being built can have one only. A builder shows that it is at work; one
//       that has not for {@link abandonedAfterMs} is taken for dead, and its generation removed by the next.
//   G4. A builder that was taken for dead cannot switch: its generation does not bear the alias any more.

import { setTimeout as after } from "node:timers/promises";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { backOffMs } from "../../std/back-off.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { indexUnavailable, type RowChange } from "../row-index.ts";
import { bulkRequests, sendBulk } from "./bulk.ts";
import type { Engine } from "./engine.ts";
import {
  awaitSearchable,
  type GenerationNote,
  makeGeneration,
  readGenerations,
  readNote,
  removeGeneration,
  switchGenerations,
  withdrawGeneration,
  writeNote,
} from "./generations.ts";
import { type IndexLayout, layoutOf } from "./layout.ts";
import type { IndexNames } from "./names.ts";
import { Refresher } from "./refresher.ts";
import type { ElasticRowIndex } from "./row-index.ts";

export interface Rebuild {
  readonly collection: string;
  /**
   * Every record's last change, removals too: the truth, which a change is in before it is applied to the index. Read from
   * its beginning once the rebuild is announced, in any order.
   */
  readonly source: AsyncIterable<RowChange>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** Called after each batch with the changes written so far. */
  readonly onProgress?: (changes: number) => void;
}

export interface Rebuilt {
  /** Index of the generation that serves now. */
  readonly generation: string;
  /** Changes read from the source. */
  readonly changes: number;
}

/** `rebuild_under_way`: another builder is at work. `rebuild_superseded`: this one was taken for dead meanwhile. */
export type RebuildRefusal = "rebuild_under_way" | "rebuild_superseded";

/** Silence after which a builder is taken for dead. */
export const abandonedAfterMs = 120_000;
/** A builder shows that it is at work this often, between two batches. */
const noteEveryMs = 15_000;
/** Changes written together. */
const batchChanges = 2_000;
const bulkSlots = 2;
/** A batch is sent again this often when the cluster cannot take it now, after 0.2 s, 0.4 s … */
const retriesMax = 6;
const retryDelays = { firstMs: 200, maxMs: 6_400 };

/** Builds a collection's index anew. Throws `IndexUnavailable` when the cluster cannot go on, and what the source throws. */
export async function rebuildIndex(
  index: ElasticRowIndex,
  rebuild: Rebuild,
): Promise<Result<Rebuilt, RebuildRefusal>> {
  const { engine, settings } = index;
  const names = index.namesOf(rebuild.collection);
  const layout = layoutOf(rebuild.collection);
  const found = await removeRemains(engine, names, rebuild.nowMs());
  if (found.serving === null) throw indexUnavailable("incomplete", `There is no index ${names.serving}.`);
  if (found.isBusy) return underWay(names);
  const to = await makeGeneration(engine, {
    names,
    layout,
    settings,
    number: found.numberMax + 1,
    role: "next",
    builtAtMs: rebuild.nowMs(),
  });
  if (to === null) return underWay(names);
  try {
    await awaitSearchable(engine, to);
    const changes = await copy({ engine, layout, to }, rebuild);
    // What is written while it was copied is refreshed by its writers.
    await new Refresher(engine).refresh(to);
    if (await takePlace(engine, names, { from: found.serving, to })) {
      await finish(engine, { layout, from: found.serving, to });
      return ok({ generation: to, changes });
    }
  } catch (error) {
    await giveUp(engine, names, to);
    throw error;
  }
  await giveUp(engine, names, to);
  return refuse("rebuild_superseded", `Another rebuild of ${names.serving} took the place of this one.`);
}

/** Makes the switch; one of which the answer was lost is looked for. */
async function takePlace(
  engine: Engine,
  names: IndexNames,
  pair: { readonly from: string; readonly to: string },
): Promise<boolean> {
  try {
    return await switchGenerations(engine, names, pair);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    const { serving } = await readGenerations(engine, names);
    if (serving === pair.to) return true;
    throw error;
  }
}

function underWay(names: IndexNames): Result<never, RebuildRefusal> {
  return refuse("rebuild_under_way", `A rebuild of ${names.serving} is under way.`);
}

interface Found {
  readonly serving: string | null;
  readonly numberMax: number;
  /** Somebody is building. */
  readonly isBusy: boolean;
}

/** Removes what earlier rebuilds left: generations in no role, and one whose builder has gone silent (G3). */
async function removeRemains(engine: Engine, names: IndexNames, nowMs: number): Promise<Found> {
  const { serving, next, others, numberMax } = await readGenerations(engine, names);
  for (const index of others) await removeGeneration(engine, index);
  const found = { serving, numberMax };
  if (next === null) return { ...found, isBusy: false };
  const note = await readNote(engine, next);
  const isSilent = nowMs - (note?.built_at_ms ?? 0) > abandonedAfterMs;
  if (note === null || !isSilent) return { ...found, isBusy: note !== null };
  // Refused where its builder woke up and finished after all.
  return { ...found, isBusy: !(await withdrawGeneration(engine, names, next)) };
}

interface Copy {
  readonly engine: Engine;
  readonly layout: IndexLayout;
  readonly to: string;
}

/** Writes all of the source; the number of changes. */
async function copy(
  { engine, layout, to }: Copy,
  { source, nowMs, onProgress, collection }: Rebuild,
): Promise<number> {
  const slots = new Semaphore(bulkSlots);
  let notedAtMs = nowMs();
  let written = 0;
  let batch: RowChange[] = [];
  const flush = async (): Promise<void> => {
    await writeAll({ engine, slots, generation: to }, batch);
    written += batch.length;
    batch = [];
    onProgress?.(written);
    if (nowMs() - notedAtMs < noteEveryMs) return;
    notedAtMs = nowMs();
    await writeNote(engine, to, { note: { ...noteOf(layout), built_at_ms: notedAtMs } });
  };
  for await (const change of source) {
    if (change.collection !== collection)
      throw new Error(`${change.record_id} is not of ${collection}, whose index is built`);
    batch.push(change);
    if (batch.length >= batchChanges) await flush();
  }
  if (batch.length > 0) await flush();
  return written;
}

function noteOf({ digest, making }: IndexLayout): GenerationNote {
  return { digest, making };
}

async function writeAll(target: Parameters<typeof sendBulk>[0], batch: readonly RowChange[]): Promise<void> {
  const requests = bulkRequests(batch);
  for (let retry = 0; ; retry += 1) {
    try {
      if ((await sendBulk(target, requests)) !== null) return;
    } catch (error) {
      if (!(error instanceof Unavailable) || retry >= retriesMax) throw error;
      await after(backOffMs(retry + 1, retryDelays));
      continue;
    }
    throw indexUnavailable(
      "incomplete",
      `The generation ${target.generation} was removed while it was built.`,
    );
  }
}

/** After the switch: a failure leaves only what the next rebuild removes. */
async function finish(
  engine: Engine,
  { layout, from, to }: { readonly layout: IndexLayout; readonly from: string; readonly to: string },
): Promise<void> {
  try {
    await writeNote(engine, to, { note: noteOf(layout) });
    await removeGeneration(engine, from);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** Takes back a generation that came to nothing. It may be serving after all, when the answer to the switch was lost. */
async function giveUp(engine: Engine, names: IndexNames, index: string): Promise<void> {
  try {
    await withdrawGeneration(engine, names, index);
  } catch (error) {
    // The next rebuild finds it; what went wrong first is what is told.
    if (!(error instanceof Unavailable)) throw error;
  }
}
