// What would become of a batch that is only to be validated: the answer of its admission, and the versions of its records.
//   V1. It is decided by the functions that decide an admission and an assignment, over the state at that moment, and changes
//       nothing.
//   V2. Pushes that are accepted and not applied yet count as if they were applied: this batch would be numbered after them.

import { noteWork } from "../../std/work.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { PlannedVersion, PreviewReply } from "../messages/admission.ts";
import type { BusinessCommand, PushPlan } from "../messages/business.ts";
import { judgeAdmission } from "./admit.ts";
import { judgeFairUse, selectFairUse } from "./fair-use.ts";
import { admissions, heads } from "./rows.ts";
import { lastGeneration } from "./terms.ts";
import type { BusinessView } from "./view.ts";

type PreviewCommand = Extract<BusinessCommand, { type: "push.preview" }>;

export function plannedRecords(plan: PushPlan): readonly string[] {
  const planned = [plan.listings, ...plan.earlier].flat();
  noteWork("value", planned.length);
  return [...new Set(planned.map(([recordId]) => recordId))];
}

export function selectForPreview({ push_id, plan, root }: PreviewCommand): readonly RowSelection[] {
  return [
    admissions.select([push_id, ...plan.pending]),
    heads.select(plannedRecords(plan)),
    selectFairUse({ root }),
  ];
}

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
