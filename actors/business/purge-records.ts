// The work of a purge: the bytes of a deleted record's versions leave the store of records and the files of every region's index.
//   Z1. It may be repeated: what is purged already is left as it is, and counts as purged.
//   Z2. A version that is served, or that the store still says is served, is never purged: the work is repeated until the head has
//       moved on.
//   Z3. Nothing is reported as purged before every region that is notified has confirmed.
//   Z4. An answer of a region may be lost, and its engine may take long, as it may have to write its files again. So a region is
//       asked again under the same name, like by everybody else: what is under way there is awaited, and not repeated.
//   Z5. What actors know of the content is forgotten before unused space is overwritten, which is last: their rows share the file.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import { openSidecar } from "../../protocol/sidecar.ts";
import type { PurgedVersion, RecordStore } from "../../storage/record-store.ts";
import { remainsText } from "../../storage/version-remains.ts";
import { pushRef, regionRef } from "../messages/refs.ts";
import type { DuePurges, LatePurges, Purge, Purged } from "../messages/removal.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { BusinessPorts } from "./activities.ts";
import { purgesMax } from "./purge.ts";

/** Versions read at a time. */
const pageSize = 100;

type Ports = Pick<BusinessPorts, "records" | "regions" | "latePurges">;

export async function purgeRecords(
  ports: Ports,
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
  ports: Ports,
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
  ports: Ports,
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
    const { push_ids, more } = await ask(actor, { type: "purges.forget", purge, after });
    for (const id of push_ids) await ask(pushRef(actor.id, id), { type: "push.forget", record_id, number });
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
      versions.push({ ...id, remains: remainsOf(stored?.sidecar ?? "") });
    }
    const lowest = page.at(-1);
    if (lowest === undefined || page.length < pageSize) return versions;
    below = lowest.generation;
  }
}

/** What is known of a version for ever is what its sidecar said of the version, and nothing of its bytes. */
function remainsOf(sidecar: string): string {
  const envelope = parseEnvelope(JSON.parse(sidecar === "" ? "null" : sidecar) as JsonValue);
  const opened = envelope.ok ? openSidecar(envelope.value) : envelope;
  return opened.ok ? remainsText(opened.value) : sidecar;
}

async function purgeIndexes(
  { regions }: Pick<BusinessPorts, "regions">,
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
