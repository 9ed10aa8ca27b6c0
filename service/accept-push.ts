// The last steps of an accepted push, for batches and for records sealed alone: acceptance, and waiting for its
// outcomes.
//   A1. What was staged long ago may have been dropped as abandoned in the meantime, so a push must be accepted within a
//       limited time of the instant just before it was staged. The push's own actor checks that when it decides: a
//       request may stall anywhere on its way there, together with its process, for any length of time.

import type { PushCommand, PushReport } from "../actors/messages/push.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { type ActorRef, StoreError } from "../storage/actor-store.ts";

/** An hour: far longer than a request takes, and far shorter than the age at which a push is dropped. */
export const acceptWithinMsDefault = 3_600_000;

type Accept = Extract<PushCommand, { type: "push.accept" }>;

export interface Staged {
  /** Read before anything was staged. */
  readonly stagingAtMs: number;
  readonly acceptWithinMs?: number | undefined;
}

/**
 * The report of a queued push, if its actor returns one on acceptance. Throws {@link StoreError} `not_applied` when it
 * is too late (A1); sending the push again then stages it again.
 */
export async function acceptPush(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
  accept: Pick<Accept, "facts" | "held_reasons"> &
    Staged & {
      readonly sealLeaf: string;
      readonly holdMs?: number | undefined;
      readonly times?: Accept["times"];
    },
): Promise<PushReport | null> {
  const {
    facts,
    held_reasons,
    sealLeaf: seal_leaf,
    stagingAtMs,
    acceptWithinMs = acceptWithinMsDefault,
    holdMs,
    times,
  } = accept;
  const accept_by_ms = stagingAtMs + acceptWithinMs;
  const hold = held_reasons.length === 0 || holdMs === undefined ? {} : { hold_ms: holdMs };
  const more = { seal_leaf, accept_by_ms, ...(times === undefined ? {} : { times }) };
  const command: Accept = { type: "push.accept", facts, held_reasons, ...hold, ...more };
  const reply = await actors.ask(push, command);
  if (reply.status === "late")
    throw new StoreError("not_applied", "the push was staged too long ago and must be sent again");
  return reply.report ?? null;
}

/** Half the request time-out of typical balancers and callers. */
const settledWithinMs = 30_000;

/**
 * The push once its records are settled or held. Throws a transient failure if that takes too long: the push continues,
 * and sending it again waits for it again.
 */
export async function awaitSettled(
  actors: Pick<ActorSystem, "ask">,
  push: ActorRef<"push">,
): Promise<PushReport> {
  return reportOf(await actors.ask(push, { type: "push.await" }, { timeoutMs: settledWithinMs }));
}

/** The report of an accepted push. If the push does not know of itself, that is a bug of ours. */
export function reportOf(report: PushReport | null): PushReport {
  if (report === null) throw new Error("A push that was accepted does not know of it.");
  return report;
}
