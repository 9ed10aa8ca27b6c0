// What was staged for pushes that nobody will finish: whoever sent one was refused, or never came back after a crash
// between staging and acceptance. Who does come back sends all the bytes again.
//   B1. Only the node where the push's actor lives judges it, by the actor itself: what was accepted, finished or not, has
//       the dropping among its own effects.
//   B2. A push that somebody may be about to accept is left alone. Between staging and acceptance lies one request, and one
//       that takes an hour is refused at the end (A1 in accept-push.ts); a push is looked at {@link abandonedAfterMs} after
//       something of it was staged last.
//   B3. What is staged again meanwhile stays, whatever this node has seen of it (R6 of the record store).
//   B4. A push that cannot be judged or dropped keeps no other from it: the failure is thrown when all were looked at, or
//       when there were {@link failuresMax}, for then it is hardly the pushes that it lies in.

import type { ActorSystem } from "../actors/system/definition.ts";
import type { ActorRef } from "../storage/actor-store.ts";
import type { RecordStore } from "../storage/record-store.ts";

/** A day: no request lasts as long, no clocks are so far apart, and nothing needs the room sooner. */
export const abandonedAfterMs = 86_400_000;

const pageMax = 100;
const failuresMax = 10;

export interface AbandonedDeps {
  readonly actors: Pick<ActorSystem, "inspect">;
  readonly records: Pick<RecordStore, "stagedPushes" | "dropStaged">;
  /** Whether the actor lives on this node. */
  readonly isHere: (push: ActorRef) => boolean | Promise<boolean>;
}

/**
 * Drops what was staged up to `untilMs` (Unix milliseconds) and never accepted; answers of how many pushes. A node alone
 * that takes no requests yet may give any instant, for nobody is between staging and acceptance. Ends early once
 * `isStopped`: what it has not begun to drop then stays.
 */
export async function dropAbandoned(
  deps: AbandonedDeps,
  untilMs: number,
  isStopped: () => boolean = () => false,
): Promise<number> {
  let dropped = 0;
  const failures: unknown[] = [];
  for (let after = ""; ; ) {
    const page = await deps.records.stagedPushes(after, pageMax);
    for (const { push_id: id, staged_at_ms: stagedAtMs } of page) {
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
    const last = page.at(-1);
    if (last === undefined || page.length < pageMax) break;
    after = last.push_id;
  }
  if (failures.length > 0) throw failures[0];
  return dropped;
}

/** See B1. An actor that cannot be read is not judged. */
async function isAbandoned({ actors, isHere }: AbandonedDeps, push: ActorRef): Promise<boolean> {
  if (!(await isHere(push))) return false;
  const report = await actors.inspect(push);
  if (report === null) return true;
  const context = report.context as { readonly facts?: unknown } | null;
  return report.failure === null && context !== null && (context.facts ?? null) === null;
}
