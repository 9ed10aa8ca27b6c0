// One change in a copy of the tree, and who notices it: first the tests beside it, then the simulator, then the tests of
// the rooms that use it, so that what is noticed early costs little.
//   T1. The tree itself is never written: everything happens in a temporary copy, which goes at the end.
//   T2. A run that does not end in its time is ended with all of its processes, and counts as having noticed.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../process.ts";
import { applyChange, type GuardChange } from "./guard-sites.ts";

const vitest = "node_modules/vitest/vitest.mjs";
const runMsMax = 300_000;

export interface Trial {
  readonly beside: readonly string[];
  readonly users: readonly string[];
  readonly seeds: number;
}

export interface TreeCopy {
  /** Who noticed the change; null for nobody. */
  noticed(change: GuardChange, trial: Trial): Promise<string | null>;
  /** What these tests say of the tree as it is: the names of those that fail, or null. */
  test(files: readonly string[]): Promise<string | null>;
  simulate(seeds: number): Promise<string | null>;
  remove(): void;
}

/** Copies the files that git knows or would take up. */
export function copyTree(): TreeCopy {
  const folder = mkdtempSync(join(tmpdir(), "svc-guards-"));
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  for (const path of listed.split("\n").filter((line) => line !== "")) {
    cpSync(join(root, path), join(folder, path), { force: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const ask = (args: readonly string[]): Promise<Ended> => runIn(folder, args);
  const test = async (files: readonly string[]): Promise<string | null> => {
    if (files.length === 0) return null;
    const { code, output } = await ask([vitest, "run", "--bail", "1", ...files]);
    if (code === 0) return null;
    if (code === null) return "tests that do not end";
    return /FAIL\s+(.+)/.exec(output)?.[1] ?? `tests that cannot run: ${output.slice(-300)}`;
  };
  const simulate = async (seeds: number): Promise<string | null> => {
    const { code, output } = await ask(["sim/main.ts", "--from", "1", "--seeds", String(seeds)]);
    if (code === 0) return null;
    if (code === null) return "a simulation that does not end";
    return `simulator: ${/seed \d+ FAILED\s+\S+/.exec(output)?.[0] ?? output.slice(-200).trim()}`;
  };
  return {
    test,
    simulate,
    noticed: async (change, { beside, users, seeds }) => {
      const path = join(folder, change.path);
      const text = readFileSync(path, "utf8");
      writeFileSync(path, applyChange(text, change));
      try {
        return (await test(beside)) ?? (await simulate(seeds)) ?? (await test(users));
      } finally {
        writeFileSync(path, text);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface Ended {
  /** Null for a run that was ended (T2). */
  readonly code: number | null;
  readonly output: string;
}

function runIn(folder: string, args: readonly string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const env = { ...process.env, SVC_TEST_SEED: "1", NO_COLOR: "1" };
  const child = spawn(process.execPath, args, {
    ...{ cwd: folder, env, detached: true },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const timer = setTimeout(() => endGroup(child), runMsMax);
  let output = "";
  const take = (text: string): void => {
    output += text;
  };
  child.stdout.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", take);
  child.on("close", (code) => {
    clearTimeout(timer);
    resolve({ code, output });
  });
  return promise;
}

/** A worker that loops for ever does not hear that its parent is gone: it leads no group of its own. */
function endGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, "SIGKILL");
}
