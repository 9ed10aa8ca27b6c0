// 422 for a seal, with the reason that every verifier gives for it.

import { type ProblemExtras, problem } from "../protocol/problem.ts";
import type { ReasonCode } from "../protocol/result.ts";
import { type Refused, refused } from "./answer.ts";

/** A verifier's reason, or that the seal came too early or too late, which only its receiver sees. */
export type SealReason = ReasonCode | "sealed_at_skew";

export function sealRefused(reason: SealReason, detail: string, extras: ProblemExtras = {}): Refused {
  return refused(problem("seal_invalid", detail, { reason, ...extras }));
}
