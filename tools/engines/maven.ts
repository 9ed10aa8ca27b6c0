// Engines from Maven Central, fetched with Maven and kept in a cache outside the clone.
//   C1. A folder of the cache is either complete or not used: it appears by one rename, and each use compares it with
//       the list of its files, their sizes and hashes. A folder that does not match is fetched again.
//   C2. Several processes may request the same engine at once: one fetches, the others wait; if two fetch anyway, the
//       first rename wins and both use its folder.
//   C3. The engine's own file has the SHA-256 that this project pins, and so has the list of all files that came with it:
//       neither the repository's own statements nor Maven's plug-ins are relied on.

import { createHash } from "node:crypto";
import { accessSync, constants, createReadStream } from "node:fs";
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import { run } from "../process.ts";
import type { Host } from "./host.ts";
import { chooseJdk, type Distribution, findJdks } from "./jdk.ts";

const pluginVersion = "3.8.1";
const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${pluginVersion}`;
const outputMax = 4_000;
const toldEveryMs = 10_000;
const abandonedMs = 60 * 60_000;

/** The machine cannot run an engine because it lacks a JDK, Maven or a network. The message says what is missing. */
export class EngineUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EngineUnavailable";
  }
}

type Tell = (line: string) => void;

export interface Runnable {
  /** Folder of the engine's files; read only. */
  readonly folder: string;
  readonly javaHome: string;
}

/**
 * Provides the engine's files, fetched if necessary, and a JDK to run them. `tell` is called with the progress of a fetch.
 * Throws {@link EngineUnavailable} where the machine lacks something, and another error where the fetch failed.
 */
export async function provide(
  distribution: Distribution,
  host: Host,
  tell: Tell = () => {},
): Promise<Runnable> {
  const { name, version, jdk: wish } = distribution;
  const jdk = chooseJdk(findJdks(host), wish);
  if (jdk === null) {
    const range = wish.min === wish.max ? `${wish.min}` : `${wish.min} to ${wish.max}`;
    throw new EngineUnavailable(`${name} ${version} needs a JDK ${range}, and none was found`);
  }
  const folder = join(host.cacheFolder, `${name}-${version}`);
  if (!(await isComplete(folder))) {
    await mkdir(host.cacheFolder, { recursive: true });
    const waits = (holder: number): void => tell(`Waiting for process ${holder}, which fetches ${name} …`);
    await withLock(
      `${folder}.lock`,
      async () => {
        if (await isComplete(folder)) return;
        await removeAbandoned(folder);
        await fetchInto(folder, distribution, { host, javaHome: jdk.home, tell });
      },
      waits,
    );
  }
  return { folder: join(folder, "files"), javaHome: jdk.home };
}

/** Removes what a process left behind that died during a fetch. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(dirname(folder))) {
    const path = join(dirname(folder), name);
    if (!path.startsWith(`${folder}.part-`) || Date.now() - (await stat(path)).mtimeMs < abandonedMs)
      continue;
    await rm(path, { recursive: true, force: true });
  }
}

async function fetchInto(
  folder: string,
  distribution: Distribution,
  { host, javaHome, tell }: { readonly host: Host; readonly javaHome: string; readonly tell: Tell },
): Promise<void> {
  const mvn = findCommand(host, "mvn");
  if (mvn === null) {
    throw new EngineUnavailable(`${distribution.name} is fetched with Maven, and there is no command mvn`);
  }
  const staging = await mkdtemp(`${folder}.part-`);
  const what = `${distribution.name} ${distribution.version}`;
  const beganMs = performance.now();
  const seconds = (): string => `${Math.round((performance.now() - beganMs) / 1_000)} s`;
  // A few hundred megabytes take minutes on a slow connection.
  tell(`Fetching ${what}: it is kept for later starts …`);
  const timer = setInterval(() => tell(`Fetching ${what}: ${seconds()}`), toldEveryMs);
  try {
    const files = join(staging, "files");
    await mkdir(files);
    const commands = { mvn, env: { ...host.inherited, JAVA_HOME: javaHome } };
    if (distribution.form === "jars") await fetchJars(staging, distribution, commands);
    else await fetchZip(staging, distribution, { ...commands, javaHome });
    const contents = await listContents(files);
    checkContents(contents, distribution);
    await writeFile(join(staging, "contents.json"), JSON.stringify(contents));
    await publish(staging, folder);
    tell(`Fetched ${what} in ${seconds()}`);
  } finally {
    clearInterval(timer);
    await rm(staging, { recursive: true, force: true });
  }
}

interface Commands {
  readonly mvn: string;
  readonly env: NodeJS.ProcessEnv;
}

type Place = Pick<Commands, "env"> & { readonly cwd: string };

async function fetchJars(staging: string, distribution: Distribution, { mvn, env }: Commands): Promise<void> {
  const pom = join(staging, "pom.xml");
  await writeFile(pom, pomOf(distribution));
  const files = join(staging, "files");
  const goal = `${plugin}:copy-dependencies`;
  const args = [...plain, "-f", pom, goal, "-DincludeScope=runtime", `-DoutputDirectory=${files}`];
  await runMaven(mvn, args, { env, cwd: staging });
  await checkPinned(join(files, distribution.file), distribution);
}

async function fetchZip(
  staging: string,
  distribution: Distribution,
  { mvn, env, javaHome }: Commands & { readonly javaHome: string },
): Promise<void> {
  const download = join(staging, "download");
  await mkdir(download);
  const args = [`${plugin}:copy`, `-Dartifact=${distribution.artifact}`, `-DoutputDirectory=${download}`];
  await runMaven(mvn, [...plain, ...args], { env, cwd: staging });
  const zip = join(download, distribution.file);
  await checkPinned(zip, distribution);
  await succeed(join(javaHome, "bin", "jar"), ["--extract", "--file", zip], { env, cwd: download });
  const [top] = (await readdir(download, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  if (top === undefined) throw new Error(`${distribution.file} holds no folder`);
  const files = join(staging, "files");
  await rm(files, { recursive: true });
  await rename(join(download, top.name), files);
}

/** A checksum that the repository does not serve fails nothing, because the pins decide (C3). */
const plain = ["--batch-mode", "-Dstyle.color=never", "--lax-checksums"];

function pomOf({ artifact }: Distribution): string {
  const [group, name, version] = artifact.split(":");
  return `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>svc</groupId><artifactId>engines</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>
  </dependencies>
</project>
`;
}

async function checkPinned(file: string, { sha256, artifact }: Distribution): Promise<void> {
  const found = await hashFile(file);
  if (found !== sha256) throw new Error(`${artifact} has SHA-256 ${found}, not the pinned ${sha256}`);
}

function checkContents(contents: Contents, { contentsSha256, artifact }: Distribution): void {
  const found = digestOf(contents);
  if (found === contentsSha256) return;
  throw new Error(
    `${artifact} came with files whose list has SHA-256 ${found}, not the pinned ${contentsSha256}`,
  );
}

/** Publishes with one rename (C1). If another process was first, its folder stays, provided it is complete (C2). */
async function publish(staging: string, folder: string): Promise<void> {
  try {
    await rename(staging, folder);
  } catch {
    if (await isComplete(folder)) return;
    await rm(folder, { recursive: true, force: true });
    await rename(staging, folder);
  }
}

/** Absolute path of a command, or null. */
export function findCommand(host: Pick<Host, "path" | "platform">, name: string): string | null {
  const file = host.platform === "win32" ? `${name}.cmd` : name;
  for (const folder of host.path) {
    const path = join(folder, file);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The command is not in this folder.
    }
  }
  return null;
}

/** Maven's exit code tells that it could not get a file: the machine may have no access to the repository. */
async function runMaven(command: string, args: readonly string[], place: Place): Promise<void> {
  try {
    await succeed(command, args, place);
  } catch (error) {
    throw new EngineUnavailable(`Maven could not fetch it: ${(error as Error).message}`);
  }
}

async function succeed(command: string, args: readonly string[], place: Place): Promise<void> {
  const { code, output } = await run(command, args, { ...place, outputMax });
  if (code !== 0) throw new Error(`${command}: exit code ${code}\n${output}`);
}

// The list of the files in a cache folder, by which a partially written or damaged one is recognised.

/** Size and SHA-256 (hex) of each file, by its path relative to the folder, with forward slashes. */
type Contents = Readonly<Record<string, { readonly size: number; readonly sha256: string }>>;

async function listContents(folder: string): Promise<Contents> {
  const contents: Record<string, { size: number; sha256: string }> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1).replaceAll(sep, "/");
    contents[name] = { size: (await stat(path)).size, sha256: await hashFile(path) };
  }
  return contents;
}

/** One SHA-256 (hex) over names, sizes and hashes of all files, sorted by line. */
function digestOf(contents: Contents): string {
  const lines = Object.entries(contents).map(([name, { size, sha256 }]) => `${sha256} ${size} ${name}\n`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}

/** Whether `folder` has a `contents.json` that matches its `files`, with no file missing or added. */
async function isComplete(folder: string): Promise<boolean> {
  try {
    const wanted = JSON.parse(await readFile(join(folder, "contents.json"), "utf8")) as Contents;
    const found = await listContents(join(folder, "files"));
    const names = Object.keys(wanted);
    return (
      names.length > 0 &&
      names.length === Object.keys(found).length &&
      names.every((name) => found[name]?.sha256 === wanted[name]?.sha256)
    );
  } catch {
    return false;
  }
}

/** SHA-256 of a file, in hex. */
async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest("hex");
}

// A lock between processes of one machine: a file that names its holder. It avoids duplicate work; it must not protect
// anything that breaks when two processes hold it (an abandoned lock is taken over, and that can race).

const pollMs = 200;
/** A lock file without a holder is being written; if it is older than this, its writer died. */
const unnamedMaxMs = 5_000;
/** After this time a lock counts as abandoned: its holder's process id may have been reused by then. */
const heldMaxMs = 15 * 60_000;

/**
 * Runs `work` while no other process on the machine runs any under the same file. `waits` is called once if another process
 * has to be waited for.
 */
async function withLock<Result>(
  file: string,
  work: () => Promise<Result>,
  waits: (holder: number) => void = () => {},
): Promise<Result> {
  let isTold = false;
  while (!(await take(file))) {
    const holder = isTold ? 0 : await holderOf(file);
    if (holder > 0 && holder !== process.pid) {
      waits(holder);
      isTold = true;
    }
    await wait(pollMs);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function take(file: string): Promise<boolean> {
  try {
    const handle = await open(file, "wx");
    await handle.writeFile(String(process.pid));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (await isAbandoned(file)) await rm(file, { force: true });
    return false;
  }
}

async function isAbandoned(file: string): Promise<boolean> {
  try {
    const holder = Number(await readFile(file, "utf8"));
    const ageMs = Date.now() - (await stat(file)).mtimeMs;
    return holder > 0 ? !isRunning(holder) || ageMs > heldMaxMs : ageMs > unnamedMaxMs;
  } catch {
    return false;
  }
}

/** The holder's process id, or 0 where none is named. */
async function holderOf(file: string): Promise<number> {
  return Number(await readFile(file, "utf8").catch(() => "0"));
}

/** Whether a process with that id exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
