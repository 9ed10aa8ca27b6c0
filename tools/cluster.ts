// `npm run cluster`: two regions on this machine, with real engines and four nodes, to try out the behaviour of a cluster.
// Everything is below `.svc-cluster/` and is reused at the next start. Ctrl-C stops all of it.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type NodePlan, nodePlaces, planNodes } from "./cluster-nodes.ts";
import { type ClusterOptions, clusterHelp, parseClusterOptions, regionCount } from "./cluster-options.ts";
import { exitCodes, runTool } from "./command-line.ts";
import { assertFree } from "./engines/addresses.ts";
import {
  type EngineProcess,
  type Guard,
  startEngineProcess,
  startGuard,
  untilReady,
} from "./engines/engine-process.ts";
import { keepEngines } from "./engines/kept-engines.ts";
import { EngineUnavailable } from "./engines/maven.ts";
import { type EngineProfile, profilePlaces, startProfile } from "./engines/profiles.ts";
import { keepRunning } from "./keep-running.ts";
import { root } from "./process.ts";

const nodeStartMaxMs = 120_000;
const nodeGraceMs = 30_000;
/** Pause before an ended node is restarted: long enough to see the others continue without it. */
const restartMs = 15_000;
const restartMaxMs = 120_000;

// Once all is up, the first signal stops everything in order. Any other ends this process, and the guards end the rest.
let isUp = false;
const stopAsked = new Promise<void>((ask) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => (isUp ? ask() : process.exit(exitCodes.interrupted)));
  }
});
await runTool({ help: clusterHelp, run: (args) => runCluster(parseClusterOptions(args)) });

async function runCluster({ home: folder, fresh, base, portBase }: ClusterOptions): Promise<void> {
  // Before anything is removed or started: the ports may be in use by a cluster of the same folder.
  await assertFree(nodePlaces(portBase, regionCount), { who: "A node", instead: "another --port-base" });
  await assertFree(profilePlaces("regions", base), { who: "An engine", instead: "another --base" });
  if (fresh) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o755 });
  tell(
    "Starting two regions: a Cassandra data centre and an Elasticsearch each (the first time they are fetched) …",
  );
  await using engines = await startProfile("regions", {
    base,
    folder: join(folder, "engines"),
    progress: tell,
  }).catch(adviseOnEngines);
  const plans = planNodes({
    regions: regionsOf(engines),
    folder,
    portBase,
    replication: engines.replication,
    secret: await secretOf(folder),
  });
  const guard = startGuard();
  const running = new Map<string, EngineProcess>();
  const stop = new AbortController();
  const start = async (plan: NodePlan): Promise<EngineProcess> => {
    const node = launchNode(plan, guard);
    running.set(plan.name, node);
    await untilServing(plan, node);
    return node;
  };
  try {
    const nodes: EngineProcess[] = [];
    // One after another: the first one creates keys and tables, which the others find.
    for (const plan of plans) nodes.push(await start(plan));
    await tellHomes(plans);
    console.log(clusterTour({ nodes: plans, pids: nodes.map(({ pid }) => pid), engines }));
    for (const [index, plan] of plans.entries()) {
      const what = {
        name: `Node ${plan.name}`,
        start: () => start(plan),
        tell,
        restartMs,
        restartMaxMs,
        stop: stop.signal,
      };
      void keepRunning(nodes[index] as EngineProcess, what);
    }
    keepEngines(engines, { tell, stop: stop.signal });
    isUp = true;
    await stopAsked;
    tell("Stopping the nodes, then the engines …");
  } finally {
    stop.abort();
    await Promise.all([...running.values()].map((node) => node.stop(nodeGraceMs)));
    await guard.close();
  }
}

function tell(line: string): void {
  console.log(line);
}

function adviseOnEngines(error: unknown): never {
  if (!(error instanceof EngineUnavailable)) throw error;
  const advice = "A JDK 17, a JDK 21 to 25 and Maven are needed; or use compose.yaml.";
  throw new EngineUnavailable(`${error.message}.\n${advice}`);
}

function regionsOf({ cassandra, elastic }: EngineProfile) {
  return cassandra.map(({ address, dataCenter }) => ({
    region: dataCenter,
    cassandra: address,
    elastic: elastic.find(({ region }) => region === dataCenter)?.url ?? "",
  }));
}

/** Created once, so that nodes of an earlier start belong to the same cluster. */
async function secretOf(folder: string): Promise<string> {
  const file = join(folder, "secret");
  const made = randomBytes(32).toString("hex");
  await writeFile(file, made, { flag: "wx", mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return await readFile(file, "utf8");
}

function launchNode(plan: NodePlan, guard: Guard): EngineProcess {
  mkdirSync(plan.home, { recursive: true, mode: 0o700 });
  return startEngineProcess(
    {
      command: process.execPath,
      args: [join(root, "cli", "main.ts"), "start"],
      env: { ...process.env, ...plan.env },
      cwd: root,
      logFile: join(plan.home, "output.log"),
    },
    guard,
  );
}

async function untilServing(plan: NodePlan, node: EngineProcess): Promise<void> {
  const opsUrl = plan.urls.at(-1) ?? "";
  try {
    const isReady = (): Promise<boolean> => answersReady(opsUrl);
    await untilReady(node, { name: `Node ${plan.name}`, maxMs: nodeStartMaxMs, isReady });
  } catch (error) {
    await node.stop(0);
    throw error;
  }
  tell(`Node ${plan.name} serves`);
}

/** The first node fills the sandbox; its pushes are complete once both regions have them. */
async function untilSeeded({ home, name }: NodePlan): Promise<void> {
  const lateMs = performance.now() + nodeStartMaxMs;
  while (!existsSync(join(home, "sandbox.json"))) {
    if (performance.now() > lateMs) throw new Error(`Node ${name} has no samples: see its node.log.`);
    await delay(250);
  }
  tell("The samples are in");
}

/** Writes the sandbox into every node's home, with that node's addresses. */
async function tellHomes([first, ...others]: readonly NodePlan[]): Promise<void> {
  if (first === undefined) return;
  await untilSeeded(first);
  const text = await readFile(join(first.home, "sandbox.json"), "utf8");
  for (const { home, urls } of others) {
    let own = text;
    for (const [index, url] of first.urls.entries()) own = own.replaceAll(url, urls[index] ?? url);
    await writeFile(join(home, "sandbox.json"), own, { mode: 0o600 });
  }
}

async function answersReady(opsUrl: string): Promise<boolean> {
  try {
    const answer = await fetch(`${opsUrl}/readyz`);
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false;
  }
}

// What the local cluster prints about itself once it runs, and what to try.

export interface Tour {
  readonly nodes: readonly NodePlan[];
  /** Process ids, in the order of the nodes. */
  readonly pids: readonly number[];
  readonly engines: Pick<EngineProfile, "parts">;
}

/** The tour as lines for a terminal. */
function clusterTour({ nodes, pids, engines }: Tour): string {
  const [first] = nodes;
  const other = nodes.find((node) => node.region !== first?.region);
  const engine = engines.parts.at(-1);
  if (first === undefined || other === undefined || engine === undefined)
    throw new Error("The tour needs two regions.");
  const node = ({ name, urls }: NodePlan, index: number): string =>
    `  ${name}   ${urls[0] ?? ""} to …${urls.at(-1)?.split(":").at(-1)}   process ${pids[index]}`;
  return [
    "",
    "A cluster of two regions runs.",
    ...nodes.map(node),
    ...engines.parts.map(({ name, process }) => `  ${name}   process ${process().pid}`),
    "",
    "In another terminal, in the same folder, try:",
    "  the same search in either region",
    `    ${search(first)}`,
    `    ${search(other)}`,
    "  a push to one region, found in the other a moment later",
    `    npm run -s svc -- push loaf.csv --business 2 --home ${first.home}   (loaf.csv: see README.md)`,
    `  a crash: the other node of ${first.region} goes on within seconds, and this one is started again`,
    `    kill -9 ${pids[0]}`,
    `  an engine's crash: ${engine.name} is away for a while, and is started again too`,
    `    kill -9 ${engine.process().pid}`,
    "  who is there, as the second node sees it",
    `    curl -s ${nodes[1]?.urls.at(-1)}/ops/cluster`,
    "",
    "Ctrl-C stops everything; the next start goes on with what is there.",
  ].join("\n");
}

function search({ home }: NodePlan): string {
  return `npm run -s svc -- search products ideal cut --country US --sort price_amount:asc --home ${home}`;
}
