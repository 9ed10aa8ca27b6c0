// The work of a purge: the bytes of a deleted record's versions leave the store of records and the files of every region's index.
//   Z1. It may be repeated: what is purged already is left as it is, and counts as purged.
//   Z2. A version that is served, or that the store still says is served, is never purged: the work is repeated until the head has
//       moved on.
//   Z3. Nothing is reported as purged before every region that is notified has confirmed.
//   Z4. An answer of a region may be lost, and its engine may take long, as it may have to write its files again. So a region is
//       asked again under the same name, like by everybody else: what is under way there is awaited, and not repeated.
//   Z5. What actors know of the content is forgotten first: the files are overwritten after the last commit that removed something.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { parseEnvelope } from "../../protocol/dsse.ts";
import { openSidecar } from "../../protocol/sidecar.ts";
import type { PurgedVersion, RecordStore } from "../../storage/record-store.ts";
import { remainsText } from "../../storage/version-remains.ts";
import { pushRef, regionRef } from "../messages/refs.ts";
import type { Purge, Purged } from "../messages/removal.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { BusinessPorts } from "./activities.ts";
import { purgesMax } from "./purge.ts";

/** Versions read at a time. */
const pageSize = 100;

export async function purgeRecords(
  ports: Pick<BusinessPorts, "records" | "regions">,
  context: ActivityContext<"business">,
): Promise<{ readonly type: "purges.done"; readonly purged: readonly Purged[] }> {
  const { purges } = await context.ask(context.actor, { type: "purges.due", limit: purgesMax });
  for (const purge of purges) await forgetTexts(purge, context);
  const found: { readonly purge: Purge; readonly versions: readonly PurgedVersion[] }[] = [];
  for (const purge of purges) found.push({ purge, versions: await versionsOf(ports.records, purge) });
  for (const { versions } of found) await ports.records.purgeVersions(versions);
  const regions = purges.length === 0 ? [] : await purgeIndexes(ports, purges, context);
  if (purges.length > 0) await ports.records.overwriteUnused();
  const purged = found.map(({ purge, versions }) => ({
    ...purge,
    purged_at_ms: context.nowMs(),
    versions: versions.map(({ generation, hash }) => ({ generation, hash })),
    regions,
  }));
  return { type: "purges.done", purged };
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
  const head = await records.readHead(record_id);
  // The store of a region that was taken over may be behind its business (Z2).
  if (head?.live && head.generation <= last) throw new Error(`${record_id} is still served.`);
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
  if (missing.length > 0) throw new Error(`The index of region ${missing.join(", ")} has not purged yet.`);
  return asked;
}
