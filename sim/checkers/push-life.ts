// What must hold at rest of pushes that were cancelled, validated, given up, or of which notice was given.

import type { PushReport } from "../../actors/messages/push.ts";
import type { Journal } from "../workload/journal.ts";
import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";

export function checkPushLife(world: World, journal: Journal, truth: Truth): void {
  checkCancelled(world, journal, truth);
  checkValidated(world, journal, truth);
  checkNotices(world, journal, truth);
}

/** A cancelled push is failed as cancelled, and nothing that it seals was ever published. */
function checkCancelled({ observed }: World, journal: Journal, truth: Truth): void {
  const published = new Set([...observed.versions.values()].map(({ seal_id }) => seal_id));
  for (const pushId of journal.cancelled) {
    const report = truth.reports.get(pushId) ?? null;
    if (report?.error?.code !== "cancelled")
      observed.violate("cancelled-is-over", `${pushId} was cancelled and is ${report?.state ?? "gone"}`);
    if (published.has(pushId))
      observed.violate("cancelled-publishes-nothing", `${pushId} was cancelled and has versions`);
  }
}

/** A batch that was only validated is no push, waits nowhere and has nothing staged. */
function checkValidated(world: World, journal: Journal, truth: Truth): void {
  for (const { pushId, business } of journal.validated) {
    if ((truth.reports.get(pushId) ?? null) !== null)
      world.observed.violate("validation-changes-nothing", `${pushId} was only validated and is a push`);
    if (truth.waiting.get(business.uuid)?.includes(pushId))
      world.observed.violate("validation-changes-nothing", `${pushId} was only validated and waits`);
  }
}

/** Each queued push that ended gave notice of that, and no push gave notice of what it never was. */
function checkNotices(world: World, journal: Journal, truth: Truth): void {
  const { observed, parts } = world;
  const given = new Set(parts.notices.map(({ notice_id }) => notice_id));
  for (const { pushId } of journal.batches.values()) {
    const report = truth.reports.get(pushId) ?? null;
    if (report === null) continue;
    if (report.error?.code === "processing_failed") observed.mark("push.given_up");
    const ended = endOf(report);
    if (ended !== null && !given.has(`${pushId}.${ended}`))
      observed.violate("notice-is-given", `${pushId} is ${ended} and gave no notice`);
    for (const other of ["complete", "failed"].filter((state) => state !== report.state)) {
      if (given.has(`${pushId}.${other}`))
        observed.violate("notice-is-true", `${pushId} is ${report.state} and gave notice as ${other}`);
    }
  }
  if (given.size > 0) observed.mark("notice.given");
}

/** The end of a queued push, or that it is held; null for what gives no notice. */
function endOf({ state, facts }: PushReport): string | null {
  if (state === "held") return "held";
  return facts.mode === "queued" && (state === "complete" || state === "failed") ? state : null;
}
