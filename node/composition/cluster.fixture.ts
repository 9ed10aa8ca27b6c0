// Real nodes on real engines: several processes per region, which a test kills, pauses, drains, partitions and restarts.
// Each test file has its own cluster: keyspace, cluster name, index names, keys and ports. For tests.
//   L1. Every node reaches the engines, and is reached by the others, over its own links, so that a test can cut each one.
//   L2. Everything that was started ends with the test's process, however that ends (tools/engines/guard.ts).

import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { nonceRef } from "../../actors/messages/refs.ts";
import { newCaller, type TestCaller } from "../../api/surfaces.fixture.ts";
import { placeOn } from "../../cluster/placement.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { createSigner } from "../../crypto/private-jwk.ts";
import { blindness } from "../../stories/regions/blind-node.fixture.ts";
import { TcpLink } from "../../stories/regions/tcp-link.fixture.ts";
import {
  type EngineProcess,
  type Guard,
  startEngineProcess,
  startGuard,
  untilReady,
} from "../../tools/engines/engine-process.ts";
import { dropTraces } from "../../tools/engines/traces.ts";
import type { EnginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { freePorts } from "../../tools/free-ports.ts";
import { root } from "../../tools/process.ts";
import { seededRandom } from "../../tools/seeded-random.ts";
import { FaultyProxy } from "../../transport/ws/faulty-proxy.fixture.ts";

export interface ClusterOptions {
  readonly engines: EnginesUnderTest;
  /** The number of nodes in each region, by the region's name. */
  readonly nodes: Readonly<Record<string, number>>;
  /** Further settings of every node; undefined for one that it must not have. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether the first node fills the sandbox with its samples (default: no). */
  readonly samples?: boolean;
  /** The nodes' program, relative to the project's root or absolute (default: `cli/main.ts`). */
  readonly program?: string;
  /** A cluster that is gone, in the place of which this one is: it has its name, and a copy of its keys in `keys`. */
  readonly restored?: { readonly name: string; readonly keys: string };
}

export interface NodeLinks {
  /** The link from all other nodes to this one. */
  readonly peers: FaultyProxy;
  readonly cassandra: TcpLink;
  readonly elastic: TcpLink;
}

export interface TestNode {
  /** The region and a letter, such as `eu-west1-a`. */
  readonly name: string;
  readonly region: string;
  readonly home: string;
  /** The folder of its keys, which is the whole cluster's. */
  readonly keys: string;
  readonly urls: Readonly<Record<(typeof surfaceNames)[number], string>>;
  /** The address at which other nodes find it; placement uses it. */
  readonly address: string;
  readonly links: NodeLinks;
  isRunning(): boolean;
  /** Starts or restarts it, from now on with `program` if one is given, and waits until it is ready. */
  start(program?: string): Promise<void>;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Blinds a node whose program is `stories/regions/blind-node.fixture.ts`; resolves once it is blind. */
  blind(): Promise<void>;
  /** Sends SIGTERM; resolves when the process is gone. Throws if it does not end on its own. */
  stop(): Promise<void>;
  isReady(): Promise<boolean>;
  /** Whether it is an active member with a lease, by its own account. */
  hasJoined(): Promise<boolean>;
  /** The token that its operators present. */
  opsToken(): Promise<string>;
  /** The values of its metrics by series, as /metrics writes them: `name` or `name{label="x"}`. */
  metrics(): Promise<ReadonlyMap<string, number>>;
  /** The end of its output. */
  logTail(): string;
}

export interface TestCluster extends AsyncDisposable {
  readonly engines: EnginesUnderTest;
  readonly name: string;
  readonly keyspace: string;
  /** The prefix of a region's index names. */
  indexPrefix(region: string): string;
  readonly nodes: readonly TestNode[];
  nodesOf(region: string): readonly TestNode[];
  node(name: string): TestNode;
  readonly keyStore: FileKeyStore;
  /** A key of a new business, or of a new AI company, with the grant that makes it known at its first request. */
  newBusiness(): Promise<PartyCaller>;
  newCompany(): Promise<PartyCaller>;
  /** A company whose nonces this node claims while all nodes of its region run. */
  newCompanyOf(node: TestNode): Promise<TestCaller>;
}

export interface PartyCaller extends TestCaller {
  readonly uuid: string;
}

const startMaxMs = 90_000;
const stopMaxMs = 30_000;
const surfaceNames = ["retrieval", "business", "verification", "tools", "ops", "portal"] as const;

/** Starts all nodes and waits until each is ready. */
export async function openCluster(options: ClusterOptions): Promise<TestCluster> {
  const { engines } = options;
  const name = options.restored?.name ?? `t${process.pid.toString(36)}${Date.now().toString(36)}`;
  const folder = await mkdtemp(join(tmpdir(), "svc-cluster-"));
  const guard = startGuard();
  guard.removeLater(folder);
  const keys = options.restored?.keys ?? join(folder, "keys");
  const common = { ...options, name, folder, keys, guard, secret: randomBytes(32).toString("hex") };
  const keyStore = await FileKeyStore.open(keys);
  const nodes: ClusterNode[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.close()));
    await dropTraces(engines, name);
    await guard.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  try {
    for (const [region, count] of Object.entries(options.nodes))
      for (let index = 0; index < count; index += 1)
        nodes.push(await ClusterNode.plan(common, region, index));
    // The first node creates keys and tables, which the others find.
    await nodes[0]?.start();
    await Promise.all(nodes.slice(1).map((node) => node.start()));
  } catch (error) {
    await close();
    throw error;
  }
  let parties = 0;
  const uuid = (): string => {
    parties += 1;
    return `00000000-0000-4000-8000-${String(parties).padStart(12, "0")}`;
  };
  const grantKey = async () => createSigner(await keyStore.loadOrCreate("grant", "Ed25519"));
  const newParty = async (role: "integration" | "retrieval"): Promise<PartyCaller> => {
    const of = uuid();
    return { ...(await newCaller(await grantKey(), role, of)), uuid: of };
  };
  const newCompany = () => newParty("retrieval");
  return {
    engines,
    name,
    keyspace: name,
    indexPrefix: (region) => `${name}-${region}-`,
    nodes,
    nodesOf: (region) => nodes.filter((node) => node.region === region),
    node: (wanted) => {
      const node = nodes.find((each) => each.name === wanted);
      if (node === undefined) throw new Error(`There is no node ${wanted}`);
      return node;
    },
    keyStore,
    newBusiness: () => newParty("integration"),
    newCompany,
    newCompanyOf: async (node) => {
      const nodesThere = nodes.filter((each) => each.region === node.region);
      for (;;) {
        const company = await newCompany();
        const { kind, id } = nonceRef(company.key.keyId, node.region);
        if (placeOn(`${kind}/${id}`, nodesThere) === node) return company;
      }
    },
    [Symbol.asyncDispose]: close,
  };
}

/** The seed of a test: SVC_TEST_SEED, or the default. It is printed, so that a failure can be reproduced. */
export function testSeed(
  test: string,
  fallback: number,
): { readonly seed: number; readonly random: () => number } {
  const seed = Number(process.env["SVC_TEST_SEED"] ?? fallback);
  console.log(`${test}: SVC_TEST_SEED=${seed}`);
  return { seed, random: seededRandom(seed) };
}

interface NodeParts extends ClusterOptions {
  readonly name: string;
  readonly folder: string;
  readonly keys: string;
  readonly guard: Guard;
  readonly secret: string;
}

interface NodePlace {
  readonly name: string;
  readonly region: string;
  readonly portBase: number;
  readonly listen: string;
  readonly links: NodeLinks;
}

class ClusterNode implements TestNode {
  readonly name: string;
  readonly region: string;
  readonly urls: TestNode["urls"];
  readonly links: NodeLinks;
  readonly home: string;
  readonly keys: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #guard: Guard;
  #program: string;
  #process: EngineProcess | null = null;

  private constructor(parts: NodeParts, place: NodePlace) {
    const { name, region, portBase, links } = place;
    this.name = name;
    this.region = region;
    this.links = links;
    this.#guard = parts.guard;
    this.#program = parts.program ?? join("cli", "main.ts");
    this.home = join(parts.folder, name);
    this.keys = parts.keys;
    this.urls = Object.fromEntries(
      surfaceNames.map((surface, index) => [surface, `http://127.0.0.1:${portBase + index}`]),
    ) as TestNode["urls"];
    this.#env = { ...inherited(), ...settings(parts, place, this.home), ...parts.env };
  }

  static async plan(parts: NodeParts, region: string, index: number): Promise<ClusterNode> {
    const { engines } = parts;
    const at = engines.regions.indexOf(region);
    const portBase = await freePorts(surfaceNames.length + 1);
    const listen = `127.0.0.1:${portBase + surfaceNames.length}`;
    const elastic = engines.elastic[at];
    if (elastic === undefined) throw new Error(`There are no engines of the region ${region}`);
    const links: NodeLinks = {
      peers: await FaultyProxy.open(listen),
      cassandra: await TcpLink.open(`${engines.cassandra[at] ?? ""}:9042`),
      elastic: await TcpLink.open(new URL(elastic).host),
    };
    const name = `${region}-${"abcdefgh"[index] ?? index}`;
    return new ClusterNode(parts, { name, region, portBase, listen, links });
  }

  get address(): string {
    return this.links.peers.address;
  }

  isRunning(): boolean {
    return this.#process !== null && !this.#process.hasEnded();
  }

  async start(program = this.#program): Promise<void> {
    if (this.isRunning()) throw new Error(`${this.name} runs already`);
    this.#program = program;
    await mkdir(this.home, { recursive: true, mode: 0o700 });
    this.#process = startEngineProcess(
      {
        command: process.execPath,
        args: [resolve(root, this.#program), "start"],
        env: this.#env,
        cwd: root,
        logFile: join(this.home, "output.log"),
      },
      this.#guard,
    );
    const isReady = (): Promise<boolean> => this.isReady();
    await untilReady(this.#process, { name: `Node ${this.name}`, maxMs: startMaxMs, isReady });
  }

  async kill(): Promise<void> {
    const running = this.#running();
    running.signal("SIGKILL");
    await running.ended;
  }

  pause(): void {
    this.#running().signal("SIGSTOP");
  }

  resume(): void {
    this.#running().signal("SIGCONT");
  }

  async blind(): Promise<void> {
    const running = this.#running();
    running.signal("SIGUSR2");
    await untilReady(running, {
      name: `Node ${this.name}, to be blind,`,
      maxMs: stopMaxMs,
      isReady: async () => running.logTail().includes(blindness),
    });
  }

  async stop(): Promise<void> {
    const running = this.#running();
    running.signal("SIGTERM");
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`${this.name} does not end:\n${this.logTail()}`)),
      stopMaxMs,
    );
    try {
      await Promise.race([running.ended, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async isReady(): Promise<boolean> {
    try {
      const answer = await fetch(`${this.urls.ops}/readyz`, { signal: AbortSignal.timeout(2_000) });
      await answer.body?.cancel();
      return answer.status === 200;
    } catch {
      return false;
    }
  }

  async opsToken(): Promise<string> {
    return (await readFile(join(this.home, "ops-token"), "utf8")).trim();
  }

  async hasJoined(): Promise<boolean> {
    const answer = await fetch(`${this.urls.ops}/ops/cluster`);
    const state = (await answer.json()) as {
      readonly self: { readonly state: string } | null;
      readonly holds_lease: boolean;
    };
    return state.self?.state === "active" && state.holds_lease;
  }

  async metrics(): Promise<ReadonlyMap<string, number>> {
    const answer = await fetch(`${this.urls.ops}/metrics`);
    const lines = (await answer.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return new Map(
      lines.map((line) => {
        const space = line.lastIndexOf(" ");
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
    );
  }

  logTail(): string {
    return this.#process?.logTail() ?? "";
  }

  async close(): Promise<void> {
    if (this.isRunning()) await this.#process?.stop(0);
    for (const link of Object.values(this.links)) await link[Symbol.asyncDispose]();
  }

  #running(): EngineProcess {
    if (this.#process === null || this.#process.hasEnded()) throw new Error(`${this.name} does not run`);
    return this.#process;
  }
}

/** The environment of this process, without the test runner's variables and the settings of a node; compiled code is kept. */
function inherited(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SVC_|VITEST|NODE_(?!COMPILE_CACHE$))/.test(name)),
  );
}

function settings(
  { engines, name, keys, secret, nodes, samples }: NodeParts,
  place: NodePlace,
  home: string,
): Readonly<Record<string, string>> {
  const regions = Object.keys(nodes);
  return {
    SVC_STORE: "cassandra",
    SVC_ENVIRONMENT: "sandbox",
    SVC_CLUSTER_NAME: name,
    SVC_CLUSTER_SECRET: secret,
    SVC_REGION: place.region,
    SVC_REGIONS: regions.join(","),
    SVC_CASSANDRA: place.links.cassandra.address,
    SVC_CASSANDRA_KEYSPACE: name,
    SVC_CASSANDRA_REPLICATION: regions.map((each) => `${each}:${engines.replication}`).join(","),
    SVC_ELASTICSEARCH: `http://${place.links.elastic.address}`,
    SVC_NODE_LISTEN: place.listen,
    SVC_NODE_ADDRESS: place.links.peers.address,
    SVC_PORT_BASE: String(place.portBase),
    SVC_HOME: home,
    SVC_KEYS: keys,
    SVC_SAMPLES: samples === true && place.name === `${regions[0]}-a` ? "yes" : "no",
    // The tests are about what nodes survive, not about how much one caller may ask of them.
    SVC_KEY_REQUESTS_PER_SECOND: "0",
    SVC_KEY_QUERY_COST_PER_MINUTE: "0",
    SVC_ADDRESS_CONNECTIONS_MAX: "0",
    SVC_LOG_TO: "stdout",
    SVC_LOG_LEVEL: "warn",
    NO_COLOR: "1",
  };
}
