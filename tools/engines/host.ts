// What the engines need to know about the machine: the only file here that reads the process environment.

import { homedir, tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

export interface Host {
  /** Where fetched engines are kept between runs, outside any clone. */
  readonly cacheFolder: string;
  /** Parent folder for the work folders of engines that are not kept. */
  readonly scratchFolder: string;
  readonly javaHome: string | null;
  /** Folders of the command search path, in order. */
  readonly path: readonly string[];
  readonly platform: NodeJS.Platform;
  /** True for the superuser, under whom Elasticsearch refuses to run. */
  readonly isRoot: boolean;
  /** In continuous integration an engine that cannot run is a failure, not a skip. */
  readonly isCi: boolean;
  /** Whether a person watches at a terminal. */
  readonly isWatched: boolean;
  /** The environment that programs started here inherit. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
}

/** Reads `SVC_ENGINES_CACHE`, `XDG_CACHE_HOME`, `JAVA_HOME`, `PATH` and `CI`. */
export function readHost(env: Readonly<Record<string, string | undefined>> = process.env): Host {
  const caches = env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  return {
    cacheFolder: resolve(env["SVC_ENGINES_CACHE"] ?? join(caches, "svc-engines")),
    scratchFolder: tmpdir(),
    javaHome: env["JAVA_HOME"] ?? null,
    path: (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== ""),
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    isCi: isSet(env["CI"]),
    isWatched: process.stdout.isTTY === true,
    inherited: env,
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0" && value !== "false";
}
