// Whether queued pushes are processed now. While they are not, batches of up to 500 records are processed in the request;
// a larger batch is accepted and refused as unavailable, and continues when it is sent again, or by itself later.

import { inlineFallbackMax, inlineRecordsMax } from "../protocol/limits.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";

export interface Background {
  /** By the node that is asked. */
  isAvailable(): boolean;
}

/** Batches of up to this many records are processed within the request. */
export function inlineMaxOf(background: Background | undefined): number {
  return background?.isAvailable() === false ? inlineFallbackMax : inlineRecordsMax;
}

const retrySeconds = 60;

export const backgroundUnavailable: Refused = refused(
  problem(
    "unavailable",
    "The batch is accepted, but batches of this size are not processed now; send it again later, with a new signature, to continue it.",
    { reason: "background_unavailable", retry_after_seconds: retrySeconds },
  ),
  { "retry-after": String(retrySeconds) },
);
