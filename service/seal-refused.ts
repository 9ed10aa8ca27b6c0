// 422 for a seal, with the reason that every verifier gives for it.

import { type ProblemExtras, problem } from "../protocol/problem.ts";
import type { ReasonCode } from "../protocol/result.ts";
import { type Refused, refused } from "./answer.ts";

/**
 * A verifier's reason, or one that only the receiver of a seal sees: that it came too early or too late, or that the `at` of
 * a sealed document does not fit the moment of its receipt or the version that is served.
 */
export type SealReason = ReasonCode | "sealed_at_skew" | "at_skew" | "at_not_later";

export function sealRefused(reason: SealReason, detail: string, extras: ProblemExtras = {}): Refused {
  return refused(problem("seal_invalid", detail, { reason, ...extras }));
}
