// A copy of the tree in which single guards are changed, and what detects each change: first the tests next to the guard,
// then the simulator, then the tests of the folders that use it, so that easily detected changes cost little. Types come
// last: a change that only they detect cannot be written, but says nothing about the guard's purpose.
//   T1. The tree itself is never written: everything happens in a temporary copy, which is removed at the end.
//   T2. A run that exceeds its time is ended with all of its processes, and counts as having detected the change. The unchanged tree
//       has all the time that it needs: a busy machine is no fault of it.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../process.ts";
import { binOf } from "../steps.ts";
import { applyChange, type GuardChange } from "./guard-sites.ts";

const [runMsMax, unchangedMsMax] = [300_000, 3_600_000];

export interface Witnesses {
  readonly beside: readonly string[];
  readonly users: readonly string[];
  /** None where the simulator does not reach the guard. */
  readonly seeds: number;
}

/** What detected the change, in a few words; null for nothing. */
export type Noticed = Promise<string | null>;

export class TreeCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), "svc-guards-"));
  #limitMs = unchangedMsMax;

  /** Copies the files that git tracks or would add. */
  constructor() {
    const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root }).toString();
    for (const path of files.trimEnd().split("\n")) cpSync(join(root, path), join(this.#folder, path));
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Reports what detects the change. */
  async tryChange(change: GuardChange, witnesses: Witnesses): Noticed {
    const path = join(this.#folder, change.path);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, applyChange(text, change));
    this.#limitMs = runMsMax;
    try {
      return await this.ask(witnesses);
    } finally {
      writeFileSync(path, text);
      this.#limitMs = unchangedMsMax;
    }
  }

  async ask({ beside, users, seeds }: Witnesses): Noticed {
    return (
      (await this.#test(beside)) ??
      (await this.#simulate(seeds)) ??
      // There are many such tests, and one that fails for another reason would hide a gap: it must fail again.
      ((await this.#test(users)) && (await this.#test(users))) ??
      (await this.#run("types", [binOf("typescript", "tsc"), "-p", "tsconfig.json"], /error.*/))
    );
  }

  async #simulate(seeds: number): Noticed {
    if (seeds === 0) return null;
    return this.#run("simulator", ["sim/main.ts", "--from", "1", "--seeds", `${seeds}`], /seed \d+ FAILED.*/);
  }

  async #test(files: readonly string[]): Noticed {
    if (files.length === 0) return null;
    return this.#run("test", [binOf("vitest"), "run", "--bail", "1", ...files], /(?<=FAIL\s+).+/);
  }

  #run(who: string, args: readonly string[], telling: RegExp): Noticed {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      env: { ...process.env, SVC_TEST_SEED: "1", NO_COLOR: "1" },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"] as const,
    });
    // A worker in an infinite loop does not notice that its parent is gone, so the whole group is killed.
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), this.#limitMs);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(null);
      else if (code === null) resolve(`${who}: does not end`);
      else resolve(`${who}: ${telling.exec(output)?.[0] ?? output.slice(-300).trim()}`);
    });
    return promise;
  }
}
