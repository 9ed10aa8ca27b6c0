// Builds a collection's index from all existing rows: a new generation beside the serving one, or the first one where
// nothing serves, because the deployment is new or the cluster lost its index.
//   G1. The serving generation is searched and written as usual until the new one replaces it in one step. Anything that
//       happens before then leaves it unchanged.
//   G2. Every change is in the new generation when it begins to serve. The generation and its alias exist, and every node
//       of the cluster knows them, before the first row is read from the source. A change whose `apply` had read the
//       aliases by then was in the source of truth before; any other is written to both (E1 of row-index.ts). External
//       versions decide which of the two is newer.
//   G3. One rebuild at a time: only one index can have the alias of the generation being built. A builder shows that it is
//       at work; one that has not done so for {@link abandonedAfterMs} is presumed dead, and its generation is removed by
//       the next.
//   G4. A builder that was presumed dead cannot switch: its generation no longer has the alias. Neither can one whose
//       generation was lost with everything else, even if another has been made under its name: that one is another builder's.

import { randomBytes } from "node:crypto";
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
  type Switch,
  switchGenerations,
  withdrawGeneration,
  writeNote,
} from "./generations.ts";
import { type IndexLayout, type IndexNames, layoutOf } from "./layout.ts";
import { type ElasticRowIndex, Refresher } from "./row-index.ts";

export interface Rebuild {
  readonly collection: string;
  /**
   * Every record's last change, including removals: the source of truth, which contains a change before it is applied to
   * the index. It is read from the start once the rebuild is announced, in any order.
   */
  readonly source: AsyncIterable<RowChange>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** Whether nothing is built where an index serves already, for example because another node has built it. */
  readonly onlyMissing?: boolean;
}

export interface Rebuilt {
  /** Index of the generation that now serves. */
  readonly generation: string;
  readonly changes: number;
}

/**
 * `rebuild_under_way`: another builder is at work. `rebuild_superseded`: this one was presumed dead meanwhile. `index_serves`: only
 * a missing index was to be built.
 */
export type RebuildRefusal = "rebuild_under_way" | "rebuild_superseded" | "index_serves";

/** Silence after which a builder is presumed dead. */
export const abandonedAfterMs = 120_000;
/** A builder shows this often that it is at work, also while it reads rows of other collections alone. */
const noteEveryMs = 15_000;
/** Number of changes written together. */
const batchChanges = 2_000;
const bulkSlots = 2;
/** Maximum retries of a batch when the cluster cannot accept it now, after 0.2 s, 0.4 s … */
const retriesMax = 6;
const retryDelays = { firstMs: 200, maxMs: 6_400 };

/**
 * Rebuilds a collection's index. Throws `IndexUnavailable` when the cluster cannot continue, and whatever the source
 * throws.
 */
export async function rebuildIndex(
  index: ElasticRowIndex,
  rebuild: Rebuild,
): Promise<Result<Rebuilt, RebuildRefusal>> {
  const { engine, settings } = index;
  const names = index.namesOf(rebuild.collection);
  const layout = layoutOf(rebuild.collection);
  const found = await removeRemains(engine, names, rebuild.nowMs());
  if (rebuild.onlyMissing === true && found.serving !== null)
    return refuse("index_serves", `${found.serving} serves already.`);
  if (found.isBusy) return underWay(names);
  const builder = randomBytes(8).toString("hex");
  const to = await makeGeneration(engine, {
    names,
    builder,
    layout,
    settings,
    number: found.numberMax + 1,
    role: "next",
    builtAtMs: rebuild.nowMs(),
  });
  if (to === null) return underWay(names);
  try {
    await awaitSearchable(engine, to);
    const changes = await noting({ engine, layout, to }, rebuild, () => copy({ engine, to }, rebuild));
    // Changes written during the copy are refreshed by their writers.
    await new Refresher(engine).refresh(to);
    if (await takePlace(engine, names, { from: found.serving, to, builder })) {
      await finish(engine, { layout, from: found.serving, to });
      return ok({ generation: to, changes });
    }
  } catch (error) {
    await giveUp(engine, names, { to, builder });
    throw error;
  }
  await giveUp(engine, names, { to, builder });
  return refuse("rebuild_superseded", `Another rebuild of ${names.serving} took the place of this one.`);
}

/** Makes the switch; if its answer was lost, checks whether it happened. */
async function takePlace(engine: Engine, names: IndexNames, pair: Switch): Promise<boolean> {
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
  /** Whether somebody is building. */
  readonly isBusy: boolean;
}

/** Removes what earlier rebuilds left: generations without a role, and one whose builder has gone silent (G3). */
async function removeRemains(engine: Engine, names: IndexNames, nowMs: number): Promise<Found> {
  const { serving, next, others, numberMax } = await readGenerations(engine, names);
  for (const index of others) await removeGeneration(engine, index);
  const found = { serving, numberMax };
  if (next === null) return { ...found, isBusy: false };
  const note = await readNote(engine, next);
  const isSilent = nowMs - (note?.built_at_ms ?? 0) > abandonedAfterMs;
  if (note === null || !isSilent) return { ...found, isBusy: note !== null };
  // Refused if its builder woke up and finished after all.
  return { ...found, isBusy: !(await withdrawGeneration(engine, names, next)) };
}

interface Copy {
  readonly engine: Engine;
  readonly to: string;
}

/** Shows that the builder is at work until the work has ended (G3). */
async function noting<T>(
  { engine, layout, to }: Copy & { readonly layout: IndexLayout },
  { nowMs }: Pick<Rebuild, "nowMs">,
  work: () => Promise<T>,
): Promise<T> {
  let noted = Promise.resolve();
  // Where a note cannot be written, the builder is only taken for silent.
  const note = () =>
    writeNote(engine, to, { note: { ...noteOf(layout), built_at_ms: nowMs() } }).catch(() => {});
  const timer = setInterval(() => {
    noted = noted.then(note);
  }, noteEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await noted;
  }
}

/** Writes all of the source; returns the number of changes. */
async function copy({ engine, to }: Copy, { source, collection }: Rebuild): Promise<number> {
  const slots = new Semaphore(bulkSlots);
  let written = 0;
  let batch: RowChange[] = [];
  const flush = async (): Promise<void> => {
    await writeAll({ engine, slots, generation: to }, batch);
    written += batch.length;
    batch = [];
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

/** Runs after the switch: a failure leaves only what the next rebuild removes. */
async function finish(
  engine: Engine,
  { layout, from, to }: { readonly layout: IndexLayout } & Omit<Switch, "builder">,
): Promise<void> {
  try {
    await writeNote(engine, to, { note: noteOf(layout) });
    if (from !== null) await removeGeneration(engine, from);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}

/** Removes a generation whose rebuild failed. It may be serving after all, if the answer to the switch was lost. */
async function giveUp(
  engine: Engine,
  names: IndexNames,
  { to, builder }: { readonly to: string; readonly builder: string },
): Promise<void> {
  try {
    await withdrawGeneration(engine, names, to, builder);
  } catch (error) {
    // The next rebuild removes it; the first error is the one that is reported.
    if (!(error instanceof Unavailable)) throw error;
  }
}
