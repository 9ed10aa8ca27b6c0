// Makes a generation forget what was deleted or replaced in it: its segments are written again without it.
//   A deletion in Lucene only marks a document; its text leaves the disk when the segment is merged. Elasticsearch counts a segment as worth
//   merging only from a tenth of deletions on, which is a setting, and keeps what copies that have to catch up may still need: the
//   leases say from which operation on. They are renewed every half minute, and until they have passed what was written, a merge
//   keeps all of it. A merge that began before the deletion keeps it as well, and its segments are left out by others.
//   It writes every segment with a deletion again, which takes as long as an index is large: it is a task of the engine, which is asked
//   for until it has ended.

import { setTimeout as delay } from "node:timers/promises";
import { Unavailable } from "../../std/unavailable.ts";
import { type IndexUnavailable, indexUnavailable } from "../row-index.ts";
import { assertAllShards, type Engine, EngineRefusal, malformed, memberOf } from "./engine.ts";

/** Merges every segment that has any deletion, however few. */
const settings = { "index.merge.policy.expunge_deletes_allowed": 0 };

/** How often it is looked whether something still needs what was deleted, and how long at most. */
const [lookMs, looksMax] = [1_000, 90];
/** How often a merge is asked for, and how often at most: for a day. So many answers in a row may be missing. */
const [mergeLookMs, mergeLooksMax, missingMax] = [5_000, 17_280, 60];

type PurgedEngine = Pick<Engine, "read" | "write">;

/**
 * Does nothing for a generation that has gone in the meantime. Throws {@link IndexUnavailable} where a copy still needs what was deleted:
 * nothing is forgotten then, and it is to be asked again.
 */
export async function expungeDeleted(
  engine: PurgedEngine,
  generation: string,
  wait: (ms: number) => Promise<void> = (ms) => delay(ms),
): Promise<void> {
  try {
    await engine.write({ method: "PUT", path: `/${generation}/_settings`, body: settings });
    await engine.write({ method: "POST", path: `/${generation}/_flush?wait_if_ongoing=true` });
    await untilUnneeded(engine, generation, wait);
    const merge = "_forcemerge?only_expunge_deletes=true&wait_for_completion=false";
    const started = await engine.write({ method: "POST", path: `/${generation}/${merge}` });
    await untilMerged(engine, taskOf(started), wait);
    await engine.write({ method: "POST", path: `/${generation}/_flush?wait_if_ongoing=true` });
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return;
    throw error;
  }
}

function taskOf(started: unknown): string {
  const task = memberOf(started, "task");
  if (typeof task !== "string") throw malformed("the task of a merge");
  return task;
}

async function untilMerged(
  engine: PurgedEngine,
  task: string,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  let missing = 0;
  for (let look = 0; look < mergeLooksMax; look += 1) {
    const found = await engine.read({ method: "GET", path: `/_tasks/${task}` }).catch((error: unknown) => {
      missing += 1;
      // A refusal says that the task is lost, and not that its generation is gone.
      if (!(error instanceof Unavailable) || missing > missingMax) throw notMerged(task, error);
      return null;
    });
    if (found !== null) missing = 0;
    if (memberOf(found, "completed") === true) {
      const error = memberOf(found, "error");
      if (error !== undefined) throw notMerged(task, error);
      return assertAllShards(memberOf(found, "response"));
    }
    await wait(look < looksMax ? lookMs : mergeLookMs);
  }
  throw notMerged(task, null);
}

function notMerged(task: string, cause: unknown): IndexUnavailable {
  return indexUnavailable("incomplete", `the merge ${task} did not end as it should`, { cause });
}

/** Waits until no copy needs what was written so far, and, if that is soon, until merges that began earlier have ended. */
async function untilUnneeded(
  engine: PurgedEngine,
  generation: string,
  wait: (ms: number) => Promise<void>,
): Promise<void> {
  const written = await readCopies(engine, generation);
  for (let look = 0; ; look += 1) {
    const copies = look === 0 ? written : await readCopies(engine, generation);
    const isNeeded = copies.some(({ shard, keptFrom }) => keptFrom <= lastOf(written, shard));
    if (!isNeeded && (copies.every(({ merges }) => merges === 0) || look >= looksMax)) return;
    if (look >= looksMax)
      throw indexUnavailable("incomplete", `a copy of ${generation} may still need what was deleted`);
    await wait(lookMs);
  }
}

interface Copy {
  readonly shard: string;
  readonly last: number;
  /** The number of the first operation that is kept for copies that have to catch up. */
  readonly keptFrom: number;
  /** Merges under way. */
  readonly merges: number;
}

/** The last operation of a shard, as far as any of its copies has it. */
function lastOf(copies: readonly Copy[], shard: string): number {
  return Math.max(-1, ...copies.filter((copy) => copy.shard === shard).map(({ last }) => last));
}

async function readCopies(engine: PurgedEngine, generation: string): Promise<readonly Copy[]> {
  const path = `/${generation}/_stats/merge?level=shards&filter_path=indices.*.shards`;
  const answer = await engine.read({ method: "GET", path });
  const shards = memberOf(Object.values(memberOf(answer, "indices") ?? {})[0], "shards");
  if (typeof shards !== "object" || shards === null) throw malformed("the copies of its shards");
  return Object.entries(shards).flatMap(([shard, copies]) =>
    (copies as readonly unknown[]).map((copy): Copy => {
      const leases = memberOf(memberOf(copy, "retention_leases"), "leases");
      const last = memberOf(memberOf(copy, "seq_no"), "max_seq_no");
      const merges = memberOf(memberOf(copy, "merges"), "current");
      if (!Array.isArray(leases) || typeof last !== "number" || typeof merges !== "number")
        throw malformed("the operations of a copy");
      const from = leases.map((lease: unknown) => Number(memberOf(lease, "retaining_seq_no")));
      return { shard, last, keptFrom: Math.min(...from, Number.POSITIVE_INFINITY), merges };
    }),
  );
}
