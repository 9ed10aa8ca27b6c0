// The pushes that need a look and are in no memory: held for days, or stalled where a node is gone. Nothing is claimed or woken.
//   PA1. Only pushes that may be unfinished are read: those with staged bytes, and those of files that are being imported. What was
//        staged just now is left out, because it is under way.
//   PA2. The number of ids and of actors that are read is bounded; what is left unread is said.
//   PA3. What was read is kept for a while, because pages ask again and again: ten seconds, and up to a minute where reading took long.
//        No clock that is set decides how long.

import { partsOf } from "../../actors/messages/refs.ts";
import type { ActorReport } from "../../actors/system/definition.ts";
import type { BulkUploadContext } from "../../machines/bulk-upload.ts";
import type { ActorRow } from "../../ops/inspection-shapes.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { type RecordStore, stagedPages } from "../../storage/record-store.ts";

export interface PassiveAttention {
  readonly rows: readonly ActorRow[];
  /** Whether everything that PA1 names was read. */
  readonly isComplete: boolean;
}

export interface PassiveDeps {
  readonly store: Pick<ActorStore, "listActors">;
  readonly records: Pick<RecordStore, "stagedPushes">;
  readonly inspect: (ref: ActorRef) => Promise<Pick<ActorReport, "context"> | null>;
  readonly row: (ref: ActorRef) => Promise<ActorRow | null>;
  readonly nowMs: () => number;
  readonly elapsedMs: () => number;
}

/** See PA3: a hundred times as long as reading took. */
const keptMs = 10_000;
const keptMaxMs = 60_000;
const keptTimes = 100;
/** What was staged more recently is under way (PA1). */
const freshMs = 5_000;
/** Maximum number of ids of staged pushes that are listed, and of pushes and of uploads that are read (PA2). */
const stagedMax = 10_000;
const readMax = 300;
const idsPerRead = 1_000;
/** Number of actors that are read at the same time. */
const atOnce = 16;

export function createPassiveAttention(deps: PassiveDeps): () => Promise<PassiveAttention> {
  let kept: { untilMs: number; readonly found: Promise<PassiveAttention> } | null = null;
  return () => {
    const beganMs = deps.elapsedMs();
    if (kept !== null && beganMs < kept.untilMs) return kept.found;
    const reading = { untilMs: Number.POSITIVE_INFINITY, found: read(deps) };
    kept = reading;
    reading.found.then(
      () => {
        const endedMs = deps.elapsedMs();
        const longMs = Math.min(keptMaxMs, (endedMs - beganMs) * keptTimes);
        reading.untilMs = endedMs + Math.max(keptMs, longMs);
      },
      () => {
        kept = null;
      },
    );
    return reading.found;
  };
}

async function read(deps: PassiveDeps): Promise<PassiveAttention> {
  const [staged, imported] = await Promise.all([stagedIds(deps), importedIds(deps)]);
  const lanes = new Semaphore(atOnce);
  const ids = [...new Set([...staged.ids, ...imported.ids])];
  const rows = await lanes.all(ids.map((id) => () => deps.row({ kind: "push", id })));
  return {
    // One in memory is among what its node lists.
    rows: rows.filter(
      (row) => row !== null && row.attention !== null && row.status === "passive",
    ) as ActorRow[],
    isComplete: staged.isComplete && imported.isComplete,
  };
}

interface Ids {
  readonly ids: readonly string[];
  readonly isComplete: boolean;
}

async function stagedIds({ records, nowMs }: PassiveDeps): Promise<Ids> {
  const untilMs = nowMs() - freshMs;
  const found = new Set<string>();
  let listed = 0;
  let isComplete = false;
  for await (const { pushes, cursor } of stagedPages(records, idsPerRead)) {
    for (const { push_id, staged_at_ms } of pushes) if (staged_at_ms <= untilMs) found.add(push_id);
    listed += pushes.length;
    isComplete = cursor === null && found.size <= readMax;
    if (found.size > readMax || listed >= stagedMax) break;
  }
  return { ids: [...found].slice(0, readMax), isComplete };
}

/** The pushes of uploaded files, whose bytes are not staged with those of batches. */
async function importedIds({ store, inspect }: PassiveDeps): Promise<Ids> {
  const uploads = await store.listActors("bulk-upload", "", readMax + 1);
  const lanes = new Semaphore(atOnce);
  const found = await lanes.all(
    uploads.slice(0, readMax).map((id) => async () => {
      const report = await inspect({ kind: "bulk-upload", id });
      const pushId = (report?.context as BulkUploadContext | null | undefined)?.pushId ?? null;
      return pushId === null ? [] : [`${partsOf(id).party}.${pushId}`];
    }),
  );
  return { ids: found.flat(), isComplete: uploads.length <= readMax };
}
