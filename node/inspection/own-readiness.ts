// Whether this node is ready, as it says to operators who look at any node.
//   OR1. However many look, the checks run once at a time. What they found is kept for two seconds while anything fails, so that it is
//        soon seen when it is over, and for ten otherwise: a check counts rows, which takes an embedded node with a million of them
//        a while, and who only watches must not cost it that every time.

import type { Readiness } from "../../ops/node-shapes.ts";
import type { ReadyReport } from "../../ops/shapes.ts";
import type { DiskSpace } from "../telemetry/disk.ts";

export interface ReadinessDeps {
  /** What `/readyz` says, and what room it found on the disks: none where that could not be read in time. */
  readonly check: () => Promise<{
    readonly report: Pick<ReadyReport, "ready" | "degraded" | "checks">;
    readonly spaces: readonly DiskSpace[];
  }>;
  readonly elapsedMs: () => number;
}

const keptMs = 10_000;
const keptFailingMs = 2_000;

export function createOwnReadiness({ check, elapsedMs }: ReadinessDeps): () => Promise<Readiness> {
  let kept: Promise<Readiness> | null = null;
  let untilMs = Number.POSITIVE_INFINITY;
  const run = async (): Promise<Readiness> => {
    const { report, spaces } = await check();
    const { ready, degraded, checks } = report;
    const disks = spaces.map(({ place, freeBytes, sizeBytes }) => ({
      ...{ place, free_bytes: freeBytes, size_bytes: sizeBytes },
    }));
    return { ready, degraded, checks, disks };
  };
  return () => {
    if (kept !== null && elapsedMs() < untilMs) return kept;
    untilMs = Number.POSITIVE_INFINITY;
    kept = run();
    const settle = (forMs: number): void => {
      untilMs = elapsedMs() + forMs;
    };
    kept.then(
      ({ checks }) => settle(Object.values(checks).every((each) => each === "ok") ? keptMs : keptFailingMs),
      () => settle(keptFailingMs),
    );
    return kept;
  };
}
