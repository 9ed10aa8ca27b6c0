// Sets of real engines on which tests and the local cluster run.
//   one      one region: one Cassandra node, one Elasticsearch.
//   regions  two regions: each with a Cassandra data centre of one node and an Elasticsearch.
//   quorum   one region: three Cassandra nodes, so that any one may fail; one Elasticsearch.
// Invariants:
//   P1. Everything that a profile started is gone after `stop`, and after the end of this process however it ends.
//   P2. Two profiles can run side by side on different base addresses.
//   P3. A profile is ready when every Cassandra node, as coordinator, has read from all nodes.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { types } from "cassandra-driver";
import { assertFree, freeBase, neighbour } from "./addresses.ts";
import {
  answersCql,
  type CassandraPlan,
  cassandraPackages,
  cassandraPorts,
  createCqlClient,
  jmxPort,
  type RunningCassandra,
  startCassandra,
} from "./cassandra.ts";
import {
  type ElasticsearchPlan,
  elasticUrlOf,
  type RunningElasticsearch,
  startElasticsearch,
  takesWrites,
} from "./elasticsearch.ts";
import { type EngineProcess, type Guard, startGuard } from "./engine-process.ts";
import { type Host, readHost } from "./host.ts";
import { cassandraDistribution } from "./jdk.ts";
import { provide } from "./maven.ts";

// Whether the Cassandra nodes of a profile reach each other: answering CQL alone does not prove it.

type Place = Pick<CassandraPlan, "address" | "dataCenter">;

const keyspace = "svc_engines";
const meshMaxMs = 300_000;
const pollMs = 250;

/** Resolves once every node of `nodes`, as coordinator, has read rows that all of them hold. */
async function untilMeshed(nodes: readonly Place[]): Promise<void> {
  const lastMs = performance.now() + meshMaxMs;
  const [first] = nodes;
  if (first === undefined) return;
  const retry = async (work: () => Promise<void>): Promise<void> => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (performance.now() > lastMs) throw error;
        await wait(pollMs);
      }
    }
  };
  await retry(() => prepare(first, nodes));
  const read = `SELECT id FROM ${keyspace}.mesh WHERE id = 1`;
  for (const node of nodes) await retry(() => asCoordinator(node, (run) => run(read)));
}

async function prepare(node: Place, nodes: readonly Place[]): Promise<void> {
  const copies = new Map<string, number>();
  for (const { dataCenter } of nodes) copies.set(dataCenter, (copies.get(dataCenter) ?? 0) + 1);
  const places = [...copies].map(([dataCenter, count]) => `'${dataCenter}': ${count}`).join(", ");
  const replication = `{'class': 'NetworkTopologyStrategy', ${places}}`;
  await asCoordinator(node, async (run) => {
    await run(`CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = ${replication}`);
    await run(`ALTER KEYSPACE ${keyspace} WITH replication = ${replication}`);
    await run(`CREATE TABLE IF NOT EXISTS ${keyspace}.mesh (id int PRIMARY KEY)`);
  });
}

async function asCoordinator(
  node: Place,
  work: (run: (cql: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const client = createCqlClient(node);
  try {
    await client.connect();
    await work(async (cql) => {
      await client.execute(cql, [], { consistency: types.consistencies.all });
    });
  } finally {
    await client.shutdown();
  }
}

export type ProfileName = "one" | "regions" | "quorum";

interface ProfileShape {
  /** Data centre of each Cassandra node. */
  readonly cassandra: readonly string[];
  readonly elastic: readonly string[];
  readonly replication: number;
}

const shapes: Readonly<Record<ProfileName, ProfileShape>> = {
  one: { cassandra: ["eu-west1"], elastic: ["eu-west1"], replication: 1 },
  regions: { cassandra: ["eu-west1", "us-east1"], elastic: ["eu-west1", "us-east1"], replication: 1 },
  quorum: { cassandra: ["eu-west1", "eu-west1", "eu-west1"], elastic: ["eu-west1"], replication: 3 },
};

export const profileNames = Object.keys(shapes) as readonly ProfileName[];

/** Engines are counted from 0, in the order of the profile. Each call resolves once its effect is in place. */
export interface EngineFaults {
  /** Kills the node (kill -9); its data stays. */
  killCassandra(index: number): Promise<void>;
  /** Resolves once it answers, and all running nodes reach each other. */
  startCassandra(index: number): Promise<void>;
  /** Suspends the node with its connections open, like a machine that swaps or is suspended. */
  pauseCassandra(index: number): Promise<void>;
  /** Resolves once all running nodes reach each other. */
  resumeCassandra(index: number): Promise<void>;
  /** Writes all tables to files and then merges the files of each, as an operator does with `nodetool flush` and `compact`. */
  compactCassandra(index: number): Promise<void>;
  killElastic(index: number): Promise<void>;
  startElastic(index: number): Promise<void>;
  pauseElastic(index: number): Promise<void>;
  resumeElastic(index: number): Promise<void>;
}

export interface EnginePart {
  readonly name: string;
  /** The process that is running now, or ran last. */
  process(): EngineProcess;
  /** Why it does not answer, for people, with the end of its log; null if it answers. */
  silence(): Promise<string | null>;
  /** Restarts it with its data after it ended; resolves once it answers. */
  start(): Promise<EngineProcess>;
}

export interface EngineProfile extends EngineFaults, AsyncDisposable {
  readonly name: ProfileName;
  readonly cassandra: readonly { readonly address: string; readonly dataCenter: string }[];
  readonly elastic: readonly { readonly url: string; readonly region: string }[];
  /** Each engine as a process: the Cassandra nodes first, in the order of the profile. */
  readonly parts: readonly EnginePart[];
  /** Replication factor per data centre that a keyspace should ask for. */
  readonly replication: number;
  /** How tests find the engines: `SVC_TEST_PROFILE`, `SVC_TEST_CASSANDRA`, `SVC_TEST_ELASTIC`, `SVC_TEST_REGIONS`, … */
  readonly env: Readonly<Record<string, string>>;
  /** Ends all engines; removes the folder if it was not given. */
  stop(): Promise<void>;
}

export interface ProfileOptions {
  /** Loopback address of the first Cassandra node; the others follow it. By default a free range is chosen. */
  readonly base?: string;
  /** Where data and logs are kept between runs; by default a new folder that is removed with the profile. */
  readonly folder?: string;
  readonly cassandraHeapMb?: number;
  readonly elasticHeapMb?: number;
  readonly host?: Host;
  readonly progress?: (line: string) => void;
}

/** Starts all engines of a profile. Where the machine cannot run them, throws `EngineUnavailable` and leaves nothing. */
export async function startProfile(name: ProfileName, options: ProfileOptions = {}): Promise<EngineProfile> {
  const host = options.host ?? readHost();
  const shape = shapes[name];
  const temporary = options.folder === undefined;
  const folder = options.folder ?? (await mkdtemp(join(host.scratchFolder, "svc-engines-")));
  await mkdir(folder, { recursive: true });
  const base = options.base ?? (await freeBase(host.platform));
  const plans = planProfile(shape, { folder, base, options });
  const guard = startGuard();
  if (temporary) guard.removeLater(folder);
  const running = new Running(plans, { host, guard, tell: options.progress ?? (() => {}) });
  const stop = async (): Promise<void> => {
    await running.stop(temporary ? 0 : keptGraceMs);
    await guard.close();
    if (temporary) await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    await assertFree(placesOf(plans));
    await running.start();
  } catch (error) {
    await stop();
    throw error;
  }
  const cassandra = plans.cassandra.map(({ address, dataCenter }) => ({ address, dataCenter }));
  const elastic = plans.elastic.map((plan, index) => ({
    url: elasticUrlOf(plan),
    region: shape.elastic[index] ?? "",
  }));
  return {
    name,
    cassandra,
    elastic,
    parts: running.parts(),
    replication: shape.replication,
    env: {
      SVC_TEST_PROFILE: name,
      SVC_TEST_CASSANDRA: cassandra.map(({ address }) => address).join(","),
      SVC_TEST_ELASTIC: elastic.map(({ url }) => url).join(","),
      SVC_TEST_REGIONS: shape.elastic.join(","),
      SVC_TEST_REPLICATION: String(shape.replication),
    },
    ...running.faults,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Where the engines of a profile listen. */
export function profilePlaces(name: ProfileName, base: string) {
  return placesOf(planProfile(shapes[name], { folder: "", base, options: {} }));
}

interface Plans {
  readonly cassandra: readonly CassandraPlan[];
  readonly elastic: readonly ElasticsearchPlan[];
}

const httpPort = 9200;
const transportPort = 9300;

function planProfile(
  shape: ProfileShape,
  {
    folder,
    base,
    options,
  }: { readonly folder: string; readonly base: string; readonly options: ProfileOptions },
): Plans {
  const ring = shape.cassandra.map((_, index) => neighbour(base, index));
  return {
    cassandra: shape.cassandra.map((dataCenter, index) => ({
      address: neighbour(base, index),
      dataCenter,
      ring,
      seeds: ring,
      folder: join(folder, `cassandra-${index}`),
      heapMb: options.cassandraHeapMb ?? 512,
    })),
    elastic: shape.elastic.map((region, index) => ({
      address: base,
      httpPort: httpPort + index,
      transportPort: transportPort + index,
      clusterName: `svc-${region}`,
      folder: join(folder, `elasticsearch-${index}`),
      heapMb: options.elasticHeapMb ?? 512,
    })),
  };
}

function placesOf({ cassandra, elastic }: Plans) {
  return [
    ...cassandra.flatMap(({ address }) => cassandraPorts.map((port) => ({ address, port }))),
    ...elastic.flatMap(({ address, httpPort: http, transportPort: transport }) =>
      [http, transport].map((port) => ({ address, port })),
    ),
  ];
}

/** Grace period for engines whose data is kept; others have nothing to lose. */
const keptGraceMs = 20_000;

interface RunningTools {
  readonly host: Host;
  readonly guard: Guard;
  readonly tell: (line: string) => void;
}

/** The processes of one profile. */
class Running {
  readonly faults: EngineFaults;
  readonly #plans: Plans;
  readonly #with: RunningTools;
  readonly #cassandra = new Map<number, RunningCassandra>();
  readonly #elastic = new Map<number, RunningElasticsearch>();

  constructor(plans: Plans, tools: RunningTools) {
    this.#plans = plans;
    this.#with = tools;
    const cassandraOf = (index: number) => processOf(this.#cassandra.get(index), `Cassandra ${index}`);
    const elasticOf = (index: number) => processOf(this.#elastic.get(index), `Elasticsearch ${index}`);
    this.faults = {
      killCassandra: (index) => kill(this.#cassandra, index),
      startCassandra: (index) => this.#restartCassandra(index),
      pauseCassandra: async (index) => cassandraOf(index).signal("SIGSTOP"),
      resumeCassandra: async (index) => {
        cassandraOf(index).signal("SIGCONT");
        await this.#untilMeshed();
      },
      compactCassandra: (index) => this.#compactCassandra(index),
      killElastic: (index) => kill(this.#elastic, index),
      startElastic: (index) => this.#startElastic(index),
      pauseElastic: async (index) => elasticOf(index).signal("SIGSTOP"),
      resumeElastic: async (index) => elasticOf(index).signal("SIGCONT"),
    };
  }

  async start(): Promise<void> {
    const tell = async (line: string, work: Promise<void>): Promise<void> => {
      await work;
      this.#with.tell(line);
    };
    // The first start to need a distribution fetches it; all engines start at the same time.
    const starts = [
      ...this.#plans.cassandra.map((plan, index) =>
        tell(`Cassandra ${plan.address} (${plan.dataCenter}) answers`, this.#startCassandra(index)),
      ),
      ...this.#plans.elastic.map((plan, index) =>
        tell(`Elasticsearch ${plan.address}:${plan.httpPort} answers`, this.#startElastic(index)),
      ),
    ];
    const failed = (await Promise.allSettled(starts)).find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    await this.#untilMeshed();
  }

  parts(): readonly EnginePart[] {
    const { cassandra, elastic } = this.#plans;
    const part = (
      name: string,
      known: () => { readonly process: EngineProcess } | undefined,
      { answers, start }: { readonly answers: () => Promise<boolean>; readonly start: () => Promise<void> },
    ): EnginePart => ({
      name,
      process: () => processOf(known(), name),
      silence: async () => {
        const last = known()?.process;
        if (last === undefined) return `${name} was killed and not started again.`;
        if (!last.hasEnded() && (await answers())) return null;
        return `${name} ${last.hasEnded() ? "has ended" : "does not answer"}. The end of its log:\n${last.logTail()}`;
      },
      start: async () => {
        // A killed launcher may have left its engine running, which still holds the data and the address.
        known()?.process.signal("SIGKILL");
        await start();
        return processOf(known(), name);
      },
    });
    return [
      ...cassandra.map((plan, index) =>
        part(`Cassandra ${plan.address} (${plan.dataCenter})`, () => this.#cassandra.get(index), {
          answers: () => answersCql(plan),
          start: () => this.#startCassandra(index),
        }),
      ),
      ...elastic.map((plan, index) =>
        part(
          `Elasticsearch ${plan.address}:${plan.httpPort} (${plan.clusterName})`,
          () => this.#elastic.get(index),
          {
            answers: () => takesWrites(elasticUrlOf(plan)),
            start: () => this.#startElastic(index),
          },
        ),
      ),
    ];
  }

  async stop(graceMs: number): Promise<void> {
    const all = [...this.#elastic.values(), ...this.#cassandra.values()];
    await Promise.all(all.map(({ process }) => process.stop(graceMs)));
  }

  async #startCassandra(index: number): Promise<void> {
    const plan = this.#plans.cassandra[index];
    if (plan === undefined) throw new Error(`There is no Cassandra ${index}`);
    this.#cassandra.set(index, await startCassandra(plan, this.#with));
  }

  async #restartCassandra(index: number): Promise<void> {
    await this.#startCassandra(index);
    await this.#untilMeshed();
  }

  async #compactCassandra(index: number): Promise<void> {
    const plan = this.#plans.cassandra[index];
    if (plan === undefined) throw new Error(`There is no Cassandra ${index}`);
    for (const command of ["flush", "compact"]) await nodetool(plan, this.#with.host, [command]);
  }

  #untilMeshed(): Promise<void> {
    return untilMeshed(this.#plans.cassandra.filter((_, each) => this.#cassandra.has(each)));
  }

  async #startElastic(index: number): Promise<void> {
    const plan = this.#plans.elastic[index];
    if (plan === undefined) throw new Error(`There is no Elasticsearch ${index}`);
    this.#elastic.set(index, await startElasticsearch(plan, this.#with));
  }
}

function processOf(engine: { readonly process: EngineProcess } | undefined, name: string): EngineProcess {
  if (engine === undefined) throw new Error(`${name} does not run`);
  return engine.process;
}

async function kill(engines: Map<number, { readonly process: EngineProcess }>, index: number): Promise<void> {
  const process = processOf(engines.get(index), `Engine ${index}`);
  process.signal("SIGKILL");
  await process.ended;
  engines.delete(index);
}

// Cassandra's own commands for operators, as its documents describe them.

/** The command that runs `nodetool` against a node; what it is to do follows as further arguments. */
export async function nodetoolCommand(
  { address, folder }: Pick<CassandraPlan, "address" | "folder">,
  host: Host,
): Promise<readonly [command: string, ...args: string[]]> {
  const runnable = await provide(cassandraDistribution, host);
  return [
    join(runnable.javaHome, "bin", "java"),
    // It notes what it was asked below the home folder.
    `-Duser.home=${join(folder, "tmp")}`,
    "-XX:TieredStopAtLevel=1",
    "-Xmx64m",
    ...cassandraPackages,
    "-cp",
    [join(folder, "conf"), join(runnable.folder, "*")].join(delimiter),
    "org.apache.cassandra.tools.NodeTool",
    "-h",
    address,
    "-p",
    String(jmxPort),
  ];
}

/** Runs `nodetool` against a node and returns what it printed. Rejects with its output where it fails. */
async function nodetool(
  plan: Pick<CassandraPlan, "address" | "folder">,
  host: Host,
  order: readonly string[],
): Promise<string> {
  const [command, ...args] = await nodetoolCommand(plan, host);
  const { stdout } = await promisify(execFile)(command, [...args, ...order], {
    env: host.inherited,
    maxBuffer: 1 << 20,
  });
  return stdout;
}
