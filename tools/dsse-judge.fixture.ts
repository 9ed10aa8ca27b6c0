// DSSE as securesystemslib understands it: a library in Python that signs and verifies envelopes of The Update Framework and in-toto.

import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { root } from "./process.ts";

export interface DsseJudge extends AsyncDisposable {
  /** The answer to each question; tools/dsse-judge/judge.py has their shapes. */
  ask(questions: readonly object[]): Promise<readonly unknown[]>;
}

/** Installs what tools/dsse-judge/requirements.txt pins. Null, said loudly, where that cannot be done; in CI that is a failure. */
export async function installDsseJudge(): Promise<DsseJudge | null> {
  const folder = await mkdtemp(join(tmpdir(), "svc-dsse-"));
  const source = join(root, "tools/dsse-judge");
  const python = join(folder, "bin", "python");
  const steps = [
    ["python3", "-m", "venv", folder],
    [python, "-m", "pip", "install", "--quiet", "--requirement", join(source, "requirements.txt")],
  ] as const;
  for (const [command, ...args] of steps) {
    const done = spawnSync(command, args, { encoding: "utf8" });
    if (done.status === 0) continue;
    const why = `securesystemslib cannot be installed: ${done.error?.message ?? done.stderr}`;
    await rm(folder, { recursive: true });
    if (process.env["CI"] !== undefined) throw new Error(why);
    console.warn(`SKIPPED: ${why}`);
    return null;
  }
  return {
    ask: async (questions) => {
      const child = spawn(python, [join(source, "judge.py")], { stdio: ["pipe", "pipe", "inherit"] });
      child.stdin.end(questions.map((question) => `${JSON.stringify(question)}\n`).join(""));
      const answers = await text(child.stdout);
      return answers
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as unknown);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
