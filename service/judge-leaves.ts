// How the records of a push would end if it were published now, for validations: record by record, as its chunks would
// judge them.
//   J1. All faults of every record are told while they are at most {@link faultsInAnswerMax} in one answer, then the first
//       fault of each further one.

import type { PlannedVersion } from "../actors/messages/admission.ts";
import type { CollectionName } from "../protocol/identifiers.ts";
import { listingsOf } from "../protocol/listings.ts";
import type { ContentLists } from "../protocol/records/content-lists.ts";
import { judgeRecord, type RecordRules } from "../protocol/records/judge-record.ts";
import { duplicateInBatch, type PublishOutcome } from "../protocol/wire/push.ts";
import type { Pace } from "../std/pace.ts";
import { keptOf, sealedUnder } from "./mandate-scope.ts";
import { decideOwnNames } from "./own-names.ts";
import { publishedType } from "./publish-batch.ts";
import type { Gate } from "./publish-gate.ts";

export interface LeafJudgeDeps {
  readonly lists: ContentLists;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  readonly pace: Pace;
}

/** A leaf as the push would judge it: its record, unless it will be rejected. */
export type JudgedLeaf = Pick<PublishOutcome, "record_id" | "errors"> & {
  /** Null for a leaf that will be rejected. */
  readonly listings: ReturnType<typeof listingsOf> | null;
};

/** Maximum number of faults in one answer (J1). */
const faultsInAnswerMax = 10_000;

/** Judges the leaves of one push, in their order: of two records of one product the first counts. */
export function leafJudge(
  deps: LeafJudgeDeps,
  { facts, mandates }: Pick<Gate, "facts" | "mandates">,
  seal: { readonly sealed_at: string },
): (records: readonly Uint8Array[]) => Promise<readonly JudgedLeaf[]> {
  const [{ sealed }] = mandates;
  const uuid = sealed.business_uuid;
  const rules: RecordRules = {
    collection: publishedType,
    countries: keptOf(sealedUnder(mandates, seal)).map(({ countries }) => countries),
    lists: deps.lists,
    ownNames: decideOwnNames(deps.lists, uuid, facts),
    brands: deps.lists.certified.brandsOf(uuid),
  };
  const seen = new Set<string>();
  const judge = (bytes: Uint8Array): JudgedLeaf => {
    const judged = judgeRecord(bytes, rules);
    if (!judged.ok) return { record_id: null, errors: judged.faults, listings: null };
    const { record } = judged;
    const record_id = deps.recordIdOf(uuid, publishedType, String(record["business_product_id"]));
    if (seen.has(record_id)) return { record_id, errors: [duplicateInBatch], listings: null };
    seen.add(record_id);
    return { record_id, errors: [], listings: listingsOf(record) };
  };
  return async (records) => {
    const leaves: JudgedLeaf[] = [];
    for (const bytes of records) {
      const due = deps.pace();
      if (due !== null) await due;
      leaves.push(judge(bytes));
    }
    return leaves;
  };
}

/** The records that would be published, with their listings. */
export function plannedOf(
  leaves: readonly JudgedLeaf[],
): readonly (readonly [recordId: string, listings: NonNullable<JudgedLeaf["listings"]>])[] {
  return leaves.flatMap(({ record_id, listings }) =>
    record_id !== null && listings !== null ? [[record_id, listings] as const] : [],
  );
}

/** The results of the leaves, if nothing is held; `versions` are those of {@link plannedOf}, in the same order. */
export function unheldResults(
  leaves: readonly JudgedLeaf[],
  versions: readonly PlannedVersion[],
  firstLeaf = 0,
): readonly PublishOutcome[] {
  let planned = 0;
  return leaves.map(({ record_id, errors, listings }, offset): PublishOutcome => {
    const leaf_index = firstLeaf + offset;
    if (listings === null) return { leaf_index, outcome: "rejected", record_id, version: null, errors };
    const [version, isLive] = versions[planned] as PlannedVersion;
    planned += 1;
    return { leaf_index, outcome: isLive ? "updated" : "accepted", record_id, version, errors: [] };
  });
}

/** What a held push says of a record that it would publish: no version of it is published. */
export function asHeld(result: PublishOutcome): PublishOutcome {
  return result.outcome === "rejected" ? result : { ...result, outcome: "held", version: null };
}

/** Shortens the faults of results that go into one answer (J1). */
export function faultLimit(): (result: PublishOutcome) => PublishOutcome {
  let faults = 0;
  return (result) => {
    const { errors } = result;
    const told = faults + errors.length > faultsInAnswerMax ? errors.slice(0, 1) : errors;
    faults += told.length;
    return told.length === errors.length ? result : { ...result, errors: told };
  };
}
