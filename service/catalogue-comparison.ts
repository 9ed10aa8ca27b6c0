// What records would change of a business's catalogue, compared piece by piece: of files, and of batches with many listings.
//   F2. Each piece is compared with the catalogue as it is then, and with what pending pushes will make of it. If pushes
//       are admitted or finished meanwhile, the comparison goes on with those that are pending then.
//   F3. Nothing of a piece is kept but counts and the largest changes, and a piece is so small that comparing it is a short step.

import type { PreviewReply } from "../actors/messages/admission.ts";
import type { PlannedListings } from "../actors/messages/business.ts";
import type { ListingsReply } from "../actors/messages/listings.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Listings } from "../protocol/listings.ts";
import { PriceShock } from "../protocol/price-shock.ts";
import type { HeldReason } from "../protocol/wire/push.ts";
import { noteWork } from "../std/work.ts";
import {
  earlierPlans,
  isLarge,
  type PlanDeps,
  pieceRecords,
  piecesOf,
  plannedLeavesMax,
  wholeListingsMax,
} from "./push-plan.ts";

/** If other pushes of the business are admitted in the meantime, what is planned is gathered again. */
export const attemptsMax = 8;

export interface ComparisonDeps extends PlanDeps {
  readonly actors: ActorSystem;
}

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
  readonly #deps: ComparisonDeps;
  readonly #push: ComparedPush;
  readonly #shock = new PriceShock();
  #pending: readonly string[];
  /** The plans of the pending pushes; null where they are to be read. */
  #plans: readonly PlannedListings[] | null;
  /** The same by record; null until they are needed. */
  #earlier: readonly ReadonlyMap<string, Listings>[] | null = null;
  #overlay: ReadonlyMap<string, Listings> = new Map();

  constructor(deps: ComparisonDeps, push: ComparedPush, { pending, earlier }: PendingPushes) {
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
      ...{ type: "push.preview", push_id, may_hold: true },
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
  deps: ComparisonDeps,
  push: ComparedPush,
  { listings, pending }: { readonly listings: PlannedListings; readonly pending: readonly string[] },
): Promise<"too_many" | Required<PendingPushes> | CatalogueComparison> {
  const earlier = await earlierPlans(deps, push, pending);
  if (earlier.reduce((sum, each) => sum + each.length, 0) > plannedLeavesMax) return "too_many";
  const isInPieces = isLarge([listings, ...earlier]) || (await hasMuchPublished(deps, push, listings));
  return isInPieces ? new CatalogueComparison(deps, push, { pending, earlier }) : { pending, earlier };
}

async function hasMuchPublished(
  { actors }: ComparisonDeps,
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
