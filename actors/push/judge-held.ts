// Judges the records of a push that is to be held, before it is shown as held: what is faulty is rejected with its reasons now, and
// an owner can see what the rest is.
//   J1. A record is judged as its chunk would judge it if the push were published now, and of two of one product the first that is
//       accepted counts. So the answer is the one that a validation gives.
//   J2. It may be repeated, and replaces what an earlier attempt found: nobody was shown that.
//   J3. A judgement that keeps failing for a reason of its own ends its push, of which nothing is published.

import { chunkCount } from "../../machines/push.ts";
import { duplicateInBatch } from "../../protocol/wire/push.ts";
import { FileUnfit } from "../../storage/staging-area.ts";
import type { NamedRecord } from "../messages/business.ts";
import type { PushCommand, PushFacts, SettledOutcome } from "../messages/push.ts";
import { businessRef } from "../messages/refs.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { ChunkFailures } from "./chunk-failures.ts";
import { type JudgedLeaf, type Judging, judgeChunk, refusalOf } from "./prepare-chunk.ts";
import { failureOf, unfit } from "./process-chunk.ts";

/** The place of the judgement among the chunks whose failures are counted: in front of the preparation. */
const beforePreparation = -2;

type Context = Pick<ActivityContext<"push">, "actor" | "ask" | "signal">;

export async function judgeHeld(
  { ports, failures }: { readonly ports: Judging; readonly failures: ChunkFailures },
  facts: PushFacts,
  context: Context,
): Promise<PushCommand> {
  const name = { push: context.actor.id, chunk: beforePreparation };
  try {
    const rejected = await judgeAll(ports, facts, context);
    failures.forget(name);
    return { type: "push.judged", rejected };
  } catch (error) {
    if (error instanceof FileUnfit) return unfit(error);
    if (context.signal.aborted || !failures.isLast(name, error)) throw error;
    return { type: "push.fail", ...failureOf("The records could not be judged", error) };
  }
}

/** How many leaves of each chunk are rejected, up to the last chunk with any. */
async function judgeAll(
  ports: Judging,
  facts: PushFacts,
  { actor, ask, signal }: Context,
): Promise<readonly number[]> {
  const seen = new Set<string>();
  const rejected: number[] = [];
  for (let chunk = 0; chunk < chunkCount(facts.records); chunk += 1) {
    if (signal.aborted) throw new Error("The push is continued elsewhere.");
    const judged = await judgeChunk(ports, { facts, chunk });
    const outcomes = judged.map((leaf) => outcomeOf(leaf, seen));
    const names = judged.flatMap(namedBy);
    if (names.length > 0) await ask(businessRef(facts.business_uuid), { type: "names.keep", names });
    await ask(actor, { type: "chunk.judge", chunk, outcomes });
    rejected.push(outcomes.filter(({ outcome }) => outcome === "rejected").length);
  }
  return rejected.slice(0, rejected.findLastIndex((count) => count > 0) + 1);
}

function namedBy({ claim, names }: JudgedLeaf): readonly NamedRecord[] {
  if (names !== null) return [names];
  if (claim === null || claim.business_product_id === null) return [];
  const { record_id, business_product_id } = claim;
  return [{ record_id, business_product_id }];
}

function outcomeOf(leaf: JudgedLeaf, seen: Set<string>): SettledOutcome {
  const { leafIndex: leaf_index, claim } = leaf;
  if (claim === null) return refusalOf(leaf);
  const { record_id } = claim;
  const isSecond = seen.has(record_id);
  seen.add(record_id);
  return {
    ...{ leaf_index, record_id, version: null },
    outcome: isSecond ? "rejected" : "held",
    errors: isSecond ? [duplicateInBatch] : [],
  };
}
