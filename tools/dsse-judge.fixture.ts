// DSSE as securesystemslib understands it: a library in Python that signs and verifies envelopes of The Update Framework and in-toto.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { root } from "./process.ts";
import { makeVirtualEnvironment } from "./virtual-environment.fixture.ts";

export interface DsseJudge extends AsyncDisposable {
  /** The answer to each question; tools/dsse-judge/judge.py has their shapes. */
  ask(questions: readonly object[]): Promise<readonly unknown[]>;
}

/** Installs what tools/dsse-judge/requirements.txt pins. Null, said loudly, where that cannot be done; in CI that is a failure. */
export async function installDsseJudge(): Promise<DsseJudge | null> {
  const source = join(root, "tools/dsse-judge");
  const environment = await makeVirtualEnvironment(join(source, "requirements.txt"), "securesystemslib");
  if (environment === null) return null;
  const { python } = environment;
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
    [Symbol.asyncDispose]: () => environment[Symbol.asyncDispose](),
  };
}
