// When a push made its steps, in rows of their own: a journal keeps only the events since its last snapshot.
//   W1. Nothing is decided by them.
//   W2. A chunk's times are those of the attempt that settled it, by the clock of the node that did the work. Its generations are
//       as old as the business's first answer, so after a crash they may be older than the rest.

import { parseTraceparent, type Tracer } from "../../std/tracing.ts";
import type { PartitionRow } from "../../storage/actor-store.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ChunkWork, PushProtocol } from "../messages/push.ts";
import { defineJsonTable } from "../system/row-table.ts";

/** What is known of a push before it was accepted; Unix milliseconds. */
export interface AcceptedTimes {
  readonly charged_ms?: number;
  readonly numbered_ms?: number;
  /** The leaf of its seal in the log, `sha256:<hex>`. */
  readonly leaf: string;
}

/** What is known of a chunk; without `work` if it was given up. Unix milliseconds. */
export interface ChunkTimes {
  readonly settled_ms: number;
  readonly work?: ChunkWork;
}

export const acceptedTimes = defineJsonTable<AcceptedTimes>("steps before the acceptance", 20);
/** The key is the chunk's number. */
export const chunkTimes = defineJsonTable<ChunkTimes>("steps of chunks", 21);
/** When an index confirmed a chunk after it was settled; the keys are the chunk's number and the region. */
export const lateIndexes = defineJsonTable<number>("late confirmations of indexes", 22);

type Asked<T extends keyof PushProtocol> = CommandOf<PushProtocol, T>;

/** The row of a push that is accepted now. */
export function acceptedRow({ times = {}, seal_leaf: leaf }: Asked<"push.accept">): PartitionRow {
  return acceptedTimes.write("a", { ...times, leaf });
}

/** The row of a chunk that is settled now. */
export function chunkRow({ chunk, times }: Asked<"chunk.settle">, nowMs: number): PartitionRow {
  const known: ChunkTimes = { settled_ms: nowMs, ...(times === undefined ? {} : { work: times }) };
  return chunkTimes.write("t", known, { k: chunk });
}

/** The trace in which the caller runs; nothing where none is recorded. */
export function currentTrace(tracer: Tracer | undefined): Pick<ChunkWork, "trace_id"> {
  const parsed = parseTraceparent(tracer?.current());
  return parsed === null ? {} : { trace_id: parsed.traceId };
}
