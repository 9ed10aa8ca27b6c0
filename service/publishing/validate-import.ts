// POST /v1/bulk-imports?validate_only=true: what the import of an uploaded file would come to if it were made now.
//   V1. The checks are those of an import, in the same order and with the same refusals. The caps and the seq are judged and not
//       used; nothing is stored, numbered or charged, and the file stays as it is. Only the request's nonce is used.
//   V2. The Idempotency-Key must have its form and is not remembered, as for a batch (validate-batch.ts).
//   V3. The file is judged as a whole for every answer, which contains one page of results.
//   V4. A small request makes much work: a business has one validation of a file at a time on a node, and a node at most
//       {@link validationsMax}. Others wait for a turn, which go round their owners: an owner has one at a time, whatever
//       businesses it has.

import type { PushFacts, PushReport } from "../../actors/messages/push.ts";
import { keyRef, pushRef } from "../../actors/messages/refs.ts";
import { validatedPageMax } from "../../protocol/limits.ts";
import type { FileValidation } from "../../protocol/wire/bulk.ts";
import type { HeldReason, PublishOutcome, PushCounts } from "../../protocol/wire/push.ts";
import { createFairTurns, type FairTurns } from "../../std/fair-queue.ts";
import { FileNotHere, FileUnfit, stagingUnavailable } from "../../storage/staging-area.ts";
import {
  answerJson,
  type Given,
  isRefused,
  type Outcome,
  type Refused,
  rateLimited,
  type SentRequest,
  sealRefused,
} from "../answer.ts";
import { admissionRefused, judgeNewness } from "./accept-batch.ts";
import { findFile, parseImport } from "./bulk-import.ts";
import type { BulkServices } from "./bulk-upload.ts";
import { bulkUnavailable } from "./bulk-upload.ts";
import { claimFor } from "./idempotency.ts";
import { asHeld, faultLimit, leafJudge, plannedOf, unheldResults } from "./publish.ts";
import type { PublishServices } from "./publish-batch.ts";
import { type Gate, judgeBatchSeal, passGate, publishedType, type SealedBatch } from "./publish-batch.ts";
import { CatalogueComparison } from "./push-plan.ts";
import { cursorAt, parsePage, type ResultsPage, readResults } from "./push-status.ts";

export interface ValidateImportDeps extends BulkServices {
  readonly validations: Validations;
}

/** Under way or waiting on this node (V4). */
export interface Validations {
  readonly businesses: Set<string>;
  readonly turns: FairTurns;
}

export interface ValidateImportRequest extends SentRequest, Given<"outcome" | "cursor"> {
  /** Whose turn the validation takes. */
  readonly owner: string;
}

const validationsMax = 4;
const waitingMax = 32;
const retrySeconds = 2;

/** The validations of files that this node has under way. */
export function createValidations(): Validations {
  return { businesses: new Set(), turns: createFairTurns({ placesMax: validationsMax, waitingMax }) };
}

/** One page of what the import would come to; it changes nothing. */
export async function validateImport(
  deps: ValidateImportDeps,
  request: ValidateImportRequest,
): Promise<Outcome> {
  const { party, key } = request.caller;
  if (deps.staging === null) return bulkUnavailable();
  const own = keyRef(party.uuid, key.key_id);
  const claim = claimFor(request, { key: own, route: "bulk-imports", replayed: () => {} });
  if (isRefused(claim)) return claim;
  const page = parsePage(request);
  if (isRefused(page)) return page;
  const { businesses, turns } = deps.validations;
  if (businesses.has(party.uuid)) return tooManyAtOnce;
  businesses.add(party.uuid);
  const endTurn = await turns(request.owner);
  try {
    return endTurn === null ? tooManyAtOnce : await answer(deps, request, page);
  } finally {
    endTurn?.();
    businesses.delete(party.uuid);
  }
}

const tooManyAtOnce = rateLimited(
  "A validation of a file of this business is under way on this node, or too many others wait.",
  { retry_after_seconds: retrySeconds, reason: "validation_in_progress" },
);

async function answer(
  deps: ValidateImportDeps,
  request: ValidateImportRequest,
  page: ResultsPage,
): Promise<Outcome> {
  const { caller } = request;
  const gate = await passGate(deps, { ...request, collection: publishedType });
  if (isRefused(gate)) return gate;
  const asked = parseImport(request.body);
  if (isRefused(asked)) return asked;
  const question = { caller, collection: publishedType, batchSeal: asked.batchSeal };
  const sealed = await judgeBatchSeal(deps, question);
  if (isRefused(sealed)) return sealed;
  const found = await findFile(deps.actors, caller.party.uuid, { ...asked, sealed });
  if (isRefused(found)) return found;
  if ("report" in found) return answerKnown(deps, sealed, { known: found.report, page });
  const newness = await judgeNewness(deps, request, gate, { sealed, bytes: found.file.bytes });
  if (isRefused(newness)) return newness;
  if (newness.known !== null) return answerKnown(deps, sealed, { known: newness.known, page });
  const { name, root } = found.file;
  const file = { upload_id: asked.uploadId, name, root };
  return answerNew(deps, sealed, { gate, file, page });
}

/** What the import would be told if it was requested again now. */
async function answerKnown(
  { actors }: ValidateImportDeps,
  sealed: SealedBatch,
  { known, page }: { readonly known: PushReport; readonly page: ResultsPage },
): Promise<Outcome> {
  const push = pushRef(known.facts.business_uuid, known.facts.push_id);
  const { held_reasons, counts, state, results, next_leaf } =
    (await readResults(actors, push, { ...page, limit: validatedPageMax })) ?? known;
  const told = results.map(faultLimit());
  const found = {
    held: state === "held",
    held_reasons,
    counts,
    results: told,
    next_cursor: cursorAt(next_leaf),
  };
  return answerJson(200, validation(sealed, { known: true, ...found }));
}

async function answerNew(
  deps: ValidateImportDeps,
  sealed: SealedBatch,
  { gate, file, page }: { gate: Gate; file: JudgedFile["file"]; page: ResultsPage },
): Promise<Outcome> {
  const { business_uuid } = gate.mandates[0].sealed;
  const push = { business_uuid, push_id: sealed.pushId, records: sealed.seal.tree_size, file };
  try {
    const forecast = await judgeFile(deps, { gate, seal: sealed.seal, push, page });
    if (isRefused(forecast)) return forecast;
    const { next_leaf, ...found } = forecast;
    const next_cursor = cursorAt(next_leaf);
    return answerJson(200, validation(sealed, { known: false, ...found, next_cursor }));
  } catch (error) {
    if (error instanceof FileNotHere) throw stagingUnavailable(error);
    if (!(error instanceof FileUnfit)) throw error;
    return sealRefused("hash_mismatch", `${error.message} Upload it again, and seal it again.`);
  } finally {
    deps.leaves.drop(pushRef(business_uuid, sealed.pushId).id);
  }
}

function validation(
  { pushId, seal }: SealedBatch,
  found: Pick<FileValidation, "known" | "held" | "held_reasons" | "counts" | "results" | "next_cursor">,
): FileValidation {
  return {
    validate_only: true,
    batch_id: pushId,
    seq: seal.seq,
    mode: "queued",
    records: seal.tree_size,
    ...found,
  };
}

// How the records of an uploaded file would end if it were imported now, for validations.
//   F1. The file is read and judged in pieces, from its first line to its last, since a hold and a product that is named twice
//       concern it as a whole. Nothing of a piece is kept but counts, the largest changes and the ids of its records; and
//       the results of the page that is asked for.
//       push-plan.ts says how it is compared.

/** The push that would publish the file. */
type JudgedFile = Pick<PushFacts, "business_uuid" | "push_id" | "records"> & {
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

async function judgeFile(
  deps: PublishServices,
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
