// The result of verifying several things at once: one named check for each.

import type { ReasonCode, Verdict } from "../protocol/result.ts";
import type { SealRefusal, SealReport, SealVerdict } from "./seal-report.ts";

export interface Check {
  /** The name of the check, for example `seal` or `rows/3`. */
  readonly name: string;
  /** `unsigned`: the check is about a member of the closed list of those that no signature covers. */
  readonly state: "ok" | "failed" | "not_checked" | "unsigned";
  /** Present only on a failed check. */
  readonly reason?: ReasonCode;
  /** Human-readable: what failed, why there was no check, or what a successful check found. */
  readonly detail?: string;
  /** Present only on the failed check of a seal: what the seal claims, unverified, and how far its checks got. */
  readonly refused_seal?: Pick<SealRefusal, "claimed" | "checks">;
}

export interface Report {
  /** Whether no check failed and at least one was made. */
  readonly valid: boolean;
  /** Whether every check could be made: nothing was left open but the members on the list, each of which has its check. */
  readonly complete: boolean;
  readonly checks: readonly Check[];
}

/** Turns a verdict into a check. `found` describes a successful one. */
export function checkOf<T>(name: string, verdict: Verdict<T>, found?: (value: T) => string): Check {
  if (!verdict.ok) return { name, state: "failed", reason: verdict.code, detail: verdict.detail };
  return found === undefined ? { name, state: "ok" } : { name, state: "ok", detail: found(verdict.value) };
}

/** Turns the verdict on a seal into a check. */
export function sealCheckOf(name: string, verdict: SealVerdict, found: (seal: SealReport) => string): Check {
  const check = checkOf(name, verdict, found);
  if (verdict.ok) return check;
  return { ...check, refused_seal: { claimed: verdict.claimed, checks: verdict.checks } };
}

/** A check whose evidence is missing. */
export function unchecked(name: string, why: string): Check {
  return { name, state: "not_checked", detail: why };
}

/** Summarises checks. */
export function reportOf(checks: readonly Check[]): Report {
  const made = checks.filter(({ state }) => state === "ok" || state === "failed");
  return {
    valid: made.length > 0 && made.every((check) => check.state === "ok"),
    complete: checks.every(({ state }) => state !== "not_checked"),
    checks,
  };
}
