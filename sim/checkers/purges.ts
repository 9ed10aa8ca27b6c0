// What must hold of withdrawals, deletions and purges at rest.
//   D1. A document that was answered as accepted is kept, with its seal.
//   D2. A version that is served has its bytes: no purge took them.
//   D3. What a proof says is purged has no bytes and no row in any region.
//   D4. Only a deletion leads to a purge.
//   D5. No push that came before the deletion says, as a reason of its hold, the prices of a record that was purged.

import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import type { Purged, RemovalProtocol } from "../../actors/messages/removal.ts";
import type { RecordVersion } from "../../storage/record-store.ts";
import type { Journal, Removal } from "../workload/journal.ts";
import type { World } from "../world/world.ts";
import { askAtRest } from "./ask-at-rest.ts";
import { type Truth, wholeStatus } from "./at-rest.ts";

/** Longer than any replication takes once nothing fails. */
const arrivalMs = 2_000;

type Said = ReturnType<RemovalProtocol["removal.read"]>;

/** What the owners say of each document that was sent. */
async function readDocuments(world: World, { removals }: Journal): Promise<ReadonlyMap<Removal, Said>> {
  const said = new Map<Removal, Said>();
  for (const removal of removals) {
    const question = { type: "removal.read", document_hash: removal.document } as const;
    const ref = businessRef(removal.business.uuid);
    said.set(removal, await askAtRest(world, ({ system }) => system.ask(ref, question)));
  }
  return said;
}

/** What was purged so far, as the owners prove it. */
export async function readPurged(world: World, journal: Journal): Promise<readonly Purged[]> {
  return [...(await readDocuments(world, journal)).values()].flatMap(({ purged }) => purged ?? []);
}

/** Asks the owners about every document that was sent, and compares what every region stores with what they say. */
export async function checkPurges(world: World, journal: Journal, truth: Truth): Promise<void> {
  const { heads } = truth;
  const { observed, parts } = world;
  const versions = parts.stores.tables.of<RecordVersion>("record_version");
  const isBare = (version: RecordVersion | null): boolean => version !== null && version.bytes.length === 0;
  const purges: Purged[] = [];
  for (const [removal, { removal: kept, purged }] of await readDocuments(world, journal)) {
    if (removal.isRemoved && kept?.record_id !== removal.recordId)
      observed.violate("documents-are-kept", `${removal.document} was accepted and is not known`);
    if (purged === null) continue;
    observed.mark("record.purged");
    purges.push(purged);
    if (removal.action !== "delete")
      observed.violate("purges-are-asked-for", `${removal.recordId} was purged by a withdrawal`);
  }
  await checkReasons(world, journal, truth, purges);
  // What was purged last is still on its way to the other regions.
  await new Promise<void>((resolve) => parts.kernel.after(arrivalMs, "purges arrive", resolve));
  for (const { record_id, versions: gone } of purges) {
    for (const { generation } of gone) {
      for (const region of parts.regions) {
        const stored = versions.read(region, `${record_id}/${generation}`);
        if (!isBare(stored) || stored?.row !== "")
          observed.violate(
            "purged-is-gone",
            `version ${generation} of ${record_id} has its bytes in ${region}`,
          );
      }
    }
  }
  for (const [recordId, head] of heads) {
    if (!head?.live) continue;
    for (const region of parts.regions)
      if (isBare(versions.read(region, `${recordId}/${head.generation}`)))
        observed.violate(
          "served-has-bytes",
          `version ${head.generation} of ${recordId} was purged in ${region}`,
        );
  }
}

/** See D5. Asked now, because purges fall due even at rest. */
async function checkReasons(
  world: World,
  journal: Journal,
  truth: Truth,
  purges: readonly Purged[],
): Promise<void> {
  const { observed } = world;
  for (const { pushId, business } of journal.batches.values()) {
    const known = truth.reports.get(pushId);
    if (known === undefined || known === null || known.held_reasons.length === 0) continue;
    const ref = pushRef(business.uuid, pushId);
    const report = await askAtRest(world, ({ system }) => system.ask(ref, wholeStatus));
    const named = (report?.held_reasons ?? []).flatMap(({ largest = [] }) => largest);
    const earlier = purges.filter(({ number }) => number > known.facts.number);
    const isNamed = (list: typeof named, { record_id }: Purged) =>
      list.some((listing) => listing.record_id === record_id);
    for (const purge of earlier.filter((each) => isNamed(named, each)))
      observed.violate("purged-is-gone", `${pushId} says the prices of ${purge.record_id}`);
    const before = known.held_reasons.flatMap(({ largest = [] }) => largest);
    observed.mark("hold.listings");
    if (earlier.some((purge) => isNamed(before, purge))) observed.mark("hold.purged");
  }
}
