// What the engines need to know about the machine: the only file here that reads the process environment.

import { accessSync, constants, readFileSync, statfsSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

export interface Host {
  /** Where fetched engines are kept between runs, outside any clone. */
  readonly cacheFolder: string;
  /** Parent folder for the work folders of engines that are not kept. */
  readonly scratchFolder: string;
  /** The same for a folder that outlives the engines. */
  readonly temporaryFolder: string;
  readonly javaHome: string | null;
  /** Folders of the command search path, in order. */
  readonly path: readonly string[];
  readonly platform: NodeJS.Platform;
  /** True for the superuser, under whom Elasticsearch refuses to run. */
  readonly isRoot: boolean;
  /** In continuous integration an engine that cannot run is a failure, not a skip. */
  readonly isCi: boolean;
  /** The environment that programs started here inherit. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
}

/** Reads `SVC_ENGINES_CACHE`, `XDG_CACHE_HOME`, `TMPDIR`, `JAVA_HOME`, `PATH` and `CI`. */
export function readHost(env: Readonly<Record<string, string | undefined>> = process.env): Host {
  const caches = env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  return {
    cacheFolder: resolve(env["SVC_ENGINES_CACHE"] ?? join(caches, "svc-engines")),
    scratchFolder: env["TMPDIR"] === undefined && hasRoomInMemory() ? memoryFolder : tmpdir(),
    temporaryFolder: tmpdir(),
    javaHome: env["JAVA_HOME"] ?? null,
    path: (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== ""),
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    isCi: !["", "0", "false"].includes(env["CI"] ?? ""),
    inherited: env,
  };
}

/** Linux's file system in memory. */
const memoryFolder = "/dev/shm";
const memoryMin = 4 * 2 ** 30;

/**
 * Whether engines can work in memory. They sync every write and every change of a schema, so on a disk the tests mostly wait for it. A
 * process that is killed loses as little in memory as on a disk. Engines load libraries from their folders, which a file system may
 * forbid.
 */
function hasRoomInMemory(): boolean {
  try {
    accessSync(memoryFolder, constants.W_OK);
    const { bavail, bsize } = statfsSync(memoryFolder);
    const mounted = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .findLast((line) => line.split(" ")[1] === memoryFolder);
    return bavail * bsize >= memoryMin && mounted !== undefined && !/[ ,]noexec[ ,]/.test(mounted);
  } catch {
    return false;
  }
}
