// Admission of a push by its business: the number, and the hold decided over the whole batch plus what is accepted but
// not yet applied. The home actor decides; this module gathers what it needs for that.

import type { AdmitReply } from "../actors/messages/admission.ts";
import type { BusinessCommand, Listings, PlannedListings, PushPlan } from "../actors/messages/business.ts";
import { businessRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import { holdThreshold, listingsOf } from "../protocol/listings.ts";
import type { ContentLists } from "../protocol/records/content-lists.ts";
import { judgeRecord, type RecordRules } from "../protocol/records/judge-record.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { type Refused, refusedAs } from "./answer.ts";
import type { ParsedLeaf, ParsedLeaves } from "./parsed-leaves.ts";
import { rateLimited } from "./rate-limited.ts";
import type { StagedBatch } from "./staged-batch.ts";

/** If other pushes of the business are admitted in the meantime, the plan is gathered again. */
export const attemptsMax = 8;
/** Maximum number of waiting leaves of one business that are planned with; above it, a batch must come back later. */
export const plannedLeavesMax = 100_000;
const leavesPerRead = 1_000;
const planDocument = "plan";

export interface AdmitDeps {
  readonly actors: ActorSystem;
  readonly records: RecordStore;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** The lists that the content rules use. */
  readonly lists: ContentLists;
  /** Where the parsed leaves of an admitted push are left for its chunks. */
  readonly parsed: Pick<ParsedLeaves, "put">;
}

export interface AdmitRequest {
  readonly businessUuid: string;
  readonly pushId: string;
  readonly keyId: string;
  readonly records: readonly Uint8Array[];
  /** Number of records, if they are not given because nothing is planned with them. */
  readonly count?: number;
  /** The root over the records; absent for a record that a person sealed alone. */
  readonly root?: string;
  /** The countries that each mandate allows; null if there is no limit. */
  readonly countries: RecordRules["countries"];
  /** The names that the business may use even though they are protected; null for all names. */
  readonly ownNames: readonly string[] | null;
  /** False for a record that a person sealed alone: the price-shock hold is for machines. */
  readonly mayHold: boolean;
  /** Listings and pending pushes as last reported by the business. */
  readonly listings: number;
  readonly pending: readonly string[];
  /** When the batch was received, in Unix milliseconds; absent for a record that was sealed alone. */
  readonly receivedAtMs?: number;
}

export type Admitted = Exclude<AdmitReply, { status: "plan_stale" }>;

export async function admit(deps: AdmitDeps, request: AdmitRequest): Promise<Admitted> {
  let { pending } = request;
  let planned: Planned | null = null;
  let isPlanned = request.mayHold && (request.listings >= holdThreshold || pending.length > 0);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (isPlanned) planned ??= planOf(deps, request);
    const full = planned && (await fullPlan(deps, request, planned.listings, pending));
    if (full && full.earlier.reduce((sum, each) => sum + each.length, 0) > plannedLeavesMax) break;
    const command: BusinessCommand = {
      type: "push.admit",
      push_id: request.pushId,
      key_id: request.keyId,
      records: request.count ?? request.records.length,
      may_hold: request.mayHold,
      plan: full,
      ...(request.root === undefined ? {} : { root: request.root }),
      ...(request.receivedAtMs === undefined ? {} : { received_at_ms: request.receivedAtMs }),
    };
    const reply = await deps.actors.ask(businessRef(request.businessUuid), command);
    if (reply.status === "admitted") keepParsed(deps, request, planned);
    if (reply.status !== "plan_stale") return reply;
    pending = reply.pending;
    isPlanned = true;
  }
  return { status: "busy", retry_after_seconds: 1 };
}

/** The refusal of a batch that was staged but not admitted. */
export async function notAdmitted(
  staged: StagedBatch,
  admitted: Exclude<Admitted, { status: "admitted" }>,
): Promise<Refused> {
  if (admitted.status === "refused") await staged.drop();
  return admissionRefused(admitted);
}

export function admissionRefused(admitted: Exclude<Admitted, { status: "admitted" }>): Refused {
  if (admitted.status === "refused") return refusedAs(admitted);
  const { retry_after_seconds, reason = "pushes_waiting" } = admitted;
  return rateLimited(`${unfair[reason]} Resend this batch later.`, { retry_after_seconds, reason });
}

const unfair = {
  holds_waiting:
    "Many pushes of this business are held, and this one would be as well: decide on those first.",
  pushes_waiting: "Too many pushes of this business are waiting.",
  push_rate: "This business publishes more batches a minute than fair use allows.",
  records_unchanged: "This business has published exactly these records as often today as fair use allows.",
} as const;

/** For its chunks or, if it is to be held, for its judgement; once it is confirmed, which may be days later, it is parsed again. */
function keepParsed({ parsed }: AdmitDeps, request: AdmitRequest, planned: Planned | null): void {
  if (planned === null) return;
  const bytes = request.records.reduce((sum, record) => sum + record.length, 0);
  parsed.put(pushRef(request.businessUuid, request.pushId).id, planned.leaves, bytes);
}

async function fullPlan(
  deps: AdmitDeps,
  request: AdmitRequest,
  listings: PlannedListings,
  pending: readonly string[],
): Promise<PushPlan> {
  await deps.records.putStagedDocument(
    pushRef(request.businessUuid, request.pushId).id,
    planDocument,
    JSON.stringify(listings),
  );
  return { pending, earlier: await earlierPlans(deps, request, pending), listings };
}

/** The plans of the pending pushes other than this one, oldest first. */
export async function earlierPlans(
  deps: Pick<AdmitDeps, "records" | "recordIdOf" | "lists">,
  { businessUuid, pushId }: Pick<AdmitRequest, "businessUuid" | "pushId">,
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
  deps: Pick<AdmitDeps, "records" | "recordIdOf" | "lists">,
  businessUuid: string,
  pushId: string,
): Promise<PlannedListings> {
  const staged = pushRef(businessUuid, pushId).id;
  const stored = await deps.records.readStagedDocument(staged, planDocument);
  if (stored !== null) return JSON.parse(stored) as PlannedListings;
  const leaves: Uint8Array[] = [];
  for (;;) {
    const page = await deps.records.loadLeaves(staged, leaves.length, leavesPerRead);
    leaves.push(...page);
    if (page.length < leavesPerRead)
      return planOf(deps, { businessUuid, records: leaves, countries: null, ownNames: null }).listings;
  }
}

interface Planned {
  readonly listings: PlannedListings;
  /** By leaf index; undefined for a leaf that will be rejected. */
  readonly leaves: readonly (ParsedLeaf | undefined)[];
}

/**
 * The listings that the batch would leave for each product. A leaf that will be rejected with its reasons, or is a
 * product's second one, changes nothing and is no reason to hold the others.
 */
function planOf(
  deps: Pick<AdmitDeps, "recordIdOf" | "lists">,
  request: Pick<AdmitRequest, "businessUuid" | "records" | "countries" | "ownNames">,
): Planned {
  const plan = new Map<string, Listings>();
  const { countries, ownNames } = request;
  const brands = deps.lists.certified.brandsOf(request.businessUuid);
  const rules = { collection: "products", countries, lists: deps.lists, ownNames, brands } as const;
  const leaves = request.records.map((leaf): ParsedLeaf | undefined => {
    const judged = judgeRecord(leaf, rules);
    if (!judged.ok) return undefined;
    const { record } = judged;
    const ownId = String(record["business_product_id"]);
    const recordId = deps.recordIdOf(request.businessUuid, "products", ownId);
    if (!plan.has(recordId)) plan.set(recordId, listingsOf(record));
    return { record, recordId, listsVersion: deps.lists.version };
  });
  return { listings: [...plan], leaves };
}
