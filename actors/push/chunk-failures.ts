// Chunks that fail, and how often: a chunk that keeps failing for a reason of its own is given up, and its push goes on.
//   F1. An outage never counts: what may be possible later (a store, an index, a signer, another actor, the platform) is
//       tried for as long as it takes.
//   F2. A failure of the chunk itself, which every repetition would meet again, counts. So does a crash that its request
//       caused in the business's actor; of those few are allowed, because several of them would end that actor for others.
//   F3. Once a chunk of a push was given up, each further one is given up sooner: a push of which nothing can be published
//       ends soon.
//   F4. The counts are kept in memory: after a restart, or on another node, they begin again.

import { BoundedMap } from "../../std/bounded-map.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { WorkerEnded } from "../../std/worker-calls.ts";
import { StoreError } from "../../storage/actor-store.ts";

/** Failures of its own after which a chunk is given up. With the usual back-off they take about two minutes. */
export const chunkFailuresMax = 12;
/** The same for crashes of the business's actor; fewer than those after which it is quarantined. */
export const chunkCrashesMax = 3;
/** Failures after which a chunk is given up if one of its push was given up before (F3). */
export const laterFailuresMax = 2;
/** Number of failing chunks that are counted at a time; beyond that, the oldest count begins again. */
const countedMax = 10_000;

export interface ChunkFailures {
  /** Counts a failure; true if the chunk is to be given up. */
  isLast(chunk: ChunkName, error: unknown): boolean;
  /** The chunk was settled. */
  forget(chunk: ChunkName): void;
}

export interface ChunkName {
  /** Id of the push's actor. */
  readonly push: string;
  readonly chunk: number;
}

interface Count {
  failures: number;
  crashes: number;
}

export function createChunkFailures(): ChunkFailures {
  const counts = new BoundedMap<string, Count>(countedMax);
  const givenUp = new BoundedMap<string, true>(countedMax);
  const nameOf = ({ push, chunk }: ChunkName): string => `${push}/${chunk}`;
  return {
    isLast: (chunk, error) => {
      const kind = failureKind(error);
      if (kind === "outage") return false;
      const count = counts.get(nameOf(chunk)) ?? { failures: 0, crashes: 0 };
      count[kind] += 1;
      counts.set(nameOf(chunk), count);
      const failuresMax = givenUp.get(chunk.push) ? laterFailuresMax : chunkFailuresMax;
      if (count.failures < failuresMax && count.crashes < chunkCrashesMax) return false;
      givenUp.set(chunk.push, true);
      return true;
    },
    forget: (chunk) => void counts.delete(nameOf(chunk)),
  };
}

function failureKind(error: unknown): "outage" | "failures" | "crashes" {
  if (error instanceof Unavailable) {
    // Only the one whose command crashed an actor learns the cause.
    if (error.reason === "restarting" && error.cause !== undefined) return "crashes";
    return error.reason === "refused" ? "failures" : "outage";
  }
  if (error instanceof StoreError || error instanceof WorkerEnded) return "outage";
  return isOfPlatform(error) ? "outage" : "failures";
}

/**
 * Errors of the system and of drivers have a code (`ENOSPC`, SQLite's `errcode`). The platform's own `ERR_…` name a wrong use of it.
 */
function isOfPlatform(error: unknown): boolean {
  const { code, errcode } = Object(error) as { readonly code?: unknown; readonly errcode?: unknown };
  return typeof errcode === "number" || (typeof code === "string" && !code.startsWith("ERR_"));
}
