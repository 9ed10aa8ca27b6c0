// At rest: what a business reads of its own data is what the owners say.

import type { PublishOutcome, PushReport } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import type { Purged } from "../../actors/messages/removal.ts";
import type { PushAttempt } from "../../protocol/wire/attempts.ts";
import type { CatalogueEntry } from "../../protocol/wire/catalogue.ts";
import type { SentLeaf } from "../workload/batch.ts";
import type { Journal } from "../workload/journal.ts";
import type { World } from "../world/world.ts";
import { askAtRest } from "./ask-at-rest.ts";
import { type Truth, wholeStatus } from "./at-rest.ts";
import { readPurged } from "./purges.ts";

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
  // Since the deletion: a record that was not published again may have been rejected again.
  const isToldAgain = (recordId: string): boolean => {
    const deleted = purgedBefore.filter((each) => each.record_id === recordId).map(({ number }) => number);
    return attempts.some(({ push_id, leaf_index, record_id }) => {
      const leaf = journal.batches.get(push_id ?? "")?.leaves[leaf_index ?? -1];
      const number = truth.reports.get(push_id ?? "")?.facts.number ?? 0;
      return record_id === null && leaf?.recordId === recordId && number > Math.max(...deleted);
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
    if (named === null && isIn(purgedAfter, record_id)) observed.mark("own.purged");
    else if (named !== null && isIn(purgedBefore, record_id) && !isToldAgain(record_id))
      observed.violate("purged-is-gone", `${attempt_id} names a product that was purged`);
    else if (!isNamed(named, leaf))
      observed.violate("attempts-are-complete", `${attempt_id} names another product`);
  }
}

/** Beyond these in an hour, refusals may be left out. */
const refusalsKept = 50;
