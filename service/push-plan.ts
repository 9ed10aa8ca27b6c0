// What a batch would leave of each product's listings: what the hold rule compares with the catalogue (protocol/price-shock.ts), and
// what later batches count with while this one is pending.
//   PL1. However many listings a plan has, it is made, stored and compared in pieces, at a pace.

import type { Listings, PlannedListings } from "../actors/messages/business.ts";
import { pushRef } from "../actors/messages/refs.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import { listingsOf } from "../protocol/listings.ts";
import type { ContentLists } from "../protocol/records/content-lists.ts";
import { judgeRecord, type RecordRules } from "../protocol/records/judge-record.ts";
import type { Pace } from "../std/pace.ts";
import { noteWork } from "../std/work.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { ParsedLeaf } from "./parsed-leaves.ts";

/** Maximum number of waiting leaves of one business that are planned with; above it, a batch must come back later. */
export const plannedLeavesMax = 100_000;
const leavesPerRead = 1_000;
const planDocument = "plan";

/** A plan of up to so many records and listings is stored at once, and compared at once, with those before it. */
const wholeRecordsMax = 1_000;
export const wholeListingsMax = 10_000;
/** The last item of a stored piece that others follow: no record has this id. */
const moreFollows: PlannedListings[number] = ["", {}];
/**
 * Records of a piece, and their listings: a record has one for each country at most. So few records may be compared at once however
 * many listings are published of them.
 */
export const pieceRecords = 40;
const pieceListings = 2_500;

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
  readonly leaves: readonly (ParsedLeaf | undefined)[];
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
export async function planOf(deps: Omit<PlanDeps, "records">, request: PlanRequest): Promise<Planned> {
  const plan = new Map<string, Listings>();
  const { countries, ownNames } = request;
  const brands = deps.lists.certified.brandsOf(request.businessUuid);
  const rules = { collection: "products", countries, lists: deps.lists, ownNames, brands } as const;
  const parse = (leaf: Uint8Array): ParsedLeaf | undefined => {
    const judged = judgeRecord(leaf, rules);
    if (!judged.ok) return undefined;
    const { record } = judged;
    const ownId = String(record["business_product_id"]);
    const recordId = deps.recordIdOf(request.businessUuid, "products", ownId);
    if (!plan.has(recordId)) plan.set(recordId, listingsOf(record));
    return { record, recordId, listsVersion: deps.lists.version };
  };
  const leaves: (ParsedLeaf | undefined)[] = [];
  for (const leaf of request.records) {
    const due = deps.pace();
    if (due !== null) await due;
    leaves.push(parse(leaf));
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
export async function storePlan(
  { records, pace }: Pick<PlanDeps, "records" | "pace">,
  push: string,
  plan: PlannedListings,
): Promise<void> {
  const pieces = isLarge([plan]) ? [...piecesOf(plan)] : [plan];
  for (const [place, piece] of pieces.entries()) {
    const due = pace();
    if (due !== null) await due;
    const text = JSON.stringify(place === pieces.length - 1 ? piece : [...piece, moreFollows]);
    noteWork("byte", text.length);
    await records.putStagedDocument(push, documentOf(place), text);
  }
}

function documentOf(place: number): string {
  return place === 0 ? planDocument : `${planDocument}.${place}`;
}

/** The plans of the pending pushes other than this one, oldest first. */
export async function earlierPlans(
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
 * them all and all names were its own. One whose records are in a file has no plan (H3 in actors/push/prepare-push.ts).
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
