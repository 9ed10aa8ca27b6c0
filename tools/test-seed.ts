// The seed of every random test: properties, fuzzing, new seeds of the simulator. It is derived from the commit, so that
// each commit is tried with different inputs, and every run of one commit gives the same result.

import { execFileSync, type StdioOptions } from "node:child_process";

const seedPattern = /^[0-9]{1,9}$/;

/** `SVC_TEST_SEED` if set, else a seed from the checked-out commit; 1 outside a repository. Throws for a malformed one. */
export function testSeed(environment: Readonly<Record<string, string | undefined>>): number {
  const set = environment["SVC_TEST_SEED"];
  if (set === undefined || set === "") return seedOf(checkedOut());
  if (!seedPattern.test(set)) throw new RangeError("SVC_TEST_SEED is a whole number of up to nine digits.");
  return Number(set);
}

/** A seed from 1 to 999,999,999, for a commit's id in hexadecimal. */
export function seedOf(commit: string | null): number {
  return commit === null ? 1 : 1 + (Number.parseInt(commit.slice(0, 12), 16) % 999_999_999);
}

function checkedOut(): string | null {
  try {
    const stdio: StdioOptions = ["ignore", "pipe", "ignore"];
    return execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio }).trim();
  } catch {
    return null;
  }
}
