// Programs in Go that judge what is ours: built from modules that the go.mod of their folder pins.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./process.ts";

export interface GoPrograms<Name extends string> {
  /** A temporary folder, which the caller removes. */
  readonly folder: string;
  /** The path of each program, which is in the folder. */
  readonly paths: Readonly<Record<Name, string>>;
}

/** Builds packages of a folder of tools/ by the names of their programs. Null, said loudly, where they cannot be built; in CI that is a failure. */
export async function buildGoPrograms<Name extends string>(
  packages: Readonly<Record<Name, string>>,
  module: "deploy-judge" | "log-judge" | "second-verifier" = "log-judge",
): Promise<GoPrograms<Name> | null> {
  const folder = await mkdtemp(join(tmpdir(), "svc-go-"));
  const paths: Partial<Record<Name, string>> = {};
  for (const name of Object.keys(packages) as Name[]) {
    paths[name] = join(folder, name);
    const options = { cwd: join(root, "tools", module), encoding: "utf8" } as const;
    const built = spawnSync("go", ["build", "-o", paths[name], packages[name]], options);
    if (built.status === 0) continue;
    const why = `${packages[name]} cannot be built: ${built.error?.message ?? built.stderr}`;
    await rm(folder, { recursive: true });
    if (process.env["CI"] !== undefined) throw new Error(why);
    console.warn(`SKIPPED: ${why}`);
    return null;
  }
  return { folder, paths: paths as Record<Name, string> };
}
