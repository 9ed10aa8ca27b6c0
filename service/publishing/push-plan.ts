// What a batch would leave of each product's listings: what the hold rule compares with the catalogue (protocol/price-shock.ts), and
// what later batches count with while this one is pending.
//   PL1. However many listings a plan has, it is made, stored and compared in pieces, at a pace.

import type { ListingsReply, PreviewReply } from "../../actors/messages/admission.ts";
import type { Listings, PlannedListings } from "../../actors/messages/business.ts";
import type { AcceptedLeaf } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import { listingsOf, PriceShock } from "../../protocol/price-shock.ts";
import { type JudgedRecord, judging, type RecordRules } from "../../protocol/records/judge-record.ts";
import { type ContentLists, listsInForce } from "../../protocol/records/name-index.ts";
import type { HeldReason } from "../../protocol/wire/push.ts";
import { inSteps, noteWork, type Pace } from "../../std/work.ts";
import type { RecordStore } from "../../storage/record-store.ts";

/** Maximum number of waiting leaves of one business that are planned with; above it, a batch must come back later. */
const plannedLeavesMax = 100_000;
const leavesPerRead = 1_000;
const planDocument = "plan";

/** A plan of up to so many records and listings is stored at once, and compared at once, with those before it. */
const wholeRecordsMax = 1_000;
const wholeListingsMax = 10_000;
/** The last item of a stored piece that others follow: no record has this id. */
const moreFollows: PlannedListings[number] = ["", {}];
/**
 * Records of a piece, and their listings: a record has one for each country at most. So few records may be compared at once however
 * many listings are published of them.
 */
const pieceRecords = 40;
const pieceListings = 2_500;
/** Pieces that are stored together, so that a store may make one write of them; together they have at most a few megabytes. */
const piecesAtOnce = 25;

export interface PlanDeps {
  readonly records: RecordStore;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** The lists that the content rules use. */
  readonly lists: ContentLists;
  /** At which records are judged and plans compared. */
  readonly pace: Pace;
}

export interface PlanRequest {
  readonly businessUuid: string;
  readonly records: readonly Uint8Array[];
  /** The countries that each mandate allows; null if there is no limit. */
  readonly countries: RecordRules["countries"];
  /** The names that the business may use even though they are protected; null for all names. */
  readonly ownNames: readonly string[] | null;
}

export interface Planned {
  readonly listings: PlannedListings;
  /** By leaf index; undefined for a leaf that will be rejected. */
  readonly leaves: readonly (AcceptedLeaf | undefined)[];
}

/** A plan in pieces (PL1); none for an empty one. */
export function* piecesOf(plan: PlannedListings): Generator<PlannedListings, void> {
  let piece: PlannedListings[number][] = [];
  let listings = 0;
  for (const each of plan) {
    const more = Object.keys(each[1]).length;
    if (piece.length > 0 && (piece.length === pieceRecords || listings + more > pieceListings)) {
      yield piece;
      piece = [];
      listings = 0;
    }
    piece.push(each);
    listings += more;
  }
  if (piece.length > 0) yield piece;
}

/**
 * The listings that the batch would leave for each product. A leaf that will be rejected with its reasons, or is a
 * product's second one, changes nothing and is no reason to hold the others.
 */
export async function planOf(deps: PlanDeps, request: PlanRequest): Promise<Planned> {
  const plan = new Map<string, Listings>();
  const { countries, ownNames } = request;
  const judgedBy = listsInForce(deps.lists);
  const brands = deps.lists.certified.brandsOf(request.businessUuid);
  const rules = { collection: "products", countries, lists: deps.lists, ownNames, brands } as const;
  const leafOf = (judged: JudgedRecord): AcceptedLeaf | undefined => {
    if (!judged.ok) return undefined;
    const { record } = judged;
    const ownId = String(record["business_product_id"]);
    const recordId = deps.recordIdOf(request.businessUuid, "products", ownId);
    if (!plan.has(recordId)) plan.set(recordId, listingsOf(record));
    return { record, recordId, judgedBy };
  };
  const leaves: (AcceptedLeaf | undefined)[] = [];
  for (const leaf of request.records) {
    const due = deps.pace();
    if (due !== null) await due;
    const judged = inSteps(judging(leaf, rules), deps.pace);
    leaves.push(leafOf(judged instanceof Promise ? await judged : judged));
  }
  return { listings: [...plan], leaves };
}

/** Whether the plans together have to be stored or compared in pieces (PL1). */
export function isLarge(plans: readonly PlannedListings[]): boolean {
  if (plans.reduce((sum, plan) => sum + plan.length, 0) > wholeRecordsMax) return true;
  let listings = 0;
  for (const plan of plans) for (const [, each] of plan) listings += Object.keys(each).length;
  return listings > wholeListingsMax;
}

/** Keeps the plan with what is staged of its push. */
export async function storePlan(deps: PlanDeps, push: string, plan: PlannedListings): Promise<void> {
  const pieces = isLarge([plan]) ? [...piecesOf(plan)] : [plan];
  for (let from = 0; from < pieces.length; from += piecesAtOnce) {
    const texts: string[] = [];
    for (let place = from; place < pieces.length && texts.length < piecesAtOnce; place += 1) {
      const due = deps.pace();
      if (due !== null) await due;
      const piece = pieces[place] ?? [];
      const text = JSON.stringify(place === pieces.length - 1 ? piece : [...piece, moreFollows]);
      noteWork("byte", text.length);
      texts.push(text);
    }
    const put = (text: string, at: number) =>
      deps.records.putStagedDocument(push, documentOf(from + at), text);
    if (texts.length === 1) await put(texts[0] as string, 0);
    else await Promise.all(texts.map(put));
  }
}

function documentOf(place: number): string {
  return place === 0 ? planDocument : `${planDocument}.${place}`;
}

/** The plans of the pending pushes other than this one, oldest first. */
async function earlierPlans(
  deps: PlanDeps,
  { businessUuid, pushId }: { readonly businessUuid: string; readonly pushId: string },
  pending: readonly string[],
): Promise<readonly PlannedListings[]> {
  const earlier: PlannedListings[] = [];
  for (const each of pending) {
    if (each !== pushId) earlier.push(await loadPlan(deps, businessUuid, each));
  }
  return earlier;
}

/**
 * The plan of a pending push; a push accepted without one is planned from its staged leaves, as if its mandate covered
 * them all and all names were its own. One whose records are in a file has no plan (H3 in actors/push/activities.ts).
 */
export async function loadPlan(
  deps: PlanDeps,
  businessUuid: string,
  pushId: string,
): Promise<PlannedListings> {
  const staged = pushRef(businessUuid, pushId).id;
  const plan: PlannedListings[number][] = [];
  for (let place = 0; ; place += 1) {
    const due = deps.pace();
    if (due !== null) await due;
    const stored = await deps.records.readStagedDocument(staged, documentOf(place));
    if (stored === null) return planFromLeaves(deps, businessUuid, staged);
    noteWork("byte", stored.length);
    const piece = JSON.parse(stored) as PlannedListings;
    const isFollowed = piece.at(-1)?.[0] === moreFollows[0];
    for (const each of isFollowed ? piece.slice(0, -1) : piece) plan.push(each);
    if (!isFollowed) return plan;
  }
}

async function planFromLeaves(
  deps: PlanDeps,
  businessUuid: string,
  staged: string,
): Promise<PlannedListings> {
  const leaves: Uint8Array[] = [];
  for (;;) {
    const page = await deps.records.loadLeaves(staged, leaves.length, leavesPerRead);
    leaves.push(...page);
    if (page.length < leavesPerRead)
      return (await planOf(deps, { businessUuid, records: leaves, countries: null, ownNames: null }))
        .listings;
  }
}

// What records would change of a business's catalogue, compared piece by piece: of files, and of batches with many listings.
//   F2. Each piece is compared with the catalogue as it is then, and with what pending pushes will make of it. If pushes
//       are admitted or finished meanwhile, the comparison goes on with those that are pending then.
//   F3. Nothing of a piece is kept but counts and the largest changes, and a piece is so small that comparing it is a short step.

/** If other pushes of the business are admitted in the meantime, what is planned is gathered again. */
export const attemptsMax = 8;

export interface ComparedPush {
  readonly businessUuid: string;
  readonly pushId: string;
  /** The root over its records, for fair use. */
  readonly root?: string;
}

/** The other pushes of the business that are not applied yet. */
export interface PendingPushes {
  readonly pending: readonly string[];
  /** Their plans, oldest first, where they were read already. */
  readonly earlier?: readonly PlannedListings[];
}

type Preview = Exclude<PreviewReply, { status: "plan_stale" }>;

/** The catalogue, as it will be when every pending push is applied; and what the push would change of it. */
export class CatalogueComparison {
  readonly #deps: PlanDeps & Actors;
  readonly #push: ComparedPush;
  readonly #shock = new PriceShock();
  #pending: readonly string[];
  /** The plans of the pending pushes; null where they are to be read. */
  #plans: readonly PlannedListings[] | null;
  /** The same by record; null until they are needed. */
  #earlier: readonly ReadonlyMap<string, Listings>[] | null = null;
  #overlay: ReadonlyMap<string, Listings> = new Map();

  constructor(deps: PlanDeps & Actors, push: ComparedPush, { pending, earlier }: PendingPushes) {
    this.#deps = deps;
    this.#push = push;
    this.#pending = pending;
    this.#plans = earlier ?? null;
  }

  /** Takes note of what the records would change, and answers with the version of each. */
  async compare(planned: PlannedListings): Promise<Preview> {
    const versions = [];
    for (const piece of planned.length === 0 ? [planned] : piecesOf(planned)) {
      const preview = await this.#comparePiece(piece);
      if (preview.status !== "admitted") return preview;
      for (const version of preview.versions) versions.push(version);
    }
    return { status: "admitted", held_reasons: [], versions };
  }

  /** Takes note of what the records would change. */
  async note(planned: PlannedListings): Promise<void> {
    await this.#earlierMaps();
    for (const piece of piecesOf(planned)) await this.#notePiece(piece);
  }

  /** The reasons for which the push would be held. */
  async heldReasons(): Promise<readonly HeldReason[]> {
    return this.#shock.reasons(await this.#countListings());
  }

  /** The listings of the catalogue as it will be; counted again if another push was published meanwhile, whose records would count twice. */
  async #countListings(): Promise<number> {
    const pieces = [...piecesOf([...this.#overlay])];
    for (let attempt = 1; ; attempt += 1) {
      const { listings } = await this.#read([]);
      let change = 0;
      let isSame = true;
      for (const piece of pieces) {
        const found = await this.#read(piece.map(([recordId]) => recordId));
        isSame &&= found.listings === listings;
        for (const [, planned] of piece) change += countOf(planned);
        for (const record of found.records) change -= countOf(record.listings);
      }
      if (isSame || attempt === attemptsMax) return listings + change;
    }
  }

  async #comparePiece(piece: PlannedListings): Promise<Preview> {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const earlier = await this.#earlierMaps();
      if (earlier.reduce((sum, each) => sum + each.size, 0) > plannedLeavesMax) break;
      const preview = await this.#preview(piece, earlier);
      if (preview.status === "admitted") await this.#notePiece(piece);
      if (preview.status !== "plan_stale") return preview;
      this.#pending = preview.pending;
      this.#plans = null;
      this.#earlier = null;
    }
    return { status: "busy", retry_after_seconds: 1 };
  }

  async #earlierMaps(): Promise<readonly ReadonlyMap<string, Listings>[]> {
    if (this.#earlier !== null) return this.#earlier;
    this.#plans ??= await earlierPlans(this.#deps, this.#push, this.#pending);
    const overlay = new Map<string, Listings>();
    const maps: ReadonlyMap<string, Listings>[] = [];
    for (const plan of this.#plans) {
      await this.#deps.pace();
      maps.push(new Map(plan));
      for (const [recordId, listings] of plan) overlay.set(recordId, listings);
    }
    this.#overlay = overlay;
    this.#earlier = maps;
    return maps;
  }

  async #preview(
    piece: PlannedListings,
    earlier: readonly ReadonlyMap<string, Listings>[],
  ): Promise<PreviewReply> {
    await this.#deps.pace();
    noteWork("value", earlier.length * piece.length);
    // Of several plans of a record only the last one's listings count, so the others' are not sent.
    const ofThese = earlier.map((plan) =>
      piece.flatMap(([recordId]): PlannedListings => {
        const listings = plan.get(recordId);
        if (listings === undefined) return [];
        return [[recordId, listings === this.#overlay.get(recordId) ? listings : {}]];
      }),
    );
    const { businessUuid, pushId: push_id, root } = this.#push;
    return this.#deps.actors.ask(businessRef(businessUuid), {
      type: "push.preview",
      push_id,
      may_hold: true,
      plan: { pending: this.#pending, earlier: ofThese, listings: piece },
      ...(root === undefined ? {} : { root }),
    });
  }

  async #notePiece(piece: PlannedListings): Promise<void> {
    const { records } = await this.#read(piece.map(([recordId]) => recordId));
    const applied = new Map(records.map((each) => [each.record_id, each]));
    for (const [recordId, after] of piece) {
      const head = applied.get(recordId);
      const before = this.#overlay.get(recordId) ?? head?.listings ?? {};
      this.#shock.add({ recordId, before, former: head?.former ?? {}, after, ownId: head?.bpid ?? null });
    }
  }

  async #read(record_ids: readonly string[]): Promise<ListingsReply> {
    await this.#deps.pace();
    const { businessUuid, pushId: push_id } = this.#push;
    return this.#deps.actors.ask(businessRef(businessUuid), { type: "listings.read", push_id, record_ids });
  }
}

/**
 * How the business is asked about a plan: at once, with the plans of its pending pushes; or in pieces, where all of these together, or
 * what is published, are too much for that. `too_many`: more is waiting than is planned with.
 */
export async function comparisonOf(
  deps: PlanDeps & Actors,
  push: ComparedPush,
  { listings, pending }: { readonly listings: PlannedListings; readonly pending: readonly string[] },
): Promise<"too_many" | Required<PendingPushes> | CatalogueComparison> {
  const earlier = await earlierPlans(deps, push, pending);
  if (earlier.reduce((sum, each) => sum + each.length, 0) > plannedLeavesMax) return "too_many";
  const isInPieces = isLarge([listings, ...earlier]) || (await hasMuchPublished(deps, push, listings));
  return isInPieces ? new CatalogueComparison(deps, push, { pending, earlier }) : { pending, earlier };
}

async function hasMuchPublished(
  { actors }: PlanDeps & Actors,
  { businessUuid, pushId: push_id }: ComparedPush,
  plan: PlannedListings,
): Promise<boolean> {
  if (plan.length <= pieceRecords) return false;
  const question = { type: "listings.read", push_id, record_ids: [] } as const;
  return (await actors.ask(businessRef(businessUuid), question)).listings > wholeListingsMax;
}

function countOf(listings: Listings = {}): number {
  return Object.keys(listings).length;
}
