// Decides whether a push whose records are in a file is held, before anything of it is published. It may be repeated.
//   H1. The file is read in pieces, and nothing of a piece is kept but counts, the largest changes and the ids of its records.
//   H2. A record counts as it would be published: the first leaf that would be accepted, compared with the catalogue as it is
//       when the piece is compared, and with what pending pushes will make of it. Leaves of records without listings are not
//       judged here: whatever becomes of them changes no listing that there is.
//   H3. Nothing waits for this, and an import that is being prepared counts in nobody else's comparison.
//   H4. A preparation that keeps failing for a reason of its own ends its push: nobody knows whether the push should be held,
//       and nothing of it is published yet.
//   H5. A hold ends before the file does, so that what is confirmed can be published.

import { parseUtf8 } from "../../protocol/bytes.ts";
import { holdThreshold, type Listings, listingsOf } from "../../protocol/listings.ts";
import { PriceShock } from "../../protocol/price-shock.ts";
import { judgeRecord } from "../../protocol/records/judge-record.ts";
import type { HeldReason } from "../../protocol/wire/push.ts";
import { isObject } from "../../std/is-object.ts";
import { FileUnfit } from "../../storage/staging-area.ts";
import type { ListingsReply } from "../messages/listings.ts";
import type { PushCommand, PushFacts } from "../messages/push.ts";
import { bulkUploadRef, businessRef } from "../messages/refs.ts";
import type { ActivityContext, Ask } from "../system/definition.ts";
import type { ChunkFailures } from "./chunk-failures.ts";
import type { PushPorts } from "./ports.ts";
import { countriesOf } from "./prepare-chunk.ts";
import { failureOf, unfit } from "./process-chunk.ts";

/** Leaves read and compared at a time: each may have a listing for every country. */
const pieceLeaves = 50;

type Preparing = Pick<PushPorts, "leaves" | "lists" | "recordIdOf" | "planOf" | "paces" | "holdMs">;

/** The place of the preparation among the chunks whose failures are counted: in front of the first. */
const beforeChunks = -1;

export async function preparePush(
  { ports, failures }: { readonly ports: Preparing; readonly failures: ChunkFailures },
  facts: PushFacts,
  context: Pick<ActivityContext<"push">, "actor" | "ask" | "signal" | "nowMs">,
): Promise<PushCommand> {
  const name = { push: context.actor.id, chunk: beforeChunks };
  try {
    const prepared = await judgeHold(ports, facts, context);
    failures.forget(name);
    return prepared;
  } catch (error) {
    if (error instanceof FileUnfit) return unfit(error);
    if (context.signal.aborted || !failures.isLast(name, error)) throw error;
    return { type: "push.fail", ...failureOf("The file could not be prepared", error) };
  }
}

async function judgeHold(
  ports: Preparing,
  facts: PushFacts,
  { ask, signal, nowMs }: Pick<ActivityContext<"push">, "ask" | "signal" | "nowMs">,
): Promise<PushCommand> {
  const { business_uuid: uuid, push_id } = facts;
  const now = await askListings(ask, facts, []);
  const prepared = async (held_reasons: readonly HeldReason[]): Promise<PushCommand> => {
    const hold = await holdOf(ports, facts, { ask, nowMs });
    return { type: "push.prepared", held_reasons, ...hold };
  };
  if (now.held_reasons !== null) return prepared(now.held_reasons);
  const others = now.pending.filter((id) => id !== push_id);
  if (now.listings < holdThreshold && others.length === 0) return { type: "push.prepared", held_reasons: [] };
  const pending = new Map<string, Listings>();
  for (const id of others)
    for (const [record, after] of await ports.planOf(uuid, id)) pending.set(record, after);
  const shock = await shockOf(ports, facts, { ask, signal, pending });
  const held_reasons = shock.reasons(await catalogueListings(facts, { ask, pending }));
  if (held_reasons.length > 0) await ask(businessRef(uuid), { type: "push.hold", push_id, held_reasons });
  return prepared(held_reasons);
}

/** What is confirmed at the last moment is published within this time. */
const publishingMs = 3_600_000;

/** See H5. It is asked for last, because the comparison takes time. */
async function holdOf(
  { holdMs }: Preparing,
  { business_uuid: uuid, file }: PushFacts,
  { ask, nowMs }: Pick<ActivityContext<"push">, "ask" | "nowMs">,
): Promise<{ readonly hold_ms?: number }> {
  if (holdMs === undefined || file === undefined) return holdMs === undefined ? {} : { hold_ms: holdMs };
  const upload = await ask(bulkUploadRef(uuid, file.upload_id), { type: "upload.read" });
  const keptMs = (upload?.kept_until_ms ?? Number.POSITIVE_INFINITY) - nowMs() - publishingMs;
  return { hold_ms: Math.max(1, Math.min(holdMs, keptMs)) };
}

interface Comparing {
  readonly ask: Ask;
  /** What pending pushes will leave for each record. */
  readonly pending: ReadonlyMap<string, Listings>;
}

async function shockOf(
  ports: Preparing,
  facts: PushFacts,
  { ask, signal, pending }: Comparing & Pick<ActivityContext, "signal">,
): Promise<PriceShock> {
  const shock = new PriceShock();
  const seen = new Set<string>();
  for (let first = 0; first < facts.records; first += pieceLeaves) {
    if (signal.aborted) throw new Error("The push is continued elsewhere.");
    const count = Math.min(pieceLeaves, facts.records - first);
    const leaves = await ports.leaves.load(facts, first, count);
    if (leaves.length < count) throw new Error(`A leaf of ${facts.push_id} is not staged.`);
    const named = await readPiece(ports, facts, leaves);
    const { records } = await askListings(ask, facts, [...new Set(named.map(({ recordId }) => recordId))]);
    const applied = new Map(records.map((each) => [each.record_id, each]));
    const listed = named.flatMap((each): readonly ListedLeaf[] => {
      const head = applied.get(each.recordId);
      const before = pending.get(each.recordId) ?? head?.listings ?? {};
      const former = head?.former ?? {};
      const isNew = countOf(before) + countOf(former) === 0;
      return isNew ? [] : [{ ...each, before, former, ownId: head?.bpid ?? null }];
    });
    for (const [leaf, after] of await planPiece(ports, facts, { leaves: listed, seen })) {
      const due = ports.paces.queued();
      if (due !== null) await due;
      shock.add({ ...leaf, after });
    }
  }
  return shock;
}

interface NamedLeaf {
  readonly bytes: Uint8Array;
  readonly recordId: string;
}

/** A leaf of a record that has listings. */
interface ListedLeaf extends NamedLeaf {
  readonly before: Listings;
  readonly former: Listings;
  readonly ownId: string | null;
}

/** The leaves that name a record. One that could not be accepted may be among them. */
async function readPiece(
  { recordIdOf, paces }: Preparing,
  { business_uuid: uuid, collection }: PushFacts,
  leaves: readonly Uint8Array[],
): Promise<readonly NamedLeaf[]> {
  const named: NamedLeaf[] = [];
  for (const bytes of leaves) {
    const due = paces.queued();
    if (due !== null) await due;
    const ownId = ownIdIn(bytes);
    if (ownId !== null) named.push({ bytes, recordId: recordIdOf(uuid, collection, ownId) });
  }
  return named;
}

/** The business's own id in a record that would be accepted; for any other anything. */
function ownIdIn(bytes: Uint8Array): string | null {
  try {
    const record: unknown = JSON.parse(parseUtf8(bytes) ?? "");
    const id = isObject(record) ? record["business_product_id"] : null;
    return typeof id === "string" ? id : null;
  } catch {
    return null;
  }
}

/** The leaves that would be published, with the listings that each would leave: of a record the first one (H2). */
async function planPiece(
  { lists, paces }: Preparing,
  facts: PushFacts,
  { leaves, seen }: { readonly leaves: readonly ListedLeaf[]; readonly seen: Set<string> },
): Promise<readonly (readonly [ListedLeaf, Listings])[]> {
  const { collection, own_names: ownNames } = facts;
  const brands = lists.certified.brandsOf(facts.business_uuid);
  const rules = { collection, countries: countriesOf(facts), lists, ownNames, brands };
  const planned: (readonly [ListedLeaf, Listings])[] = [];
  for (const leaf of leaves) {
    const due = paces.queued();
    if (due !== null) await due;
    if (seen.has(leaf.recordId)) continue;
    const judged = judgeRecord(leaf.bytes, rules);
    if (!judged.ok) continue;
    seen.add(leaf.recordId);
    planned.push([leaf, listingsOf(judged.record)]);
  }
  return planned;
}

/** The number of listings before this push: those applied, and what pending pushes will add or remove. */
async function catalogueListings(facts: PushFacts, { ask, pending }: Comparing): Promise<number> {
  const ids = [...pending.keys()];
  let change = 0;
  for (let from = 0; from < ids.length; from += pieceLeaves) {
    const piece = ids.slice(from, from + pieceLeaves);
    const { records } = await askListings(ask, facts, piece);
    for (const id of piece) change += countOf(pending.get(id));
    for (const { listings } of records) change -= countOf(listings);
  }
  return (await askListings(ask, facts, [])).listings + change;
}

function countOf(listings: Listings = {}): number {
  return Object.keys(listings).length;
}

function askListings(ask: Ask, facts: PushFacts, record_ids: readonly string[]): Promise<ListingsReply> {
  const { business_uuid, push_id } = facts;
  return ask(businessRef(business_uuid), { type: "listings.read", push_id, record_ids });
}
