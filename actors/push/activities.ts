// The activities of a push actor.

import { chunkCount } from "../../machines/push.ts";
import { parseUtf8 } from "../../protocol/bytes.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { holdThreshold, type Listings, listingsOf, PriceShock } from "../../protocol/price-shock.ts";
import { judging } from "../../protocol/records/judge-record.ts";
import { listsInForce } from "../../protocol/records/name-index.ts";
import { duplicateInBatch, type HeldReason } from "../../protocol/wire/push.ts";
import { isObject } from "../../std/json-pointer.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { inSteps } from "../../std/work.ts";
import { FileUnfit } from "../../storage/staging-area.ts";
import type { ListingsReply } from "../messages/admission.ts";
import type { BusinessProtocol, NamedRecord } from "../messages/business.ts";
import type { NoticeFacts } from "../messages/notices.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { PushCommand, PushFacts, SettledOutcome } from "../messages/push.ts";
import { bulkUploadRef, businessRef, partsOf, pushRef } from "../messages/refs.ts";
import type { Notice, NoticeChannel, PushNotice } from "../messages/serving.ts";
import type { Activity, ActivityContext, Ask } from "../system/definition.ts";
import type { PushPorts, StalledPush } from "./ports.ts";
import {
  type ChunkWorkload,
  countriesOf,
  type JudgedLeaf,
  type Judging,
  judgeChunk,
  refusalOf,
} from "./prepare-chunk.ts";
import {
  type ChunkFailures,
  type ChunkName,
  chunksAhead,
  createChunkFailures,
  createChunkPipelines,
  failureOf,
  indexRows,
  type PublishedChunk,
  processChunk,
  unfit,
} from "./process-chunk.ts";

/** What a push does outside its journal: it judges, prepares and publishes its chunks, and drops what was staged. */
export function pushActivities(ports: PushPorts): Record<string, Activity> {
  const pipelines = createChunkPipelines<PublishedChunk>(chunksAhead);
  const failures = createChunkFailures();
  const deps = { ports, pipelines, failures };
  const publishChunk = async (params: ChunkWorkload, context: ActivityContext<"push">) => {
    const command = await processChunk(deps, params, context);
    ports.stalled?.forget(params.facts.push_id);
    return command;
  };
  // Whether background processing is on or not: who sent the push is answered that it is held.
  const judge = (params: { facts: PushFacts }, context: ActivityContext<"push">) =>
    judgeHeld(deps, params.facts, context);
  return {
    processChunk: async (params: ChunkWorkload, context: ActivityContext<"push">) => {
      if (ports.background?.isOn === false && params.facts.mode === "queued") throw switchedOff();
      return publishChunk(params, context);
    },
    // The same work in a pool of its own: callers wait for it, however many chunks of queued pushes wait.
    processInlineChunk: publishChunk,
    judgeHeld: judge,
    judgeInlineHeld: judge,
    reportStalled: async (push: StalledPush) => {
      ports.stalled?.note(push);
      return null;
    },
    recordNotice: async (notice: Notice, context: ActivityContext<"push" | "business">) => {
      // First, since it is repeatable, and a further line is not. The business gave that of a takedown with its own decision.
      if ("push_id" in notice) await tellPeople(notice, context);
      return deliver(ports.notices?.record, notice);
    },
    mailNotice: (notice: Notice) => deliver(ports.notices?.mail, notice),
    indexChunk: (params: IndexChunk, context: ActivityContext<"push">) => indexChunk(ports, params, context),
    preparePush: async (params: { facts: PushFacts }, context: ActivityContext<"push">) => {
      if (ports.background?.isOn === false) throw switchedOff();
      return preparePush(deps, params.facts, context);
    },
    finishPush: (params: FinishedPush, context: ActivityContext<"push">) =>
      finishPush(ports, params, context),
  };
}

/** The activity is repeated until a node that processes queued pushes has the actor. */
function switchedOff(): Unavailable {
  const facts = { reason: "background_off", effect: "not_applied", retryAfterSeconds: 60 } as const;
  return new Unavailable("Queued pushes are not processed on this node.", facts);
}

/** What a push tells its business when nothing more of it will be published. */
export interface FinishedPush extends Omit<CommandOf<BusinessProtocol, "push.finished">, "type"> {
  readonly business_uuid: string;
  /** The upload whose file contains the records, if they are in one. */
  readonly upload_id?: string;
}

interface IndexChunk {
  readonly collection: CollectionName;
  readonly chunk: number;
  readonly region: string;
}

/**
 * Notifies a region's index again, from what is stored; if it throws, it is retried. A region that was declared dead
 * in the meantime is not waited for: if it comes back, its indexes are rebuilt.
 */
async function indexChunk(
  ports: Pick<PushPorts, "regions" | "stalled">,
  params: IndexChunk,
  context: ActivityContext<"push">,
): Promise<PushCommand> {
  const indexed: PushCommand = { type: "chunk.indexed", chunk: params.chunk, region: params.region };
  if (!ports.regions().includes(params.region)) return indexed;
  const { collection, chunk } = params;
  const { references } = await context.ask(context.actor, { type: "push.references", chunk });
  if (!(await indexRows(params.region, { collection, chunk, references }, context)))
    throw new Error(`The index of region ${params.region} is unavailable.`);
  ports.stalled?.forget(partsOf(context.actor.id).own);
  return indexed;
}

async function deliver(channel: NoticeChannel | undefined, notice: Notice): Promise<null> {
  await channel?.deliver(notice);
  return null;
}

async function tellPeople(notice: PushNotice, { ask }: Pick<ActivityContext<"push">, "ask">): Promise<void> {
  const { notice_id, business_uuid, push_id, state, records, counts } = notice;
  const { accepted, updated, rejected } = counts;
  const facts: NoticeFacts =
    state === "held"
      ? { kind: "push.held", push_id, records }
      : { kind: "push.ended", push_id, state, published: accepted + updated, rejected };
  await ask(businessRef(business_uuid), { type: "notice.give", notice_id, facts });
}

/** The business forgets what only a repetition would need, then the staged bytes are removed. */
async function finishPush(
  ports: PushPorts,
  params: FinishedPush,
  context: ActivityContext<"push">,
): Promise<null> {
  const { business_uuid, upload_id, ...finished } = params;
  const { push_id } = finished;
  await context.ask(businessRef(business_uuid), { type: "push.finished", ...finished });
  await ports.records.dropStaged(context.actor.id);
  if (upload_id !== undefined)
    await context.ask(bulkUploadRef(business_uuid, upload_id), { type: "import.end", push_id });
  ports.leaves.drop(context.actor.id);
  ports.parsed.drop(context.actor.id);
  ports.stalled?.forget(push_id);
  return null;
}

// Judges the records of a push that is to be held, before it is shown as held: what is faulty is rejected with its reasons now, and
// an owner can see what the rest is.
//   J1. A record is judged as its chunk would judge it if the push were published now, and of two of one product the first that is
//       accepted counts. So the answer is the one that a validation gives.
//   J2. It may be repeated, and replaces what an earlier attempt found: nobody was shown that.
//   J3. A judgement that keeps failing for a reason of its own ends its push, of which nothing is published.

/** The place of the judgement among the chunks whose failures are counted: in front of the preparation. */
const beforePreparation = -2;

type Context = Pick<ActivityContext<"push">, "actor" | "ask" | "signal">;

/** Judges every record of a push that is to be held, before it is. */
export async function judgeHeld(
  { ports, failures }: { readonly ports: Judging; readonly failures: ChunkFailures },
  facts: PushFacts,
  context: Context,
): Promise<PushCommand> {
  const name = { push: context.actor.id, chunk: beforePreparation };
  return failingAtLast({ name, failures, what: "The records could not be judged" }, context, async () => ({
    type: "push.judged",
    rejected: await judgeAll(ports, facts, context),
  }));
}

/** Work of a push whose failures are counted like those of a chunk; `what` it failed to do is told to the business. */
interface CountedWork {
  readonly name: ChunkName;
  readonly failures: ChunkFailures;
  readonly what: string;
}

/** The command that the work comes to: one that ends the push, where its file is unfit or the last of its failures was its own. */
async function failingAtLast(
  { name, failures, what }: CountedWork,
  { signal }: Pick<Context, "signal">,
  work: () => Promise<PushCommand>,
): Promise<PushCommand> {
  try {
    const command = await work();
    failures.forget(name);
    return command;
  } catch (error) {
    if (error instanceof FileUnfit) return unfit(error);
    if (signal.aborted || !failures.isLast(name, error)) throw error;
    return { type: "push.fail", ...failureOf(what, error) };
  }
}

/** How many leaves of each chunk are rejected, up to the last chunk with any. */
async function judgeAll(
  ports: Judging,
  facts: PushFacts,
  { actor, ask, signal }: Context,
): Promise<readonly number[]> {
  const seen = new Set<string>();
  const rejected: number[] = [];
  for (let chunk = 0; chunk < chunkCount(facts.records); chunk += 1) {
    if (signal.aborted) throw new Error("The push is continued elsewhere.");
    const judged = await judgeChunk(ports, { facts, chunk });
    const outcomes = judged.map((leaf) => outcomeOf(leaf, seen));
    const names = judged.flatMap(namedBy);
    const { number } = facts;
    if (names.length > 0) await ask(businessRef(facts.business_uuid), { type: "names.keep", number, names });
    await ask(actor, { type: "chunk.judge", chunk, outcomes });
    rejected.push(outcomes.filter(({ outcome }) => outcome === "rejected").length);
  }
  return rejected.slice(0, rejected.findLastIndex((count) => count > 0) + 1);
}

function namedBy({ claim, names }: JudgedLeaf): readonly NamedRecord[] {
  if (names !== null) return [names];
  if (claim === null || claim.business_product_id === null) return [];
  const { record_id, business_product_id } = claim;
  return [{ record_id, business_product_id }];
}

function outcomeOf(leaf: JudgedLeaf, seen: Set<string>): SettledOutcome {
  const { leafIndex: leaf_index, claim } = leaf;
  if (claim === null) return refusalOf(leaf);
  const { record_id } = claim;
  const isSecond = seen.has(record_id);
  seen.add(record_id);
  return {
    leaf_index,
    record_id,
    version: null,
    outcome: isSecond ? "rejected" : "held",
    errors: isSecond ? [duplicateInBatch] : [],
  };
}

// Decides whether a push whose records are in a file is held, before anything of it is published. It may be repeated.
//   H1. The file is read in pieces, and nothing of a piece is kept but counts, the largest changes and the ids of its records.
//   H2. A record counts as it would be published: the first leaf that would be accepted, compared with the catalogue as it is
//       when the piece is compared, and with what pending pushes will make of it. Leaves of records without listings are not
//       judged here: whatever becomes of them changes no listing that there is.
//   H3. Nothing waits for this, and an import that is being prepared counts in nobody else's comparison.
//   H4. A preparation that keeps failing for a reason of its own ends its push: nobody knows whether the push should be held,
//       and nothing of it is published yet.
//   H5. A hold ends before the file does, so that what is confirmed can be published.

/** Leaves read and compared at a time: each may have a listing for every country. */
const pieceLeaves = 50;

type Preparing = Pick<
  PushPorts,
  "leaves" | "lists" | "parsed" | "recordIdOf" | "planOf" | "paces" | "holdMs"
>;

/** The place of the preparation among the chunks whose failures are counted: in front of the first. */
const beforeChunks = -1;

/** Compares the records of a file with the catalogue, and has the push held where that is due (H1 to H3). */
export async function preparePush(
  { ports, failures }: { readonly ports: Preparing; readonly failures: ChunkFailures },
  facts: PushFacts,
  context: Pick<ActivityContext<"push">, "actor" | "ask" | "signal" | "nowMs">,
): Promise<PushCommand> {
  const name = { push: context.actor.id, chunk: beforeChunks };
  return failingAtLast({ name, failures, what: "The file could not be prepared" }, context, () =>
    judgeHold(ports, facts, context),
  );
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
  const pace = ports.paces.queued(facts.business_uuid);
  const seen = new Set<string>();
  for (let first = 0; first < facts.records; first += pieceLeaves) {
    if (signal.aborted) throw new Error("The push is continued elsewhere.");
    const count = Math.min(pieceLeaves, facts.records - first);
    const leaves = await ports.leaves.load(facts, first, count);
    if (leaves.length < count) throw new Error(`A leaf of ${facts.push_id} is not staged.`);
    const named = await readPiece(ports, facts, { leaves, first });
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
      const due = pace();
      if (due !== null) await due;
      shock.add({ ...leaf, after });
    }
  }
  return shock;
}

interface NamedLeaf {
  readonly leafIndex: number;
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
  { leaves, first }: { readonly leaves: readonly Uint8Array[]; readonly first: number },
): Promise<readonly NamedLeaf[]> {
  const named: NamedLeaf[] = [];
  const pace = paces.queued(uuid);
  for (const [offset, bytes] of leaves.entries()) {
    const due = pace();
    if (due !== null) await due;
    const ownId = ownIdIn(bytes);
    if (ownId === null) continue;
    named.push({ leafIndex: first + offset, bytes, recordId: recordIdOf(uuid, collection, ownId) });
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
  { lists, parsed, paces }: Preparing,
  facts: PushFacts,
  { leaves, seen }: { readonly leaves: readonly ListedLeaf[]; readonly seen: Set<string> },
): Promise<readonly (readonly [ListedLeaf, Listings])[]> {
  const { collection, own_names: ownNames } = facts;
  // Before anything is judged: what changes meanwhile has the leaf judged again.
  const judgedBy = listsInForce(lists);
  const brands = lists.certified.brandsOf(facts.business_uuid);
  const rules = { collection, countries: countriesOf(facts), lists, ownNames, brands };
  const { id } = pushRef(facts.business_uuid, facts.push_id);
  const planned: (readonly [ListedLeaf, Listings])[] = [];
  const pace = paces.queued(facts.business_uuid);
  for (const leaf of leaves) {
    const due = pace();
    if (due !== null) await due;
    if (seen.has(leaf.recordId)) continue;
    const found = inSteps(judging(leaf.bytes, rules), pace);
    const judged = found instanceof Promise ? await found : found;
    if (!judged.ok) continue;
    seen.add(leaf.recordId);
    parsed.note(id, leaf.leafIndex, { recordId: leaf.recordId, judgedBy });
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
