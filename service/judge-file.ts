// How the records of an uploaded file would end if it were imported now, for validations.
//   F1. The file is read and judged in pieces, from its first line to its last, since a hold and a product that is named twice
//       concern it as a whole. Nothing of a piece is kept but counts, the largest changes and the ids of its records; and
//       the results of the page that is asked for.
//       catalogue-comparison.ts says how it is compared.

import type { PushFacts } from "../actors/messages/push.ts";
import { validatedPageMax } from "../protocol/limits.ts";
import type { HeldReason, PublishOutcome, PushCounts } from "../protocol/wire/push.ts";
import { FileNotHere } from "../storage/staging-area.ts";
import type { Refused } from "./answer.ts";
import { CatalogueComparison, type ComparisonDeps } from "./catalogue-comparison.ts";
import {
  asHeld,
  faultLimit,
  type LeafJudgeDeps,
  leafJudge,
  plannedOf,
  unheldResults,
} from "./judge-leaves.ts";
import { admissionRefused } from "./publish-admit.ts";
import type { Gate } from "./publish-gate.ts";
import type { PushLeaves } from "./push-leaves.ts";
import type { ResultsPage } from "./push-status.ts";

export interface JudgeFileDeps extends LeafJudgeDeps, ComparisonDeps {
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
  const { business_uuid: businessUuid, push_id: pushId } = push;
  const catalogue = new CatalogueComparison(deps, { businessUuid, pushId }, gate.facts);
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
