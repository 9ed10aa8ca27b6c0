// The purge of deleted records: what is due, and the proof of what is done.
//   Y1. A deletion owes the bytes of every version up to its own; it is due at a time that it states, and one durable timer of the
//       business ends when the first one is due. While purges are under way no timer runs, and the end of them sets the next.
//   Y2. A purge waits for the pushes that were numbered before its deletion: they may still be storing such a version.
//        However many wait, those that are ready are found behind them.
//   Y3. The proof of a purge stays as a row and as an event. Hashes, seals and documents stay as well.
//   Y4. Purges are removed in the order in which they are due, so a page of them begins where the first one was that was left.

import type { BusinessEvent, NextWork } from "../../machines/business.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { openSidecar } from "../../protocol/signed-version.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import {
  type PublishedRow,
  type PurgedVersion,
  type RecordStore,
  remainsText,
} from "../../storage/record-store.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { pushRef, regionRef } from "../messages/refs.ts";
import {
  appliedAt,
  type DuePurges,
  type LatePurges,
  type Purge,
  type Purged,
  type PurgeWatch,
  type Removal,
  type RemoveRecord,
} from "../messages/removal.ts";
import { type ActivityContext, type Decision, takenOf, workAt } from "../system/definition.ts";
import { admittedNumbers, type BusinessView, purged, purges, selectAdmissions } from "./rows.ts";

/** Maximum number of purges of one round of work, and of a page of those that are due. */
const purgesMax = 100;
/** How long a purge that must wait for a push is left alone. */
const waitMs = 60_000;

type Asked<T extends keyof BusinessProtocol> = CommandOf<BusinessProtocol, T>;
type Snapshot = BusinessView["snapshot"];

/** What a deletion adds to its decision. */
export function owePurge(
  {
    purge_at_ms: statedMs,
    action,
    ...moments
  }: Pick<RemoveRecord, "purge_at_ms" | "action"> & Pick<Removal, "received_at" | "applied_at">,
  deleted: Omit<Purge, "due_ms" | "deleted_at_ms">,
  view: BusinessView,
): { readonly puts: readonly PartitionRow[]; readonly timer?: NextWork } {
  if (action !== "delete" || statedMs === undefined) return { puts: [] };
  // Of those that were due before now, all may be done and removed (Y4).
  const dueMs = Math.max(statedMs, view.nowMs);
  const deletedAtMs = Date.parse(appliedAt(moments));
  const owed = { ...deleted, due_ms: dueMs, deleted_at_ms: deletedAtMs };
  const puts = [purges.write(deleted.document_hash, owed, { k: dueMs })];
  const setFor = view.snapshot.context.purgeAtMs ?? null;
  if (setFor !== null && setFor <= dueMs) return { puts };
  return { puts, timer: workAt(dueMs, view) };
}

/** A page of owed purges, and the pushes that they may have to wait for (Y2). */
export function selectDue({ after }: Asked<"purges.due">, snapshot: Snapshot): readonly RowSelection[] {
  const page = after === null ? selectOwed(purgesMax, snapshot) : purges.selectPage(purgesMax, after);
  return [page, selectAdmissions(snapshot)];
}

/** See Y4. */
function selectOwed(limit: number, { context }: Snapshot): RowSelection {
  return purges.selectPage(limit, { k: context.purgesFromMs, k2: "" });
}

/** The purges of the page that are due: those that may begin, and those that wait for a push. */
export function duePurges(_command: Asked<"purges.due">, view: BusinessView): DuePurges {
  const oldest = oldestPending(view);
  const page = purges.readAll(view);
  const due = page.filter(({ k }) => k <= view.nowMs);
  const those = (isReady: boolean): readonly Purge[] =>
    due.filter(({ value }) => value.number < oldest.number === isReady).map(({ value }) => value);
  const waiting = those(false);
  const last = due.length === purgesMax ? due.at(-1) : undefined;
  return {
    purges: those(true),
    waiting,
    push_id: waiting.length === 0 ? null : oldest.push_id,
    next: last === undefined ? null : { k: last.k, k2: last.k2 },
  };
}

/** The push that is pending longest (Y2). */
function oldestPending(view: BusinessView): { readonly push_id: string | null; readonly number: number } {
  const numbers = admittedNumbers(view);
  const pending = view.snapshot.context.pending.map((push_id) => {
    // Whatever is due waits for a push that was admitted in this turn.
    return { push_id, number: numbers.get(push_id) ?? 0 };
  });
  const none = { push_id: null, number: Number.POSITIVE_INFINITY };
  return pending.reduce<ReturnType<typeof oldestPending>>(
    (oldest, each) => (each.number < oldest.number ? each : oldest),
    none,
  );
}

/** The purges that are told as done, and the first that is owed after them. */
export function selectDone(
  { purged: done }: Asked<"purges.done">,
  snapshot: Snapshot,
): readonly RowSelection[] {
  // One more than were done: the first of those that are owed from then on.
  return [
    purges.select(done.map(({ document_hash }) => document_hash)),
    selectOwed(done.length + 1, snapshot),
  ];
}

/** Keeps the proof of purges; one that is told again changes nothing. */
export function finishPurges(
  { purged: told }: Asked<"purges.done">,
  view: BusinessView,
): Decision<DoneReply, BusinessEvent> {
  const owed = purges.readAll(view);
  const isOwed = (each: Purged): boolean => owed.some(({ k2 }) => k2 === each.document_hash);
  const done = told.filter(isOwed);
  const hashes = new Set(done.map(({ document_hash }) => document_hash));
  const next = owed.find(({ k2 }) => !hashes.has(k2));
  // One that is due and was not done waits for a push.
  const atMs = next === undefined ? null : Math.max(next.k, done.length === 0 ? view.nowMs + waitMs : 0);
  const timer = atMs === null ? null : workAt(atMs, view);
  const from_ms = next?.k ?? view.nowMs;
  const events = takenOf(view, { type: "records.purged", purged: done, from_ms, timer });
  if (events.length === 0) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    events,
    puts: done.map((each) => purged.write(each.document_hash, each)),
    deletes: done.map(({ document_hash, due_ms }) => purges.key(document_hash, due_ms)),
  };
}

// The work of a purge: the bytes of a deleted record's versions leave the store of records and the files of every region's index.
//   Z1. It may be repeated: what is purged already is left as it is, and counts as purged.
//   Z2. A version that is served, or that the store still says is served, is never purged: the work is repeated until the head has
//       moved on.
//   Z3. Nothing is reported as purged before every region that is notified has confirmed.
//   Z4. An answer of a region may be lost, and its engine may take long, as it may have to write its files again. So a region is
//       asked again under the same name, like by everybody else: what is under way there is awaited, and not repeated.
//   Z5. What actors know of the content is forgotten before unused space is overwritten, which is last: their rows share the file.
//   Z6. Nothing is reported as purged before every push that is to be held because of the record has its reasons, and has lost what
//       they say of it: the work is repeated until the push is accepted, or dropped as abandoned.

/** Versions read at a time. */
const pageSize = 100;

export interface PurgePorts {
  readonly records: RecordStore;
  /** The regions whose indexes are currently notified. */
  readonly regions: () => readonly string[];
  /** Who is told of purges that are late; absent where nobody watches. */
  readonly latePurges?: PurgeWatch;
}

/** Removes what is due from the stores, the indexes of all regions and the pushes (Z1 to Z5). */
export async function purgeRecords(
  ports: PurgePorts,
  context: ActivityContext<"business">,
): Promise<{ readonly type: "purges.done"; readonly purged: readonly Purged[] }> {
  const due = await findDue(ports.records, context);
  const purged = await purgeReady(ports, due, context).catch((error: unknown) => {
    ports.latePurges?.note(lateAfter(error, context.actor.id, due));
    throw error;
  });
  if (due.waiting.length > 0) ports.latePurges?.note(lateBehindPush(context.actor.id, due));
  else if (due.served.length === 0) ports.latePurges?.forget(context.actor.id);
  return { type: "purges.done", purged };
}

interface Due {
  readonly ready: readonly Purge[];
  /** Those of records that the store still serves (Z2). */
  readonly served: readonly Purge[];
  /** Those that wait for an earlier push. */
  readonly waiting: readonly Purge[];
  readonly push_id: string | null;
}

/** The first purges that are ready, and some of those that are due before and wait: none of these keeps back what is due after it. */
async function findDue(records: RecordStore, context: ActivityContext<"business">): Promise<Due> {
  const found = { ready: [] as Purge[], served: [] as Purge[], waiting: [] as Purge[] };
  let push_id: string | null = null;
  for (let after: DuePurges["next"] = null; ; ) {
    const page: DuePurges = await context.ask(context.actor, { type: "purges.due", after });
    for (const purge of page.purges)
      ((await isServed(records, purge)) ? found.served : found.ready).push(purge);
    found.waiting.push(...page.waiting);
    push_id ??= page.push_id;
    for (const list of Object.values(found)) list.splice(purgesMax);
    after = page.next;
    if (after === null || found.ready.length === purgesMax) return { ...found, push_id };
  }
}

/** The store of a region that was taken over may be behind its business (Z2). */
async function isServed(records: RecordStore, { record_id, generation }: Purge): Promise<boolean> {
  const head = await records.readHead(record_id);
  return head?.live === true && head.generation <= generation;
}

async function purgeReady(
  ports: PurgePorts,
  { ready, served: [served] }: Due,
  context: ActivityContext<"business">,
): Promise<readonly Purged[]> {
  if (ready.length === 0 && served !== undefined) throw new Error(`${served.record_id} is still served.`);
  return purgeDue(ports, ready, context);
}

function lateAfter(error: unknown, business_uuid: string, { ready, served, waiting }: Due): LatePurges {
  const regions = error instanceof RegionsAway ? error.regions : [];
  const detail = error instanceof Error ? error.message : String(error);
  const late = { business_uuid, purges: [...ready, ...served, ...waiting], push_id: null, regions, detail };
  return { ...late, waits_for: regions.length > 0 ? "region" : "store" };
}

function lateBehindPush(business_uuid: string, { waiting: purges, push_id }: Due): LatePurges {
  const detail = `Push ${push_id} was accepted before the deletion and is not finished.`;
  return { business_uuid, purges, waits_for: "push", regions: [], push_id, detail };
}

async function purgeDue(
  ports: PurgePorts,
  purges: readonly Purge[],
  context: ActivityContext<"business">,
): Promise<readonly Purged[]> {
  const found: { readonly purge: Purge; readonly versions: readonly PurgedVersion[] }[] = [];
  for (const purge of purges) found.push({ purge, versions: await versionsOf(ports.records, purge) });
  for (const { versions } of found) await ports.records.purgeVersions(versions);
  for (const purge of purges) await forgetTexts(purge, context);
  const regions = purges.length === 0 ? [] : await purgeIndexes(ports, purges, context);
  if (purges.length > 0) await ports.records.overwriteUnused();
  return found.map(({ purge, versions }) => ({
    ...purge,
    purged_at_ms: context.nowMs(),
    versions: versions.map(({ generation, hash }) => ({ generation, hash })),
    regions,
  }));
}

/** The business forgets what it knows of the record's content, and so do the pushes that were held because of the record. */
async function forgetTexts(purge: Purge, { actor, ask }: ActivityContext<"business">): Promise<void> {
  const { record_id, number } = purge;
  for (let after = ""; ; ) {
    const { push_ids, held, more } = await ask(actor, { type: "purges.forget", purge, after });
    for (const id of push_ids) {
      const { status } = await ask(pushRef(actor.id, id), { type: "push.forget", record_id, number });
      if (status === "early" && held.includes(id))
        throw new Error(`Push ${id} is to be held because of ${record_id}, and is not accepted yet.`);
    }
    if (!more) return;
    after = push_ids.at(-1) ?? after;
  }
}

/** The versions that the deletion concerns, with what remains of each. */
async function versionsOf(records: RecordStore, purge: Purge): Promise<readonly PurgedVersion[]> {
  const { record_id, generation: last } = purge;
  const versions: PurgedVersion[] = [];
  for (let below = last + 1; ; ) {
    const page = await records.listVersions(record_id, below, pageSize);
    for (const { generation, hash } of page) {
      const id = { record_id, generation, hash };
      const stored = await records.readPublished(id);
      versions.push({ ...id, remains: remainsOf(stored) });
    }
    const lowest = page.at(-1);
    if (lowest === undefined || page.length < pageSize) return versions;
    below = lowest.generation;
  }
}

/** What is known of a version for ever is what its sidecar said of the version, and nothing of its bytes. */
function remainsOf(stored: PublishedRow | null): string {
  const { sidecar, row } = stored ?? { sidecar: "", row: "" };
  const envelope = parseEnvelope(JSON.parse(sidecar === "" ? "null" : sidecar) as JsonValue);
  const opened = envelope.ok ? openSidecar(envelope.value) : envelope;
  return opened.ok && row !== "" ? remainsText(opened.value, row) : sidecar;
}

async function purgeIndexes(
  { regions }: Pick<PurgePorts, "regions">,
  purges: readonly Purge[],
  context: ActivityContext<"business">,
): Promise<readonly string[]> {
  const collections = [...new Set(purges.map(({ collection }) => collection))].sort();
  const asked = [...regions()];
  const replies = await Promise.allSettled(
    asked.map((region) =>
      context.ask(regionRef(region), {
        type: "rows.purge",
        work_id: `${context.workId}/purge`,
        collections,
      }),
    ),
  );
  const missing = asked.filter((_, index) => {
    const reply = replies[index];
    return reply?.status !== "fulfilled" || reply.value.status !== "applied";
  });
  if (missing.length > 0) throw new RegionsAway(missing);
  return asked;
}

/** Regions whose index has not confirmed a purge. */
class RegionsAway extends Error {
  readonly regions: readonly string[];

  constructor(regions: readonly string[]) {
    super(`The index of region ${regions.join(", ")} has not purged yet.`);
    this.regions = regions;
  }
}
