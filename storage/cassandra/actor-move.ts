// Hands an actor over from its home to another region, while both regions are up.
//   V1. First the epoch is raised, so that nothing more is written; then everything is brought to a quorum of every
//       region; finally the home is changed. Until then the actor belongs to this region, from then on to the other.
//   V2. The move is resumable: repeating it continues from whichever step was reached.
//   V3. If all goes well each step is one statement, and nothing is read twice: a party may have thousands of actors. A
//       step whose outcome is unknown, or that was overtaken by another write, is checked again.

import { randomUUID } from "node:crypto";
import { type ActorRef, StoreError } from "../actor-store.ts";
import { readStatics, readThrough, type Statics } from "./actor-rows.ts";
import type { CassandraSession, Consistency } from "./session.ts";

export interface HandOver {
  readonly ref: ActorRef;
  /** The actor's home. */
  readonly region: string;
  readonly to: string;
  /** Writes what leads every region to the actor: its names, and when the other region has to wake it. */
  readonly introduce: (wakeAtMs: number | null) => Promise<void>;
}

const attemptsMax = 8;

const cql = {
  fence:
    "UPDATE actor SET epoch = ?, owner = '', claim = ? WHERE kind = ? AND id = ? IF epoch = ? AND home = ?",
  leave: `UPDATE actor SET epoch = ?, claim = ?, home = ?, moved_from = ? WHERE kind = ? AND id = ?
    IF epoch = ? AND home = ?`,
} as const;

/** Returns when the other region is the actor's home, or if there is no such actor. Throws {@link StoreError}. */
export async function handOverActor(session: CassandraSession, move: HandOver): Promise<void> {
  const { ref, region, to } = move;
  if (to === region) return;
  const claim = randomUUID();
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const seen = await readStatics(session, ref, "LOCAL_SERIAL");
    if (seen === null || seen.home === to) return;
    if (seen.home !== region) {
      const message = `${ref.kind}/${ref.id} is not ${region}'s to hand over: its home is ${seen.home}`;
      throw new StoreError("not_applied", message);
    }
    if (seen.claim !== claim) {
      const params = [seen.epoch + 1, claim, ref.kind, ref.id, seen.epoch, region];
      if (!(await step(session, cql.fence, params, "LOCAL_QUORUM"))) continue;
    }
    const fenced = await readThrough(session, ref, "EACH_QUORUM");
    // Somebody claimed it meanwhile, or the fence was written over something with a later timestamp.
    if (fenced?.claim !== claim) continue;
    await move.introduce(fenced.wakeAtMs);
    if (await step(session, cql.leave, leaveParams(move, fenced), "EACH_QUORUM")) return;
  }
  throw new StoreError("unknown", `${ref.kind}/${ref.id} was not handed over in ${attemptsMax} attempts`);
}

function leaveParams({ ref, region, to }: HandOver, seen: Statics): readonly (string | number)[] {
  return [seen.epoch + 1, randomUUID(), to, region, ref.kind, ref.id, seen.epoch, region];
}

/** One conditional write. It also returns false when the outcome is unknown: the next read tells what became of it. */
async function step(
  session: CassandraSession,
  cqlText: string,
  params: readonly (string | number)[],
  consistency: Consistency,
): Promise<boolean> {
  try {
    return (await session.execute(cqlText, params, { consistency, idempotent: false })).applied;
  } catch (error) {
    if (!(error instanceof StoreError) || error.effect === "not_applied") throw error;
    return false;
  }
}
