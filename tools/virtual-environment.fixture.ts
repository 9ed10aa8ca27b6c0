// Programs in Python that judge what we make, each with what it needs in an environment of its own.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface VirtualEnvironment extends AsyncDisposable {
  /** The interpreter. */
  readonly python: string;
}

/** Installs a file of requirements. Null, said loudly, where that cannot be done; in CI that is a failure. */
export async function makeVirtualEnvironment(
  requirements: string,
  judge: string,
): Promise<VirtualEnvironment | null> {
  const folder = await mkdtemp(join(tmpdir(), "svc-python-"));
  const python = join(folder, "bin", "python");
  const steps = [
    ["python3", "-m", "venv", folder],
    [python, "-m", "pip", "install", "--quiet", "--requirement", requirements],
  ] as const;
  for (const [command, ...args] of steps) {
    const done = spawnSync(command, args, { encoding: "utf8" });
    if (done.status === 0) continue;
    await rm(folder, { recursive: true });
    return withoutJudge(`${judge} cannot be installed: ${done.error?.message ?? done.stderr}`);
  }
  return { python, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

/** What a test does without its judge: in CI it fails, elsewhere it says that it skips something. */
export function withoutJudge(why: string): null {
  if (process.env["CI"] !== undefined) throw new Error(why);
  console.warn(`SKIPPED: ${why}`);
  return null;
}
