// What a verification of several things at once gives: one named check each.

import type { ReasonCode, Verdict } from "../protocol/result.ts";
import type { SealRefusal, SealReport, SealVerdict } from "./seal-report.ts";

export interface Check {
  /** For example `seal` or `rows/3`. */
  readonly name: string;
  readonly state: "ok" | "failed" | "not_checked";
  /** Only on a failed check. */
  readonly reason?: ReasonCode;
  /** For a person: what failed, why there was no check, or what an `ok` found. */
  readonly detail?: string;
  /** Only on the failed check of a seal: what that claims, believed by nobody, and how far its checks came. */
  readonly refused_seal?: Pick<SealRefusal, "claimed" | "checks">;
}

export interface Report {
  /** No check failed, and at least one was made. */
  readonly valid: boolean;
  /** Every check could be made. */
  readonly complete: boolean;
  readonly checks: readonly Check[];
}

/** The check that a verdict is. `found` says what an `ok` means. */
export function checkOf<T>(name: string, verdict: Verdict<T>, found?: (value: T) => string): Check {
  if (!verdict.ok) return { name, state: "failed", reason: verdict.code, detail: verdict.detail };
  return found === undefined ? { name, state: "ok" } : { name, state: "ok", detail: found(verdict.value) };
}

/** The check of a seal. */
export function sealCheckOf(name: string, verdict: SealVerdict, found: (seal: SealReport) => string): Check {
  const check = checkOf(name, verdict, found);
  if (verdict.ok) return check;
  return { ...check, refused_seal: { claimed: verdict.claimed, checks: verdict.checks } };
}

/** A check for which the evidence is missing. */
export function unchecked(name: string, why: string): Check {
  return { name, state: "not_checked", detail: why };
}

/** Sums checks up. */
export function reportOf(checks: readonly Check[]): Report {
  const made = checks.filter((check) => check.state !== "not_checked");
  return {
    valid: made.length > 0 && made.every((check) => check.state === "ok"),
    complete: made.length === checks.length,
    checks,
  };
}
