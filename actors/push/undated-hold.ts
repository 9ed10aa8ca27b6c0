// The end of a hold that has none: builds that knew no such end held pushes without a timer, and what restores an actor arms none.
//   UH1. It is noticed when somebody looks at the push, and gets an end then: the 30 days from its acceptance that every hold has,
//        and a week at least, so that the people who decide have time.

import { holdEnds, holdEndTimers, type PushEvent } from "../../machines/push.ts";
import type { PushView } from "./report.ts";

const weekMs = 7 * 86_400_000;

export function dateHold(view: PushView): readonly PushEvent[] {
  const { snapshot, nowMs } = view;
  if (!snapshot.matches("held") || holdEndTimers.some((id) => view.hasTimer(id))) return [];
  const { updatedAtMs: acceptedAtMs } = snapshot.context;
  const { holdEndsAtMs: promisedMs = 0 } = { ...holdEnds(acceptedAtMs), ...snapshot.context };
  return [{ type: "hold.dated", at_ms: nowMs, ends_at_ms: Math.max(promisedMs, nowMs + weekMs) }];
}
