// Engines from Maven Central, fetched with Maven and kept in a cache outside the clone.
//   C1. A folder of the cache is either complete or not used: it appears by one rename, and each use compares it with
//       the list of its files, their sizes and hashes. A folder that does not match is fetched again.
//   C2. Several processes may request the same engine at once: one fetches, the others wait; if two fetch anyway, the
//       first rename wins and both use its folder.
//   C3. The engine's own file has the SHA-256 that this project pins, and so has the list of all files that came with it:
//       neither the repository's own statements nor Maven's plug-ins are relied on.

import { accessSync, constants } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "../process.ts";
import { type Contents, digestOf, hashFile, isComplete, listContents } from "./contents.ts";
import type { Distribution } from "./distributions.ts";
import { type FetchReport, reportFetch } from "./fetch-report.ts";
import type { Host } from "./host.ts";
import { chooseJdk, findJdks } from "./jdk.ts";
import { withLock } from "./lock.ts";
import { MavenProgress } from "./maven-progress.ts";

const pluginVersion = "3.8.1";
const plugin = `org.apache.maven.plugins:maven-dependency-plugin:${pluginVersion}`;
const outputMax = 4_000;
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
  const report = reportFetch(`${distribution.name} ${distribution.version}`, {
    tell,
    isWatched: host.isWatched,
  });
  try {
    const files = join(staging, "files");
    await mkdir(files);
    const commands = { mvn, env: { ...host.inherited, JAVA_HOME: javaHome }, report };
    if (distribution.form === "jars") await fetchJars(staging, distribution, commands);
    else await fetchZip(staging, distribution, { ...commands, javaHome });
    const contents = await listContents(files);
    checkContents(contents, distribution);
    await writeFile(join(staging, "contents.json"), JSON.stringify(contents));
    await publish(staging, folder);
    report.done();
  } finally {
    report.stop();
    await rm(staging, { recursive: true, force: true });
  }
}

interface Commands {
  readonly mvn: string;
  readonly env: NodeJS.ProcessEnv;
  readonly report: FetchReport;
}

async function fetchJars(
  staging: string,
  distribution: Distribution,
  { mvn, env, report }: Commands,
): Promise<void> {
  const pom = join(staging, "pom.xml");
  await writeFile(pom, pomOf(distribution));
  const files = join(staging, "files");
  const goal = `${plugin}:copy-dependencies`;
  await runMaven(mvn, [...plain, "-f", pom, goal, "-DincludeScope=runtime", `-DoutputDirectory=${files}`], {
    env,
    cwd: staging,
    report,
  });
  await checkPinned(join(files, distribution.file), distribution);
}

async function fetchZip(
  staging: string,
  distribution: Distribution,
  { mvn, env, report, javaHome }: Commands & { readonly javaHome: string },
): Promise<void> {
  const download = join(staging, "download");
  await mkdir(download);
  await runMaven(
    mvn,
    [...plain, `${plugin}:copy`, `-Dartifact=${distribution.artifact}`, `-DoutputDirectory=${download}`],
    { env, cwd: staging, report },
  );
  const zip = join(download, distribution.file);
  await checkPinned(zip, distribution);
  report.phase("unpacking");
  await runQuietly(join(javaHome, "bin", "jar"), ["--extract", "--file", zip], { env, cwd: download });
  const [top] = (await readdir(download, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  if (top === undefined) throw new Error(`${distribution.file} holds no folder`);
  const files = join(staging, "files");
  await rm(files, { recursive: true });
  await rename(join(download, top.name), files);
}

/**
 * A checksum that the repository does not serve fails nothing, because the pins decide (C3). Maven is not put into batch mode,
 * although its input is closed, because in batch mode it reports no progress within a file.
 */
const plain = ["-Dstyle.color=never", "--lax-checksums"];

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
async function runMaven(
  command: string,
  args: readonly string[],
  {
    env,
    cwd,
    report,
  }: { readonly env: NodeJS.ProcessEnv; readonly cwd: string; readonly report: FetchReport },
): Promise<void> {
  const progress = new MavenProgress();
  report.phase(() => progress.text());
  try {
    await runQuietly(command, args, { env, cwd, read: (chunk) => progress.take(chunk) });
  } catch (error) {
    throw new EngineUnavailable(`Maven could not fetch it: ${(error as Error).message}`);
  }
}

async function runQuietly(
  command: string,
  args: readonly string[],
  {
    env,
    cwd,
    read = (chunk) => chunk,
  }: {
    readonly env: NodeJS.ProcessEnv;
    readonly cwd: string;
    /** Returns the part of the output that may explain a failure. */
    readonly read?: (chunk: string) => string;
  },
): Promise<void> {
  const { code, output } = await run(command, args, { env, cwd, keep: read, outputMax });
  if (code !== 0) throw new Error(`${command}: exit code ${code}\n${output}`);
}
