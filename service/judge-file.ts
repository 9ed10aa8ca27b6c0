// How the records of an uploaded file would end if it were imported now, for validations.
//   F1. The file is read and judged in pieces, from its first line to its last, since a hold and a product that is named twice
//       concern it as a whole. Nothing of a piece is kept but counts, the largest changes and the ids of its records; and
//       the results of the page that is asked for.
//   F2. Each piece is compared with the catalogue as it is then, and with what pending pushes will make of it. If pushes
//       are admitted or finished meanwhile, the comparison goes on with those that are pending then.

import type { PreviewReply } from "../actors/messages/admission.ts";
import type { PlannedListings } from "../actors/messages/business.ts";
import type { ListingsReply } from "../actors/messages/listings.ts";
import type { PushFacts } from "../actors/messages/push.ts";
import { businessRef } from "../actors/messages/refs.ts";
import { validatedPageMax } from "../protocol/limits.ts";
import type { Listings } from "../protocol/listings.ts";
import { PriceShock } from "../protocol/price-shock.ts";
import type { HeldReason, PublishOutcome, PushCounts } from "../protocol/wire/push.ts";
import { FileNotHere } from "../storage/staging-area.ts";
import type { Refused } from "./answer.ts";
import {
  asHeld,
  faultLimit,
  type LeafJudgeDeps,
  leafJudge,
  plannedOf,
  unheldResults,
} from "./judge-leaves.ts";
import {
  type AdmitDeps,
  admissionRefused,
  attemptsMax,
  earlierPlans,
  plannedLeavesMax,
} from "./publish-admit.ts";
import type { Gate } from "./publish-gate.ts";
import type { PushLeaves } from "./push-leaves.ts";
import type { ResultsPage } from "./push-status.ts";

export interface JudgeFileDeps extends LeafJudgeDeps, Pick<AdmitDeps, "actors" | "records"> {
  readonly leaves: Pick<PushLeaves, "load">;
}

/** The push that would publish the file. */
export type JudgedFile = Pick<PushFacts, "business_uuid" | "push_id" | "records"> & {
  readonly file: NonNullable<PushFacts["file"]>;
};

export interface FileForecast {
  readonly held: boolean;
  readonly held_reasons: readonly HeldReason[];
  readonly counts: PushCounts;
  readonly results: readonly PublishOutcome[];
  /** The first leaf of the next page; null behind the last. */
  readonly next_leaf: number | null;
}

/** Leaves read, judged and compared at a time. */
const pieceLeaves = 200;

export async function judgeFile(
  deps: JudgeFileDeps,
  asked: {
    readonly gate: Gate;
    readonly seal: { readonly sealed_at: string };
    readonly push: JudgedFile;
    readonly page: ResultsPage;
  },
): Promise<FileForecast | Refused> {
  const { gate, seal, push, page } = asked;
  const judge = leafJudge(deps, gate, seal);
  const catalogue = new Catalogue(deps, push, gate.facts.pending);
  const results = new PageOfResults(page);
  for (let first = 0; first < push.records; first += pieceLeaves) {
    const count = Math.min(pieceLeaves, push.records - first);
    const leaves = await deps.leaves.load(push, first, count);
    if (leaves.length < count) throw new FileNotHere(push.file.name);
    const judged = await judge(leaves);
    const preview = await catalogue.compare(plannedOf(judged));
    if (preview.status !== "admitted") return admissionRefused(preview);
    for (const result of unheldResults(judged, preview.versions, first)) results.add(result);
  }
  const held_reasons = await catalogue.heldReasons();
  return { held_reasons, ...results.whole(held_reasons.length > 0) };
}

type Preview = Exclude<PreviewReply, { status: "plan_stale" }>;
type Planned = ReturnType<typeof plannedOf>;

/** The catalogue, as it will be when every pending push is applied; and what the file would change of it. */
class Catalogue {
  readonly #deps: JudgeFileDeps;
  readonly #push: JudgedFile;
  readonly #shock = new PriceShock();
  #pending: readonly string[];
  /** By pending push; null until they are read. */
  #earlier: readonly PlannedListings[] | null = null;

  constructor(deps: JudgeFileDeps, push: JudgedFile, pending: readonly string[]) {
    this.#deps = deps;
    this.#push = push;
    this.#pending = pending;
  }

  /** Takes note of what the records would change, and answers with the version of each. */
  async compare(planned: Planned): Promise<Preview> {
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const earlier = await this.#plans();
      if (earlier.reduce((sum, each) => sum + each.length, 0) > plannedLeavesMax) break;
      const preview = await this.#preview(planned, earlier);
      if (preview.status === "admitted") await this.#note(planned, earlier);
      if (preview.status !== "plan_stale") return preview;
      this.#pending = preview.pending;
      this.#earlier = null;
    }
    return { status: "busy", retry_after_seconds: 1 };
  }

  /** The reasons for which the file would be held. */
  async heldReasons(): Promise<readonly HeldReason[]> {
    const pending = new Map(this.#earlier?.flat());
    const ids = [...pending.keys()];
    let change = 0;
    for (let from = 0; from < ids.length; from += pieceLeaves) {
      const piece = ids.slice(from, from + pieceLeaves);
      const { records } = await this.#read(piece);
      for (const id of piece) change += countOf(pending.get(id));
      for (const { listings } of records) change -= countOf(listings);
    }
    return this.#shock.reasons((await this.#read([])).listings + change);
  }

  async #plans(): Promise<readonly PlannedListings[]> {
    const { business_uuid: businessUuid, push_id: pushId } = this.#push;
    this.#earlier ??= await earlierPlans(this.#deps, { businessUuid, pushId }, this.#pending);
    return this.#earlier;
  }

  #preview(planned: Planned, earlier: readonly PlannedListings[]): Promise<PreviewReply> {
    const ids = new Set(planned.map(([recordId]) => recordId));
    const ofThese = earlier.map((plan) => plan.filter(([recordId]) => ids.has(recordId)));
    return this.#deps.actors.ask(businessRef(this.#push.business_uuid), {
      type: "push.preview",
      push_id: this.#push.push_id,
      may_hold: true,
      plan: { pending: this.#pending, earlier: ofThese, listings: planned },
    });
  }

  async #note(planned: Planned, earlier: readonly PlannedListings[]): Promise<void> {
    const pending = new Map(earlier.flat());
    const { records } = await this.#read(planned.map(([recordId]) => recordId));
    const applied = new Map(records.map((each) => [each.record_id, each]));
    for (const [recordId, after] of planned) {
      const head = applied.get(recordId);
      const before = pending.get(recordId) ?? head?.listings ?? {};
      this.#shock.add({ recordId, before, former: head?.former ?? {}, after, ownId: head?.bpid ?? null });
    }
  }

  #read(record_ids: readonly string[]): Promise<ListingsReply> {
    const { business_uuid, push_id } = this.#push;
    const question = { type: "listings.read", push_id, record_ids } as const;
    return this.#deps.actors.ask(businessRef(business_uuid), question);
  }
}

function countOf(listings: Listings = {}): number {
  return Object.keys(listings).length;
}

/** The results of one page, and the counts of all. Whether the file would be held is known only behind the last of them. */
class PageOfResults {
  readonly #page: ResultsPage;
  readonly #limit = faultLimit();
  readonly #kept: PublishOutcome[] = [];
  readonly #counts = { accepted: 0, updated: 0, rejected: 0, held: 0, pending: 0 };
  #next: number | null = null;

  constructor(page: ResultsPage) {
    this.#page = page;
  }

  add(result: PublishOutcome): void {
    this.#counts[result.outcome] += 1;
    const { outcome, from_leaf } = this.#page;
    const isHeld = outcome === "held" && result.outcome !== "rejected";
    const isAsked = outcome === null || outcome === result.outcome || isHeld;
    if (!isAsked || result.leaf_index < from_leaf || this.#next !== null) return;
    if (this.#kept.length === validatedPageMax) this.#next = result.leaf_index;
    else this.#kept.push(this.#limit(result));
  }

  whole(held: boolean): Omit<FileForecast, "held_reasons"> {
    const { outcome } = this.#page;
    const { accepted, updated } = this.#counts;
    const ifHeld = { ...this.#counts, accepted: 0, updated: 0, held: accepted + updated };
    const counts = held ? ifHeld : this.#counts;
    if (outcome !== null && counts[outcome] === 0) return { held, counts, results: [], next_leaf: null };
    const results = held ? this.#kept.map(asHeld) : this.#kept;
    return { held, counts, results, next_leaf: this.#next };
  }
}
