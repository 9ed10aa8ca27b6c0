// The program of the last release, which deployments upgrade from: tools/last-release.json names its commit. For tests.

import { execFile, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root, run } from "../tools/process.ts";

interface LastRelease {
  readonly version: string;
  readonly commit: string;
}

export const lastRelease = JSON.parse(
  readFileSync(join(root, "tools/last-release.json"), "utf8"),
) as LastRelease;

/** Whether the commit is here, which it is not in a shallow clone. In CI that is an error. */
export function hasLastRelease(): boolean {
  const found = spawnSync("git", ["cat-file", "-e", `${lastRelease.commit}^{commit}`], { cwd: root });
  if (found.status === 0) return true;
  const why = `the commit of the last release, ${lastRelease.commit}, is not in this clone`;
  if (process.env["CI"] !== undefined) throw new Error(why);
  console.warn(`SKIPPED: ${why}`);
  return false;
}

export interface OldProgram extends AsyncDisposable {
  /** Its `cli/main.ts`, absolute. */
  readonly main: string;
}

/** Checks the last release out into a temporary folder, with the packages that its lock file pins. */
export async function openLastRelease(): Promise<OldProgram> {
  const folder = await mkdtemp(join(tmpdir(), "svc-last-release-"));
  const archive = join(folder, "release.tar");
  const made = ["archive", "--format=tar", "--output", archive, lastRelease.commit];
  await promisify(execFile)("git", made, { cwd: root });
  const program = join(folder, "program");
  await mkdir(program);
  await promisify(execFile)("tar", ["-xf", archive, "-C", program]);
  if (arePinnedHere(readFileSync(join(program, "package-lock.json"), "utf8")))
    await symlink(join(root, "node_modules"), join(program, "node_modules"));
  else {
    const installed = await run("npm", ["ci", "--omit=dev", "--ignore-scripts"], { cwd: program });
    if (installed.code !== 0) throw new Error(installed.output);
  }
  return {
    main: join(program, "cli/main.ts"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Whether this release pins the same bytes for each package that the other one pins: then they are installed already. */
function arePinnedHere(theirs: string): boolean {
  const packagesIn = (text: string): Readonly<Record<string, { readonly integrity?: string }>> =>
    (JSON.parse(text) as { packages: Record<string, { integrity?: string }> }).packages;
  const ours = packagesIn(readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries(packagesIn(theirs)).every(
    ([path, { integrity }]) => path === "" || ours[path]?.integrity === integrity,
  );
}
