// The answer to a sealed batch: its outcomes if it is small enough to be processed within the request, otherwise its
// status.

import type { PushReport } from "../actors/messages/push.ts";
import type { ActorRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { inlineRecordsMax } from "../protocol/limits.ts";
import type { InlineOutcome } from "../protocol/wire/push.ts";
import { awaitSettled, reportOf } from "./accept-push.ts";
import { type Answer, answerJson, type Outcome } from "./answer.ts";
import { type Background, backgroundUnavailable } from "./background.ts";
import { pushStatus, wholeStatus } from "./push-status.ts";

export interface AnswerDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  /** Absent where it is always available. */
  readonly background?: Background;
}

/** `report` is what is already known about the push, if anything. */
export async function answerBatch(
  { actors, background }: AnswerDeps,
  push: ActorRef<"push">,
  { records, report }: { readonly records: number; readonly report: PushReport | null },
): Promise<Outcome> {
  if (records <= inlineRecordsMax) return answerSettled(actors, push);
  // Another request may have had it accepted in the meantime.
  const now = report ?? (await untilHeld(actors, push, reportOf(await actors.ask(push, wholeStatus))));
  if (now.facts.mode === "inline") return answerSettled(actors, push);
  const isWaiting = now.state === "queued" || now.state === "processing";
  if (isWaiting && background?.isAvailable() === false) return backgroundUnavailable;
  return answerJson(202, pushStatus(now), { location: `/v1/pushes/${now.facts.push_id}` });
}

/** A push that is to be held is answered as held, with what was rejected of it: that takes no longer than judging its records. */
async function untilHeld(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
  now: PushReport,
): Promise<PushReport> {
  const { state, held_reasons, hold_decision: decision } = now;
  if (state !== "queued" || held_reasons.length === 0 || decision !== null) return now;
  await awaitSettled(actors, push);
  return reportOf(await actors.ask(push, wholeStatus));
}

async function answerSettled(actors: Pick<ActorSystem, "ask">, push: ActorRef<"push">): Promise<Answer> {
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
