// The answer to a sealed batch: its outcomes if it is small enough to be processed within the request, otherwise its
// status.

import type { PushReport } from "../actors/messages/push.ts";
import type { ActorRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { inlineRecordsMax } from "../protocol/limits.ts";
import type { InlineOutcome } from "../protocol/wire/push.ts";
import { awaitSettled, reportOf } from "./accept-push.ts";
import { type Answer, answerJson } from "./answer.ts";
import { pushStatus, wholeStatus } from "./push-status.ts";

/** `report` is what is already known about the push, if anything. */
export async function answerBatch(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
  { records, report }: { readonly records: number; readonly report: PushReport | null },
): Promise<Answer> {
  if (records <= inlineRecordsMax) {
    const { facts, state, held_reasons, results } = await awaitSettled(actors, push);
    const body: InlineOutcome = {
      batch_id: facts.push_id,
      seq: facts.seq,
      held: state === "held",
      ...(held_reasons.length > 0 ? { held_reasons } : {}),
      results,
    };
    return answerJson(200, body);
  }
  // Another request may have had it accepted in the meantime.
  const queued = report ?? reportOf(await actors.ask(push, wholeStatus));
  return answerJson(202, pushStatus(queued), { location: `/v1/pushes/${queued.facts.push_id}` });
}
