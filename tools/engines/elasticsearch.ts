// An Elasticsearch node as a local process: a single-node cluster, without security, on loopback only.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, chown, copyFile, link, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type EngineProcess, type Guard, startEngineProcess, untilReady } from "./engine-process.ts";
import type { Host } from "./host.ts";
import { elasticsearchDistribution } from "./jdk.ts";
import { EngineUnavailable, findCommand, provide } from "./maven.ts";

export interface ElasticsearchPlan {
  readonly address: string;
  readonly httpPort: number;
  readonly transportPort: number;
  readonly clusterName: string;
  /** Folder for its data, configuration and log; created if needed. Starting on an existing one keeps its data. */
  readonly folder: string;
  readonly heapMb: number;
  /** Java's options besides the heap; by default those that start fast and need little. */
  readonly javaOptions?: string;
}

const sparingOptions = "-XX:+UseSerialGC -XX:-UseG1GC -XX:TieredStopAtLevel=1";

export interface RunningElasticsearch {
  /** `http://address:port`, without a trailing slash. */
  readonly url: string;
  readonly process: EngineProcess;
}

const ownFolders = ["conf", "data", "logs", "tmp"] as const;
const startMaxMs = 300_000;

/** Starts a node and waits until its cluster accepts writes. */
export async function startElasticsearch(
  plan: ElasticsearchPlan,
  {
    host,
    guard,
    tell,
  }: { readonly host: Host; readonly guard: Guard; readonly tell?: (line: string) => void },
): Promise<RunningElasticsearch> {
  const runnable = await provide(elasticsearchDistribution, host, tell);
  const account = host.isRoot ? otherAccount(host) : null;
  const folder = account === null ? plan.folder : await reachableFolder(plan.folder, host);
  const conf = join(folder, "conf");
  for (const name of ownFolders) await mkdir(join(folder, name), { recursive: true });
  await copyFile(join(runnable.folder, "config", "log4j2.properties"), join(conf, "log4j2.properties"));
  await copyFile(join(runnable.folder, "config", "jvm.options"), join(conf, "jvm.options"));
  await writeFile(join(conf, "elasticsearch.yml"), elasticsearchYml({ ...plan, folder }));
  let home = runnable.folder;
  if (account !== null) {
    home = join(folder, "home");
    await linkTree(runnable.folder, home);
    await giveTo(folder, account);
  }
  const start = [join(home, "bin", "elasticsearch")];
  const [command = "", ...args] = [...(account?.command ?? []), "bash", ...start];
  const process = startEngineProcess(
    {
      command,
      args,
      env: {
        ...host.inherited,
        ES_JAVA_HOME: runnable.javaHome,
        ES_PATH_CONF: conf,
        ES_TMPDIR: join(folder, "tmp"),
        ES_JAVA_OPTS: `-Xms${plan.heapMb}m -Xmx${plan.heapMb}m ${plan.javaOptions ?? sparingOptions} -Xlog:disable`,
      },
      cwd: folder,
      logFile: join(folder, "elasticsearch.log"),
    },
    guard,
  );
  const url = elasticUrlOf(plan);
  try {
    const isReady = (): Promise<boolean> => takesWrites(url);
    await untilReady(process, { name: `Elasticsearch at ${url}`, maxMs: startMaxMs, isReady });
  } catch (error) {
    await process.stop(0);
    throw error;
  }
  return { url, process };
}

/** Where it answers: `http://address:port`, without a trailing slash. */
export function elasticUrlOf({ address, httpPort }: Pick<ElasticsearchPlan, "address" | "httpPort">): string {
  return `http://${address}:${httpPort}`;
}

/** Whether its cluster is there and takes writes. */
export async function takesWrites(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/_cluster/health?wait_for_status=yellow&timeout=1s`);
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}

/** The whole configuration; anything not named keeps Elasticsearch's own default. */
export function elasticsearchYml(plan: ElasticsearchPlan): string {
  return `cluster.name: ${plan.clusterName}
node.name: ${plan.clusterName}-1
network.host: ${plan.address}
http.port: ${plan.httpPort}
transport.port: ${plan.transportPort}
discovery.type: single-node
xpack.security.enabled: false
path.data: ${JSON.stringify(join(plan.folder, "data"))}
path.logs: ${JSON.stringify(join(plan.folder, "logs"))}
node.store.allow_mmap: false
cluster.routing.allocation.disk.threshold_enabled: false
`;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
  /** Command prefix that runs the rest under the account. */
  readonly command: readonly string[];
}

/** Elasticsearch refuses to run as the superuser, so it then runs as `nobody`. */
function otherAccount(host: Host): Account {
  const setpriv = findCommand(host, "setpriv");
  const uid = idOf("-u");
  const gid = idOf("-g");
  if (setpriv === null || uid === null || gid === null) {
    throw new EngineUnavailable(
      "elasticsearch does not run as root, and there is no setpriv or no account nobody",
    );
  }
  return { uid, gid, command: [setpriv, `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"] };
}

function idOf(flag: "-u" | "-g"): number | null {
  const { status, stdout } = spawnSync("id", [flag, "nobody"], { encoding: "utf8" });
  return status === 0 ? Number(stdout) : null;
}

/**
 * Another account may not have access to the superuser's folders. In that case a folder among the temporary ones is used
 * instead, with the same name each time.
 */
async function reachableFolder(folder: string, host: Host): Promise<string> {
  await mkdir(folder, { recursive: true });
  if (dirname(dirname(folder)) === host.scratchFolder) await chmod(dirname(folder), 0o755);
  for (let above = dirname(folder); above !== dirname(above); above = dirname(above)) {
    if (((await stat(above)).mode & 0o001) === 0) {
      const name = createHash("sha256").update(folder).digest("hex").slice(0, 16);
      return join(host.temporaryFolder, `svc-elasticsearch-${name}`);
    }
  }
  return folder;
}

/** Other accounts cannot read the superuser's cache: they get hard links to the same files, or copies. */
async function linkTree(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await linkTree(source, target);
    else await link(source, target).catch(() => copyFile(source, target));
  }
}

async function giveTo(folder: string, { uid, gid }: Account): Promise<void> {
  await chmod(folder, 0o755);
  for (const name of ownFolders) {
    const below = await readdir(join(folder, name), { recursive: true });
    for (const path of [".", ...below]) await chown(join(folder, name, path), uid, gid);
  }
}
