// Admission of a push: its number, and whether it is held.

import type { BusinessContext, BusinessEvent } from "../../machines/business.ts";
import { holdThreshold, PriceShock } from "../../protocol/price-shock.ts";
import { noteWork } from "../../std/work.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { AdmitReply, PlannedVersion, PreviewReply } from "../messages/admission.ts";
import type {
  BusinessCommand,
  HeldReason,
  Listings,
  PlannedListings,
  PushPlan,
} from "../messages/business.ts";
import type { ActorView, Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { listedRows } from "./attempts.ts";
import { heldRows } from "./record-texts.ts";
import {
  admissions,
  type BusinessView,
  countListings,
  heads,
  heldMax,
  lastGeneration,
  lastNumber,
  lastPrices,
  pendingMax,
} from "./rows.ts";

/** Gives the push its number, once (N1), unless a rule of {@link judgeAdmission} or fair use refuses it. */
export function admitPush(
  command: Extract<BusinessCommand, { type: "push.admit" }>,
  view: BusinessView,
): Decision<AdmitReply, BusinessEvent> {
  const { push_id } = command;
  const reply = judgeAdmission(command, view);
  if (reply.status !== "admitted" || admissions.read(view, push_id)) return { reply };
  const fair = judgeFairUse(command, view);
  if ("busy" in fair) return { reply: fair.busy };
  const { number, held, held_reasons } = reply;
  const { records, received_at_ms: at_ms } = command;
  const more = [...heldRows(push_id, held_reasons), ...fair.puts];
  const events: readonly BusinessEvent[] = [{ type: "push.admitted", push_id, number, held }];
  if (at_ms === undefined)
    return { reply, events, puts: [admissions.write(push_id, { number, held_reasons }), ...more] };
  return {
    reply: { ...reply, received_at_ms: at_ms },
    events,
    puts: [
      admissions.write(push_id, { number, held_reasons, received_at_ms: at_ms }),
      ...listedRows({ at_ms, id: push_id }, { number, records }, view),
      ...more,
    ],
  };
}

type AdmissionQuestion = Pick<
  Extract<BusinessCommand, { type: "push.admit" }>,
  "push_id" | "may_hold" | "plan" | "held_reasons"
>;

/** The answer to an admission as of now; it changes nothing. */
function judgeAdmission(question: AdmissionQuestion, view: BusinessView): AdmitReply {
  const { context } = view.snapshot;
  const { push_id, may_hold, plan } = question;
  const known = admissions.read(view, push_id);
  if (known) {
    const { received_at_ms } = known;
    const again = admitted(known.number, known.held_reasons);
    return received_at_ms === undefined ? again : { ...again, received_at_ms };
  }
  if (!publishes(view)) return notVerified;
  if (context.pending.length + context.held.length >= pendingMax) {
    return { status: "busy", retry_after_seconds: 5 };
  }
  if (may_hold && !isPlanned(plan, context)) return { status: "plan_stale", pending: context.pending };
  const number = lastNumber(view, context.number) + 1;
  const reasons =
    question.held_reasons ?? (may_hold && plan ? decideHold(holdQuestion(plan, context, view)) : []);
  if (reasons.length > 0 && context.held.length >= heldMax) return holdsWaiting;
  return admitted(number, reasons);
}

/** People decide on holds, not machines: an hour is soon enough to ask again. */
const holdsWaiting: AdmitReply = { status: "busy", retry_after_seconds: 3_600, reason: "holds_waiting" };

const notVerified: AdmitReply = {
  status: "refused",
  code: "business_not_verified",
  detail: "Only a business with an active certificate may publish.",
};

/** AI companies have certificates in force as well, but publish nothing. */
export function publishes({ snapshot }: BusinessView): boolean {
  return snapshot.matches({ standing: "active" }) && snapshot.context.party?.kind === "business";
}

type AdmittedReply = Extract<AdmitReply, { readonly status: "admitted" }>;

function admitted(number: number, reasons: readonly HeldReason[]): AdmittedReply {
  return { status: "admitted", number, held: reasons.length > 0, held_reasons: reasons };
}

/**
 * Whether the plan matches the current state of the business; no plan is needed while there is nothing that a push could
 * shock.
 */
function isPlanned(plan: PushPlan | null, context: BusinessContext): boolean {
  return plan === null
    ? context.listings < holdThreshold && context.pending.length === 0
    : sameSet(plan.pending, context.pending);
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}

/** The listings as they will be before this push: the applied ones, overlaid by the pending pushes, oldest first. */
function holdQuestion(plan: PushPlan, context: BusinessContext, view: BusinessView) {
  const planned = plan.earlier.flat();
  noteWork("value", planned.length);
  const overlay = new Map<string, Listings>(planned);
  const applied = (recordId: string): Listings => {
    const head = heads.read(view, recordId);
    return head?.live ? head.listings : {};
  };
  let catalogueListings = context.listings;
  for (const [recordId, listings] of overlay) {
    catalogueListings += countListings(listings) - countListings(applied(recordId));
  }
  return {
    catalogueListings,
    before: (recordId: string): Listings => overlay.get(recordId) ?? applied(recordId),
    former: (recordId: string): Listings => lastPrices(heads.read(view, recordId)),
    plan: plan.listings,
    ownIdOf: (recordId: string): string | null => heads.read(view, recordId)?.bpid ?? null,
  };
}

// The price-shock hold (protocol/price-shock.ts): decided once, at acceptance, over the whole batch and everything that is
// accepted but not yet applied.

export interface HoldQuestion {
  /** Number of listings of the whole catalogue before this push, including pending pushes. */
  readonly catalogueListings: number;
  /** The listings of a record before this push, including pending pushes; empty for a new record. */
  readonly before: (recordId: string) => Listings;
  /** The last prices of a record's listings, those that are gone among them. */
  readonly former?: (recordId: string) => Listings;
  readonly plan: PlannedListings;
  /** The business's own id of a record; null if it is not known yet. */
  readonly ownIdOf?: (recordId: string) => string | null;
}

/** The reasons to hold the push; if there are none, it is published. */
export function decideHold(question: HoldQuestion): readonly HeldReason[] {
  const { catalogueListings, before, former = () => ({}), plan, ownIdOf = () => null } = question;
  const shock = new PriceShock();
  for (const [recordId, after] of plan)
    shock.add({
      recordId,
      after,
      before: before(recordId),
      former: former(recordId),
      ownId: ownIdOf(recordId),
    });
  return shock.reasons(catalogueListings);
}

// Fair use of publishing by one business, over all its keys (values in docs/choices.md). It is judged when a push is admitted,
// after everything else, and only pushes that are admitted count:
//   U1. At most `pushesPerMinute` pushes in a minute of the clock.
//   U2. The same records in the same order, as new batches: at most `repeatsPerDay` times in a UTC day. Sending an accepted
//       batch again is no new batch and never counts.
// What is counted is two rows, of which one expires after a minute and the other, one for each set of records, after a day.

export const pushesPerMinute = 6_000;
export const repeatsPerDay = 48;

interface Counted {
  /** The number of the minute or day since 1970. */
  readonly window: number;
  readonly pushes: number;
}

const counts = defineJsonTable<Counted>("fair use", 70);
const minuteMs = 60_000;
const dayMs = 86_400_000;
const paceKey = "pace";

interface Offered {
  /** The root over the records; absent for a record that was sealed alone. */
  readonly root?: string | undefined;
}

/** The counts of fair use: of all pushes, and of those with this root. */
export function selectFairUse({ root }: Offered): RowSelection {
  return counts.select(root === undefined ? [paceKey] : [paceKey, root]);
}

interface Limit {
  readonly key: string;
  readonly windowMs: number;
  readonly max: number;
  readonly reason: "push_rate" | "records_unchanged";
}

/** The refusal of one push more than fair use allows; otherwise what is to be stored with its admission. */
function judgeFairUse(
  { root }: Offered,
  view: ActorView,
):
  | { readonly busy: Extract<AdmitReply, { readonly status: "busy" }> }
  | { readonly puts: readonly PartitionRow[] } {
  const limits: readonly Limit[] = [
    { key: paceKey, windowMs: minuteMs, max: pushesPerMinute, reason: "push_rate" },
    ...(root === undefined
      ? []
      : [{ key: root, windowMs: dayMs, max: repeatsPerDay, reason: "records_unchanged" } as const]),
  ];
  const puts: PartitionRow[] = [];
  for (const { key, windowMs, max, reason } of limits) {
    const window = Math.floor(view.nowMs / windowMs);
    const known = counts.read(view, key);
    const pushes = known?.window === window ? known.pushes : 0;
    const endsMs = (window + 1) * windowMs;
    if (pushes >= max) {
      const retry_after_seconds = Math.max(1, Math.ceil((endsMs - view.nowMs) / 1_000));
      return { busy: { status: "busy", retry_after_seconds, reason } };
    }
    puts.push(counts.write(key, { window, pushes: pushes + 1 }, { expiresAtMs: endsMs }));
  }
  return { puts };
}

// What would become of a batch that is only to be validated: the answer of its admission, and the versions of its records.
//   V1. It is decided by the functions that decide an admission and an assignment, over the state at that moment, and changes
//       nothing.
//   V2. Pushes that are accepted and not applied yet count as if they were applied: this batch would be numbered after them.

type PreviewCommand = Extract<BusinessCommand, { type: "push.preview" }>;

/** The ids of the records in a plan and in those before it, each once. */
export function plannedRecords(plan: PushPlan): readonly string[] {
  const planned = [plan.listings, ...plan.earlier].flat();
  noteWork("value", planned.length);
  return [...new Set(planned.map(([recordId]) => recordId))];
}

/** The rows that a preview of an admission reads. */
export function selectForPreview({ push_id, plan, root }: PreviewCommand): readonly RowSelection[] {
  return [
    admissions.select([push_id, ...plan.pending]),
    heads.select(plannedRecords(plan)),
    selectFairUse({ root }),
  ];
}

/** What an admission would answer, with the version that each record would get. Changes nothing. */
export function previewPush(command: PreviewCommand, view: BusinessView): PreviewReply {
  const reply = judgeAdmission(command, view);
  if (reply.status !== "admitted") return reply;
  // A push that was admitted before has been counted.
  const fair = admissions.read(view, command.push_id) ? null : judgeFairUse(command, view);
  if (fair !== null && "busy" in fair) return fair.busy;
  const waiting = waitingNumbers(command, view);
  const versions = command.plan.listings.map(([recordId]) =>
    plannedVersion(recordId, waiting.get(recordId) ?? [], view),
  );
  return { status: "admitted", held_reasons: reply.held_reasons, versions };
}

/** The numbers of the pending pushes that plan each record. */
function waitingNumbers({ push_id, plan }: PreviewCommand, view: BusinessView): Map<string, number[]> {
  const numbers = new Map<string, number[]>();
  const others = plan.pending.filter((id) => id !== push_id);
  for (const [index, listings] of plan.earlier.entries()) {
    const number = admissions.read(view, others[index] ?? "")?.number ?? Number.POSITIVE_INFINITY;
    noteWork("value", listings.length);
    for (const [recordId] of listings) {
      const known = numbers.get(recordId);
      if (known === undefined) numbers.set(recordId, [number]);
      else known.push(number);
    }
  }
  return numbers;
}

function plannedVersion(recordId: string, numbers: readonly number[], view: BusinessView): PlannedVersion {
  const head = heads.read(view, recordId);
  // A pending push may have published some of its records already, and a later act may have superseded it (N3).
  const ahead = numbers.filter((number) => number > (head?.number ?? 0)).length;
  let generation = head?.generation ?? 0;
  for (let version = 0; version <= ahead; version += 1) generation = lastGeneration(view, generation) + 1;
  return [generation, ahead > 0 || (head?.live ?? false)];
}
