// Drops what was staged for pushes that nobody will finish: the sender was refused, or never came back after a crash
// between staging and acceptance. A sender that does come back sends all the bytes again.
//   B1. Only the node where the push's actor lives judges it, by asking the actor: for a push that was accepted,
//       finished or not, dropping is one of the actor's own effects.
//   B2. A push that may be about to be accepted is left alone. Only one request lies between staging and acceptance, and
//       one that takes an hour is refused at the end (A1 in accept-batch.ts); a push is examined {@link abandonedAfterMs}
//       after anything of it was last staged.
//   B3. Whatever is staged again in the meantime stays, regardless of what this node has seen of it (R6 of the record
//       store).
//   B4. A push that cannot be judged or dropped does not stop the others: the failure is thrown once all have been
//       examined, or after {@link failuresMax} failures, since by then the pushes are unlikely to be the cause.

import type { ActorSystem } from "../../actors/system/definition.ts";
import type { Clock } from "../../crypto/port.ts";
import { repeat } from "../../std/back-off.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { type RecordStore, stagedPages } from "../../storage/record-store.ts";

/** A day: no request lasts that long, no clocks are that far apart, and nothing needs the space sooner. */
export const abandonedAfterMs = 86_400_000;

const pageMax = 100;
const failuresMax = 10;

export interface AbandonedDeps {
  readonly actors: ActorSystem;
  readonly records: RecordStore;
  /** Whether the actor lives on this node. */
  readonly isHere: (push: ActorRef) => boolean | Promise<boolean>;
}

/**
 * Drops what was staged up to `untilMs` (Unix milliseconds) and never accepted; returns the number of pushes dropped. A
 * single node that does not take requests yet may pass any instant, since nobody can be between staging and acceptance.
 * Stops early once `isStopped`; whatever it has not started to drop then stays.
 */
export async function dropAbandoned(
  deps: AbandonedDeps,
  untilMs: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let dropped = 0;
  const failures: unknown[] = [];
  for await (const { pushes } of stagedPages(deps.records, pageMax)) {
    for (const { push_id: id, staged_at_ms: stagedAtMs } of pushes) {
      if (stagedAtMs > untilMs) continue;
      try {
        if (isStopped()) return dropped;
        if (!(await isAbandoned(deps, { kind: "push", id })) || isStopped()) continue;
        await deps.records.dropStaged(id, stagedAtMs);
        dropped += 1;
      } catch (error) {
        failures.push(error);
        if (failures.length === failuresMax) throw error;
      }
    }
  }
  if (failures.length > 0) throw failures[0];
  return dropped;
}

/** See B1. A push whose actor cannot be read is not judged. */
async function isAbandoned({ actors, isHere }: AbandonedDeps, push: ActorRef): Promise<boolean> {
  if (!(await isHere(push))) return false;
  const report = await actors.inspect(push);
  if (report === null) return true;
  const context = report.context as { readonly facts?: unknown } | null;
  return report.failure === null && context !== null && (context.facts ?? null) === null;
}

// Drops abandoned pushes periodically for as long as a node runs.
//   T1. Only one sweep runs at a time: the next is due one interval after the previous one has ended, however long that
//       took.
//   T2. A sweep that fails reports it, and the next one still runs.
//   T3. Once stopped, no new sweep starts, and the one under way drops nothing that it had not started to drop. The stop
//       completes when that sweep ends; its result is not reported.

export interface SweepDeps extends AbandonedDeps {
  readonly clock: Clock;
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  /** The time from the end of a sweep, or the start of the node, to the next sweep. */
  readonly everyMs: number;
  /** The minimum time since anything of a push was last staged. */
  readonly afterMs: number;
  /** Called when pushes were dropped. */
  readonly dropped: (pushes: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Starts sweeping; the returned function stops it (T3). */
export function sweepAbandoned(deps: SweepDeps): () => Promise<void> {
  const run = async (isStopped: () => boolean): Promise<void> => {
    try {
      const pushes = await dropAbandoned(deps, deps.clock.now() - deps.afterMs, isStopped);
      if (pushes > 0 && !isStopped()) deps.dropped(pushes);
    } catch (error) {
      if (!isStopped()) deps.failed(error);
    }
  };
  return repeat({ ...deps, run });
}
