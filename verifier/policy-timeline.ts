// When each AI policy version of a business came into force; a seal's `ai_policy_version` is judged by this.

import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { instantOf } from "./certificate.ts";

export interface PolicyVersion {
  readonly version: number;
  /** The instant from which the version was in force. */
  readonly live_from: string;
  /**
   * The instant from which it was in force no more because its own seal fell; absent where it did not. From then on the newest
   * earlier version that stands is in force again.
   */
  readonly fallen_at?: string;
}

export interface PolicyTimeline {
  readonly versions: readonly PolicyVersion[];
  /**
   * Whether every version that ever existed is listed; if not, an unlisted version older than all the listed ones may
   * have been in force.
   */
  readonly isComplete: boolean;
  /**
   * The hash of the sealed record that the register accepted as each version, where the register is at hand: what it does
   * not have was never accepted.
   */
  readonly records?: ReadonlyMap<number, string>;
  /**
   * How far, in milliseconds, a `live_from` may be from the instant at which the version came into force (default 0). A
   * version is in force from the moment the service received it, whereas its own seal only says when it was sealed.
   */
  readonly uncertainMs?: number;
}

/**
 * Checks that `version` was the one in force at an instant; otherwise refuses with `ai_policy_version_mismatch`. Version
 * 0 is in force before the first version. Where the timeline is uncertain, any version that may have been in force is
 * accepted.
 */
export function judgePolicyVersion(timeline: PolicyTimeline, version: number, at: string): Verdict<void> {
  const { uncertainMs = 0 } = timeline;
  const atMs = instantOf(at);
  const standing = timeline.versions.filter(
    ({ fallen_at: fallen }) => fallen === undefined || atMs - uncertainMs < instantOf(fallen),
  );
  const early = standing.filter((each) => instantOf(each.live_from) <= atMs - uncertainMs);
  const inForce = early.reduce((highest, each) => Math.max(highest, each.version), 0);
  const mayHaveBegun = standing.some(
    (each) =>
      each.version === version && version > inForce && instantOf(each.live_from) <= atMs + uncertainMs,
  );
  if (mayHaveBegun) return ok(undefined);
  if (early.length > 0 || timeline.isComplete)
    return inForce === version ? ok(undefined) : mismatch(version, String(inForce));
  const first = timeline.versions.reduce(
    (lowest, each) => Math.min(lowest, each.version),
    Number.POSITIVE_INFINITY,
  );
  return version < first ? ok(undefined) : mismatch(version, "an earlier one");
}

/**
 * Checks that a record is what the register accepted as this version of the AI policy, or, if its seal names no version, as
 * any; otherwise refuses with `ai_policy_version_mismatch`.
 */
export function judgePolicyRecord(
  records: ReadonlyMap<number, string>,
  { version, hash }: { readonly version: number | null; readonly hash: string },
): Verdict<void> {
  const accepted = version === null ? [...records.values()] : [records.get(version)];
  if (accepted.includes(hash)) return ok(undefined);
  const detail = "The register has not accepted this record as the AI policy of this version.";
  return refuse("ai_policy_version_mismatch", detail);
}

function mismatch(version: number, inForce: string): Verdict<never> {
  return refuse(
    "ai_policy_version_mismatch",
    `The seal binds AI policy version ${version}; ${inForce} was in force.`,
  );
}
