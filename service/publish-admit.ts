// Admission of a push by its business: the number, and the hold decided over the whole batch plus what is accepted but
// not yet applied. The home actor decides; this module gathers what it needs for that.

import type { AdmitReply } from "../actors/messages/admission.ts";
import type { BusinessCommand, BusinessProtocol } from "../actors/messages/business.ts";
import type { CommandOf } from "../actors/messages/protocol.ts";
import { businessRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { holdThreshold } from "../protocol/listings.ts";
import { type Refused, refusedAs } from "./answer.ts";
import { attemptsMax, CatalogueComparison, comparisonOf } from "./catalogue-comparison.ts";
import type { ParsedLeaves } from "./parsed-leaves.ts";
import { type PlanDeps, type Planned, type PlanRequest, planOf, storePlan } from "./push-plan.ts";
import { rateLimited } from "./rate-limited.ts";
import type { StagedBatch } from "./staged-batch.ts";

export interface AdmitDeps extends PlanDeps {
  readonly actors: ActorSystem;
  /** Where the parsed leaves of an admitted push are left for its chunks. */
  readonly parsed: Pick<ParsedLeaves, "put">;
}

export interface AdmitRequest extends PlanRequest {
  readonly pushId: string;
  readonly keyId: string;
  /** Number of records, if they are not given because nothing is planned with them. */
  readonly count?: number;
  /** The root over the records; absent for a record that a person sealed alone. */
  readonly root?: string;
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
    if (isPlanned) planned ??= await planOf(deps, request);
    const compared = planned && (await compare(deps, request, planned, pending));
    if (compared === "too_many") break;
    const command: BusinessCommand = {
      type: "push.admit",
      push_id: request.pushId,
      key_id: request.keyId,
      records: request.count ?? request.records.length,
      may_hold: request.mayHold,
      plan: null,
      ...compared,
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

/** What the business decides by; for a large plan, the reasons to hold it, which are found in pieces (PL1 in push-plan.ts). */
async function compare(
  deps: AdmitDeps,
  { businessUuid, pushId }: AdmitRequest,
  { listings }: Planned,
  pending: readonly string[],
): Promise<Pick<CommandOf<BusinessProtocol, "push.admit">, "plan" | "held_reasons"> | "too_many"> {
  await storePlan(deps, pushRef(businessUuid, pushId).id, listings);
  const plans = await comparisonOf(deps, { businessUuid, pushId }, { listings, pending });
  if (plans === "too_many") return plans;
  if (!(plans instanceof CatalogueComparison)) return { plan: { ...plans, listings } };
  await plans.note(listings);
  const held_reasons = await plans.heldReasons();
  return { plan: { pending, earlier: [], listings: [] }, held_reasons };
}
