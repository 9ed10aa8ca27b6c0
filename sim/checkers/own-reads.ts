// At rest: what a business reads of its own data is what the owners say.

import type { PublishOutcome, PushReport } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import type { Purged, RemovalProtocol } from "../../actors/messages/removal.ts";
import type { CatalogueEntry, PushAttempt } from "../../protocol/wire/catalogue.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { RecordVersion } from "../../storage/record-store.ts";
import { anyNode, pause } from "../set-up.ts";
import type { SentLeaf } from "../workload/batch.ts";
import type { Journal, Removal } from "../workload/journal.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import { type Truth, wholeStatus } from "./at-rest.ts";

export interface OwnReads {
  readonly business: string;
  readonly catalogue: readonly CatalogueEntry[];
  readonly attempts: readonly PushAttempt[];
}

/** What changes of itself even at rest: purges fall due, and holds end. */
interface Meanwhile {
  readonly purgedBefore: readonly Purged[];
  readonly purgedAfter: readonly Purged[];
  /** What the pushes that were held said after the reads. */
  readonly heldAfter: ReadonlyMap<string, PushReport | null>;
}

/** Reads what a business says of itself, with what happened meanwhile, and compares it with what the owners say. */
export async function checkOwnReads(
  world: World,
  journal: Journal,
  truth: Truth,
  read: () => Promise<OwnReads | null>,
): Promise<void> {
  const purgedBefore = await readPurged(world, journal);
  const reads = await read();
  if (reads === null) return;
  const purgedAfter = await readPurged(world, journal);
  const heldAfter = await readHeld(world, journal, truth);
  world.observed.mark("own.reads");
  checkCatalogue(world, journal, truth, reads);
  if (world.mayReadOld) return;
  checkAttempts(world, journal, { truth, heldAfter }, reads);
  checkNames(world, journal, { truth, purgedBefore, purgedAfter }, reads);
}

async function readHeld(world: World, journal: Journal, truth: Truth): Promise<Meanwhile["heldAfter"]> {
  const held = new Map<string, PushReport | null>();
  for (const { pushId, business } of journal.batches.values()) {
    if (truth.reports.get(pushId)?.state !== "held") continue;
    const ref = pushRef(business.uuid, pushId);
    held.set(pushId, await askAtRest(world, ({ system }) => system.ask(ref, wholeStatus)));
  }
  return held;
}

/** The catalogue holds what is live, each once, under the business's own id. */
function checkCatalogue(
  { observed, parts }: World,
  journal: Journal,
  truth: Truth,
  { business, catalogue }: OwnReads,
): void {
  const ownIds = new Map<string, string>();
  for (const batch of journal.batches.values())
    if (batch.business.uuid === business)
      for (const { recordId, choice } of batch.leaves) ownIds.set(recordId, choice.id);
  const listed = new Map(catalogue.map((entry) => [entry.record_id, entry]));
  if (listed.size !== catalogue.length) observed.violate("listed-once", "a record is in the catalogue twice");
  for (const [recordId, ownId] of ownIds) {
    const head = truth.heads.get(recordId) ?? null;
    // A record that is untouched since the start of a world has no bytes there.
    if (head !== null && head.change === parts.before.records.get(recordId)?.change) continue;
    const entry = listed.get(recordId);
    const isServed = head?.live === true && head.unserved !== true;
    if ((entry !== undefined) !== isServed)
      observed.violate(
        "catalogue-is-truth",
        `${recordId} is ${entry === undefined ? "not listed" : "listed"}, its owner says ${isServed ? "served" : "not served"}`,
      );
    if (entry !== undefined && entry.business_product_id !== ownId)
      observed.violate(
        "catalogue-is-truth",
        `${recordId} is listed as ${entry.business_product_id}, not ${ownId}`,
      );
    if (entry !== undefined) observed.mark("own.listed");
  }
}

const categories: Readonly<Record<string, string>> = {
  seal_invalid: "seal",
  seq_not_increasing: "seal",
  rate_limited: "caps",
  request_invalid: "validation",
  key_unknown: "authority",
  mandate_missing: "authority",
  business_not_verified: "authority",
};

/** Every accepted batch is there once, with its outcomes; of the refused ones, those that must have been kept. */
function checkAttempts(
  { observed }: World,
  journal: Journal,
  { truth, heldAfter }: Pick<Meanwhile, "heldAfter"> & { readonly truth: Truth },
  { business, attempts }: OwnReads,
): void {
  const refused = attempts.filter((each) => each.leaf_index === null);
  const byPush = Map.groupBy(
    attempts.filter((each) => each.leaf_index !== null),
    (each) => each.push_id ?? "",
  );
  for (const batch of journal.batches.values()) {
    if (batch.business.uuid !== business) continue;
    const said = byPush.get(batch.pushId) ?? [];
    const owned = truth.reports.get(batch.pushId)?.results ?? [];
    const later = heldAfter.get(batch.pushId)?.results ?? owned;
    const fits = said.every((each, index) => isOf(each, owned[index]) || isOf(each, later[index]));
    if (said.length !== owned.length || !fits)
      observed.violate(
        "attempts-are-complete",
        `${batch.pushId} has ${owned.length} outcomes, and ${said.length} attempts that differ`,
      );
  }
  for (const { errors, category, attempt_id } of refused) {
    const code = errors[0]?.code ?? "";
    observed.mark(`own.refused.${code}`);
    if (categories[code] !== category)
      observed.violate(
        "refusals-are-kept",
        `${attempt_id} was refused as ${code} and is kept as ${category}`,
      );
  }
  for (const pushId of journal.refusals.get(business) ?? [])
    if (refused.length < refusalsKept && !refused.some((each) => each.push_id === pushId))
      observed.violate("refusals-are-kept", `the refusal of ${pushId} is not among the attempts`);
}

function isOf(attempt: PushAttempt, outcome: PublishOutcome | undefined): boolean {
  return (
    attempt.leaf_index === outcome?.leaf_index &&
    attempt.status === outcome?.outcome &&
    attempt.record_id === outcome?.record_id
  );
}

/**
 * An attempt names its product as the business does. Nothing names what was deleted and purged, and not published again: an own
 * id is a part of the bytes that are gone.
 */
function checkNames(
  { observed, parts }: World,
  journal: Journal,
  {
    truth,
    purgedBefore,
    purgedAfter,
  }: Pick<Meanwhile, "purgedBefore" | "purgedAfter"> & { readonly truth: Truth },
  { business, attempts }: OwnReads,
): void {
  const isIn = (list: readonly Purged[], recordId: string): boolean =>
    list.some(
      (each) =>
        each.record_id === recordId && each.generation >= (truth.heads.get(recordId)?.generation ?? 0),
    );
  // Since the deletion: a record that was not published again may have been rejected again, or held and then rejected.
  const isToldAgain = (recordId: string): boolean => {
    const deleted = purgedBefore.filter((each) => each.record_id === recordId).map(({ number }) => number);
    return attempts.some(({ push_id, leaf_index }) => {
      const leaf = journal.batches.get(push_id ?? "")?.leaves[leaf_index ?? -1];
      const number = truth.reports.get(push_id ?? "")?.facts.number ?? 0;
      return leaf?.recordId === recordId && number > Math.max(...deleted);
    });
  };
  // A record from before the world's start keeps its name until a version is published under the one that the client knows.
  const isNamed = (named: string | null, { choice, recordId }: SentLeaf): boolean =>
    named === choice.id ||
    (named !== null &&
      named === parts.before.records.get(recordId)?.bpid &&
      named === truth.heads.get(recordId)?.bpid);
  for (const { attempt_id, push_id, leaf_index, record_id, business_product_id: named } of attempts) {
    const batch = journal.batches.get(push_id ?? "");
    if (batch?.business.uuid !== business || leaf_index === null) continue;
    const leaf = batch.leaves[leaf_index];
    if (leaf === undefined) {
      observed.violate("attempts-are-complete", `${attempt_id} is of a record that was not pushed`);
      continue;
    }
    if (record_id === null) {
      if (named === null) continue;
      if (!isNamed(named, leaf))
        observed.violate("attempts-are-complete", `${attempt_id} names another product`);
      else if (isIn(purgedBefore, leaf.recordId) && !isToldAgain(leaf.recordId))
        observed.violate("purged-is-gone", `${attempt_id} names a product that was purged`);
      else observed.mark("own.rejected");
      continue;
    }
    // Its owner forgets a name before the purge is proved.
    const isForgotten = truth.heads.get(record_id)?.bpid === null;
    if (named === null && (isForgotten || isIn(purgedAfter, record_id))) observed.mark("own.purged");
    else if (named !== null && isIn(purgedBefore, record_id) && !isToldAgain(record_id))
      observed.violate("purged-is-gone", `${attempt_id} names a product that was purged`);
    else if (!isNamed(named, leaf))
      observed.violate("attempts-are-complete", `${attempt_id} names another product`);
  }
}

/** Beyond these in an hour, refusals may be left out. */
const refusalsKept = 50;

// A question to an owner once nothing is under way. A node whose memory has room for few actors may still be busy for a moment
// with what it was asked before, and says so. The question is then asked again, as every caller in production does.

/** No owner is busy for longer than these attempts take. */
const attemptsMax = 50;
const waitMs = 200;

/** The reply. Throws what the last attempt threw, and at once what no later attempt can change. */
export async function askAtRest<T>(world: World, ask: (node: SimNode) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask(await anyNode(world, world.parts.regions[0] ?? ""));
    } catch (error) {
      if (!(error instanceof Unavailable) || attempt === attemptsMax) throw error;
      world.observed.mark(`rest.${error.reason}`);
      await pause(world, waitMs);
    }
  }
}

// What must hold of withdrawals, deletions and purges at rest.
//   D1. A document that was answered as accepted is kept, with its seal.
//   D2. A version that is served has its bytes: no purge took them.
//   D3. What a proof says is purged has no bytes and no row in any region.
//   D4. Only a deletion leads to a purge.
//   D5. No push that came before the deletion says, as a reason of its hold, the prices of a record that was purged.

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
async function readPurged(world: World, journal: Journal): Promise<readonly Purged[]> {
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
