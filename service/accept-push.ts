// The last steps of an accepted push, for batches and for records sealed alone: acceptance, and the wait for its outcomes.
//   A1. What was staged long ago may have been dropped as abandoned meanwhile, so a push is accepted within a time of the
//       instant just before it was staged. The push's own actor judges that, when it decides: a request may stand still
//       anywhere on its way there, with its whole process, for as long as it likes.

import type { PushCommand, PushReport } from "../actors/messages/push.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { type ActorRef, StoreError } from "../storage/actor-store.ts";

/** An hour: far more than a request takes, and far less than a push has to be old to be dropped. */
const acceptWithinMsDefault = 3_600_000;

type Accept = Extract<PushCommand, { type: "push.accept" }>;

export interface Staged {
  /** Read before anything was staged. */
  readonly stagingAtMs: number;
  readonly acceptWithinMs?: number | undefined;
}

/** The report of a queued push, where its actor gives one with its acceptance. Throws {@link StoreError} `not_applied` when it is too late (A1): whoever sends the push again stages it anew. */
export async function acceptPush(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
  accept: Pick<Accept, "facts" | "held_reasons"> & Staged,
): Promise<PushReport | null> {
  const { facts, held_reasons, stagingAtMs, acceptWithinMs = acceptWithinMsDefault } = accept;
  const accept_by_ms = stagingAtMs + acceptWithinMs;
  const command: Accept = { type: "push.accept", facts, held_reasons, accept_by_ms };
  const reply = await actors.ask(push, command);
  if (reply.status === "late")
    throw new StoreError("not_applied", "the push was staged too long ago and must be sent again");
  return reply.report ?? null;
}

/** Half of what balancers and callers commonly give a request. */
const settledWithinMs = 30_000;

/**
 * The push once its records are settled, or held. Throws what passes when that takes too long: the push goes on, and
 * sending it again waits for it again.
 */
export async function awaitSettled(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
): Promise<PushReport> {
  return reportOf(await actors.ask(push, { type: "push.await" }, { timeoutMs: settledWithinMs }));
}

/** What a push that was accepted says of itself. That it knows nothing of it would be our own bug. */
export function reportOf(report: PushReport | null): PushReport {
  if (report === null) throw new Error("A push that was accepted does not know of it.");
  return report;
}
