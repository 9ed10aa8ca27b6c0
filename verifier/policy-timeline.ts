// When each AI policy version of a business came into force: what a seal's `ai_policy_version` is judged by.

import { ok, refuse, type Verdict } from "../protocol/result.ts";

export interface PolicyVersion {
  readonly version: number;
  /** From when the version was in force. */
  readonly live_from: string;
}

export interface PolicyTimeline {
  readonly versions: readonly PolicyVersion[];
  /** Whether every version there ever was is listed; if not, an unlisted version older than all listed ones may have been in force. */
  readonly isComplete: boolean;
}

/**
 * Whether `version` was the one in force at an instant; otherwise `ai_policy_version_mismatch`. 0 is in force before the
 * first version.
 */
export function judgePolicyVersion(timeline: PolicyTimeline, version: number, at: string): Verdict<void> {
  const live = timeline.versions.filter((each) => each.live_from <= at);
  const inForce = live.reduce((highest, each) => Math.max(highest, each.version), 0);
  if (live.length > 0 || timeline.isComplete)
    return inForce === version ? ok(undefined) : mismatch(version, String(inForce));
  const first = timeline.versions.reduce(
    (lowest, each) => Math.min(lowest, each.version),
    Number.POSITIVE_INFINITY,
  );
  return version < first ? ok(undefined) : mismatch(version, "an earlier one");
}

function mismatch(version: number, inForce: string): Verdict<never> {
  return refuse(
    "ai_policy_version_mismatch",
    `The seal binds AI policy version ${version}; ${inForce} was in force.`,
  );
}
