// The seed of every random test: properties, fuzzing, fresh seeds of the simulator. It follows from the commit, so that each
// commit is tried with other inputs, and a run of one commit says the same wherever and however often it is run.

import { execFileSync, type StdioOptions } from "node:child_process";

const seedPattern = /^[0-9]{1,9}$/;

/** `SVC_TEST_SEED` where it is set, else of the commit that is checked out; 1 outside a repository. Throws for a malformed one. */
export function testSeed(environment: Readonly<Record<string, string | undefined>>): number {
  const set = environment["SVC_TEST_SEED"];
  if (set === undefined || set === "") return seedOf(checkedOut());
  if (!seedPattern.test(set)) throw new RangeError("SVC_TEST_SEED is a whole number of up to nine digits.");
  return Number(set);
}

/** 1 to 999,999,999, for a commit's id in hexadecimal. */
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
