// Pushes many stones while the node and the pushing program are killed (kill -9) at seeded moments, and then proves that
// every stone is live once, in its first generation, found by search and verifiable offline.
// Usage: node tools/run.mjs tools/push-crash.ts [--csv CSV[.gz]] [--stones N] [--kills N] [--seed N] [--batch-size N | --file]
//   C1. Every kill really happens during the push: after the last one the service still reports records that are not settled.
//       A push that was finished earlier is a failure of this check.
//   C2. The proof reads the stores of the node itself after it was stopped, and relies on nothing that was reported.

import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { evidenceOf, verifyEvidenceFile } from "../client/evidence.ts";
import { recordBytes } from "../client/record-set.ts";
import { createSvcClient, type SvcClient } from "../client/service-client.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import { openNodeServices } from "../node/composition/services.ts";
import { loadConfig } from "../node/configuration/config.ts";
import { sampleBusinesses, trialBusinesses } from "../node/sandbox/businesses.ts";
import { diamondProduct, parseStones } from "../node/sandbox/diamonds.ts";
import { calendarFrom } from "../node/sandbox/sample.ts";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { equalBytes, hashOf } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { freePorts, surfacePorts } from "./free-ports.ts";
import { root, startProcess } from "./process.ts";
import { seededRandom } from "./seeded-random.ts";

// The two programs of the crash check, as processes that can be watched and killed: a node, and `svc push`.

export interface Place {
  readonly home: string;
  readonly portBase: number;
  /** Settings besides those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Run {
  hasEnded(): boolean;
  /** Kills it (kill -9), and waits until it is gone. */
  kill(): Promise<void>;
  output(): string;
}

export interface NodeRun extends Run {
  /** Asks it to end, and waits until it did. */
  stop(): Promise<void>;
}

interface ProgramRun extends Run {
  /** Exit code; null after a kill. */
  readonly ended: Promise<number | null>;
  eventCount(): number;
  /** Whether an event after the first `count` says that records of a batch were still to be settled. */
  wasUnsettledAfter(count: number): boolean;
  lastEvent(): string;
  /** Resolves once `count` events were reported, or the program ended. */
  events(count: number): Promise<void>;
  /** Resolves once an event of a type was reported after the first `count`, or the program ended. */
  event(type: string, count: number): Promise<void>;
}

const program = join(root, "cli", "main.ts");
const outputMax = 20_000;

/** Resolves once the node reports that it runs, which is after its samples are in, if it has any. Rejects when it ends before. */
export async function startNode({ home, portBase, env = {} }: Place): Promise<NodeRun> {
  const args = ["start", "--home", home, "--port-base", String(portBase)];
  const run = watch([program, ...args], env);
  await run.until(() => /A (?:sandbox )?node is running/.test(run.output()) || run.hasEnded());
  if (run.hasEnded()) throw new Error(`The node did not start: ${run.output()}`);
  return {
    ...run,
    stop: async () => {
      run.signal("SIGTERM");
      await run.ended;
    },
  };
}

function startPush(
  options: Place & { readonly file: string; readonly batchSize: number | null },
): ProgramRun {
  const batches = options.batchSize === null ? [] : ["--batch-size", String(options.batchSize)];
  const run = watch([program, "push", options.file, "--home", options.home, ...batches, "--json"]);
  // What it plans to send is told before anything is, and is no event of the push.
  const told = (): readonly string[] =>
    run.lines().filter((line) => /^{"type":"(?!push\.planned)/.test(line));
  return {
    ...run,
    eventCount: () => told().length,
    wasUnsettledAfter: (count) =>
      told()
        .slice(count)
        .map((line) => JSON.parse(line) as { type: string; settled?: number; records?: number })
        .some(({ type, settled = 0, records = 0 }) => type === "batch.progress" && settled < records),
    lastEvent: () => /"type":"([^"]+)"/.exec(told().at(-1) ?? "")?.[1] ?? "nothing",
    events: (count) => run.until(() => told().length >= count || run.hasEnded()),
    event: (type, count) => {
      const isTold = (): boolean =>
        told()
          .slice(count)
          .some((line) => line.startsWith(`{"type":"${type}"`));
      return run.until(() => isTold() || run.hasEnded());
    },
  };
}

const quietEnv = { ...process.env, SVC_LOG_LEVEL: "error", NO_COLOR: "1" };

function watch(args: readonly string[], env: Place["env"] = {}) {
  const started = startProcess(process.execPath, args, {
    env: { ...quietEnv, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { child, signal } = started;
  let output = "";
  const waiting = new Set<() => void>();
  const look = (): void => {
    for (const wake of waiting) wake();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      look();
    });
  }
  let hasEnded = false;
  const ended = started.closed.then(({ code }) => {
    hasEnded = true;
    look();
    return code;
  });
  return {
    signal,
    ended,
    hasEnded: () => hasEnded,
    output: () => output.slice(-outputMax),
    /** The complete lines so far. */
    lines: () => output.split("\n").slice(0, -1),
    until: (holds: () => boolean): Promise<void> =>
      new Promise((done) => {
        const wake = (): void => {
          if (!holds()) return;
          waiting.delete(wake);
          done();
        };
        waiting.add(wake);
        wake();
      }),
    kill: async (): Promise<void> => {
      signal("SIGKILL");
      await ended;
    },
  };
}

export interface CrashOptions {
  /** The data set's CSV text. */
  readonly csv: string;
  readonly stones: number;
  /** Null leaves it to the program, which sends more than 10,000 stones as one file. */
  readonly batchSize: number | null;
  readonly kills: number;
  readonly seed: number;
  /** Number of stones that are searched, fetched and verified offline. */
  readonly samples: number;
  readonly log: (line: string) => void;
  /** Called with the sandbox's home whenever its node has been started, and once everything is published. */
  readonly looks?: {
    readonly started: (home: string) => Promise<void>;
    readonly published: (home: string) => Promise<void>;
  };
}

export interface CrashReport extends Proof {
  readonly killed: readonly Target[];
  /** Number of times that the pushing program was started. */
  readonly runs: number;
  /** Whether repeating the push after everything was published sent something. */
  readonly sentAgain: boolean;
}

export type Target = "program" | "node" | "both";

const targets: readonly Target[] = ["node", "program", "both"];

export async function runPushCrash(options: CrashOptions): Promise<CrashReport> {
  const home = await mkdtemp(join(tmpdir(), "svc-crash-"));
  try {
    return await crashIn(home, options);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function crashIn(home: string, options: CrashOptions): Promise<CrashReport> {
  const file = join(home, "stones.ndjson");
  await writeFile(file, stonesNdjson(options));
  const place = { home: join(home, "node"), portBase: await freePorts(surfacePorts) };
  const pushing = { ...place, file, batchSize: options.batchSize };
  let node = await startNode(place);
  await options.looks?.started(place.home);
  let program: ProgramRun | null = null;
  const killed: Target[] = [];
  let runs = 0;
  /** The events of the present program before the last kill. */
  let earlier = 0;
  try {
    for (const { target, moment, delayMs } of planKills(options)) {
      if (program === null || program.hasEnded()) {
        program = startPush(pushing);
        runs += 1;
        earlier = 0;
      }
      const before = program.eventCount();
      await (typeof moment === "string" ? program.event(moment, before) : program.events(before + moment));
      await new Promise((wake) => setTimeout(wake, delayMs));
      if (program.hasEnded())
        throw new Error(`The push ended before kill ${killed.length + 1}: ${program.output()}`);
      earlier = program.eventCount();
      if (target !== "node") await program.kill();
      if (target !== "program") {
        await node.kill();
        node = await startNode(place);
        await options.looks?.started(place.home);
      }
      killed.push(target);
      options.log(`killed ${target} after ${program.lastEvent()}`);
    }
    if (program === null || program.hasEnded()) {
      program = startPush(pushing);
      runs += 1;
      earlier = 0;
    }
    await expectPublished(program);
    if (options.kills > 0 && !program.wasUnsettledAfter(earlier))
      throw new Error(`Every stone was settled before kill ${options.kills}: push more stones.`);
    const again = startPush(pushing);
    await expectPublished(again);
    const sentAgain = again.output().includes('"batch.sent"');
    const stones = (await readFile(file, "utf8")).trimEnd().split("\n");
    const { samples, seed } = options;
    const served = await checkServed({ home: place.home, stones, samples, seed });
    await options.looks?.published(place.home);
    await node.stop();
    return { killed, runs, sentAgain, ...served, ...(await checkStores({ home: place.home, stones })) };
  } finally {
    if (program !== null && !program.hasEnded()) await program.kill();
    if (!node.hasEnded()) await node.kill();
  }
}

async function expectPublished(program: ProgramRun): Promise<void> {
  const code = await program.ended;
  if (code !== 0) throw new Error(`The push ended with ${code}: ${program.output()}`);
}

interface Kill {
  readonly target: Target;
  /** The event of the program to wait for, or how many more. */
  readonly moment: string | number;
  readonly delayMs: number;
}

/**
 * A file is sent once and then imported for long, so its kills have moments of their own: while it is sent, and while it is imported.
 * Only the last of these kills the program, because a node imports on while a program starts.
 */
const fileKills = [
  ["program", "batch.uploading"],
  ["both", "batch.uploading"],
  ["node", "batch.sent"],
  ["node", "batch.progress"],
  ["both", "batch.progress"],
] as const satisfies readonly (readonly [Target, string])[];

/** With batches it cycles through the targets from one chosen by the seed, at moments from just after the first seal to deep in a batch. */
function planKills({ kills, seed, batchSize }: CrashOptions): readonly Kill[] {
  const random = seededRandom(seed);
  if (batchSize === null)
    return Array.from({ length: kills }, (_, index) => {
      const [target, moment] = fileKills[Math.min(index, fileKills.length - 1)] ?? fileKills[0];
      return { target, moment, delayMs: Math.floor(random() * 300) };
    });
  const first = Math.floor(random() * targets.length);
  return Array.from({ length: kills }, (_, index) => ({
    target: targets[(first + index) % targets.length] ?? "both",
    moment: 2 + Math.floor(random() * 4),
    delayMs: Math.floor(random() * 120),
  }));
}

/** True when everything holds. */
export function isProven(report: CrashReport, options: Pick<CrashOptions, "stones" | "kills">): boolean {
  const { killed, live, firstGeneration, exactBytes, indexed, found, verified, samples, sentAgain } = report;
  const isWhole = [live, firstGeneration, exactBytes, indexed].every((stones) => stones === options.stones);
  return (
    killed.length === options.kills && isWhole && found === samples && verified === samples && !sentAgain
  );
}

if (import.meta.main) process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      csv: { type: "string" },
      stones: { type: "string" },
      kills: { type: "string", default: "5" },
      seed: { type: "string", default: "1" },
      "batch-size": { type: "string", default: "10000" },
      file: { type: "boolean", default: false },
      samples: { type: "string", default: "200" },
    },
  });
  const csv = readCsv(values.csv ?? join(root, "node/sandbox/data/diamonds-slice.csv"));
  const options: CrashOptions = {
    csv,
    stones: Number(values.stones ?? csv.trimEnd().split("\n").length - 1),
    kills: Number(values.kills),
    seed: Number(values.seed),
    batchSize: values.file ? null : Number(values["batch-size"]),
    samples: Number(values.samples),
    log: (line) => console.log(line),
  };
  const startedMs = performance.now();
  const report = await runPushCrash(options);
  const proven = isProven(report, options);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  console.log(JSON.stringify({ ...report, stones: options.stones, seconds }));
  console.log(proven ? "1 passed, 0 failed" : "0 passed, 1 failed");
  return proven ? 0 : 1;
}

/** NDJSON text, one product per line. If more stones are wanted than the data set has, it is repeated; each has its own id. */
function stonesNdjson({ csv, stones: wanted, seed }: CrashOptions): string {
  const stones = parseStones(csv);
  const shop = {
    brand: "Lindqvist & Rowe",
    website: "https://lindqvist-rowe.example",
    idPrefix: `CRASH-${seed}-`,
  };
  return Array.from({ length: wanted }, (_, index) => {
    const stone = stones[index % stones.length];
    if (stone === undefined) throw new Error("The data set has no stones.");
    return `${JSON.stringify(diamondProduct(stone, index, shop))}\n`;
  }).join("");
}

/** Text of a CSV file, optionally gzipped. */
export function readCsv(path: string): string {
  const contents = readFileSync(path);
  return (path.endsWith(".gz") ? gunzipSync(contents) : contents).toString("utf8");
}

// What the crash check proves, over HTTP with the signing client and then in the stores of the stopped node.

/** Numbers of stones. */
interface Proof extends Served, Stored {}

interface Served {
  /** Stones that were checked individually. */
  readonly samples: number;
  /** Of these, the number found by a search that names them. */
  readonly found: number;
  /** Of these, the number fetched with every check of the offline verifier performed and passed. */
  readonly verified: number;
}

interface Stored {
  readonly live: number;
  readonly firstGeneration: number;
  /** Number of stones served with exactly the bytes that were pushed. */
  readonly exactBytes: number;
  /** Rows in the index beyond those of the samples. */
  readonly indexed: number;
}

interface StoneRecord {
  readonly bytes: Uint8Array;
  readonly id: string;
  readonly name: string;
  readonly price: string;
}

function stoneOf(line: string): StoneRecord {
  const record = JSON.parse(line) as JsonObject & {
    business_product_id: string;
    product_name: string;
    prices: readonly { amount: string }[];
  };
  return {
    bytes: recordBytes(record),
    id: record.business_product_id,
    name: record.product_name,
    price: record.prices[0]?.amount ?? "",
  };
}

/** Performs the checks that need a running node. */
async function checkServed(options: {
  readonly home: string;
  readonly stones: readonly string[];
  readonly samples: number;
  readonly seed: number;
}): Promise<Served> {
  const sandbox = await loadSandbox(options.home);
  const { client, keyId } = await openClient(sandbox);
  const anchorsText = JSON.stringify(sandbox.anchors);
  const random = seededRandom(options.seed);
  const samples = Math.min(options.samples, options.stones.length);
  let found = 0;
  let verified = 0;
  for (let sample = 0; sample < samples; sample += 1) {
    const stone = stoneOf(options.stones[Math.floor(random() * options.stones.length)] ?? "");
    const recordId = await findStone(client, stone);
    if (recordId === null) continue;
    found += 1;
    const fetched = await client.fetchRecord(recordId);
    const evidence = await evidenceOf(client, fetched, { environment: "sandbox", keyId });
    const report = verifyEvidenceFile(new TextEncoder().encode(evidence), {
      anchorsText,
      allowSandbox: true,
    });
    if (report.ok && report.value.valid && report.value.complete) verified += 1;
  }
  return { samples, found, verified };
}

async function loadSandbox(home: string): Promise<Sandbox> {
  return JSON.parse(await readFile(join(home, "sandbox.json"), "utf8")) as Sandbox;
}

async function openClient(sandbox: Sandbox): Promise<{ readonly client: SvcClient; readonly keyId: string }> {
  const chosen = sandbox.ai_companies[0]?.keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The sandbox has no AI company with a key.");
  const client = createSvcClient({
    fetch,
    key: key.value,
    grant: chosen.grant,
    baseUrl: sandbox.base_url,
    businessUrl: null,
    verifyUrl: sandbox.verify_url,
  });
  return { client, keyId: key.value.keyId };
}

/** Finds a stone by name and price; among several equal ones, the one with exactly these bytes. */
async function findStone(client: SvcClient, stone: StoneRecord): Promise<string | null> {
  const { body } = await client.search({
    collection: "products",
    q: stone.name,
    query_by: ["product_name"],
    filter: { all: [{ country: "US" }, { price_amount: stone.price }] },
    sort_by: "published_at:desc",
  });
  const hash = hashOf(stone.bytes);
  return body.rows.find((row) => row.adl_origin === hash)?.record_id ?? null;
}

/** Checks the contents of the stores after the node was stopped. */
async function checkStores(options: {
  readonly home: string;
  readonly stones: readonly string[];
}): Promise<Stored> {
  const { businesses } = await loadSandbox(options.home);
  const businessUuid = businesses[0]?.business_uuid ?? "";
  await using services = await openNodeServices(loadConfig({ home: options.home, logLevel: "silent" }, {}));
  const { records, recordIdOf, index } = services;
  let live = 0;
  let firstGeneration = 0;
  let exactBytes = 0;
  for (const line of options.stones) {
    const stone = stoneOf(line);
    const served = await records.readServed(recordIdOf(businessUuid, "products", stone.id));
    if (served === null) continue;
    live += 1;
    if (served.version.generation === 1) firstGeneration += 1;
    if (equalBytes(served.version.bytes, stone.bytes)) exactBytes += 1;
  }
  const samples = await sampleProducts();
  return { live, firstGeneration, exactBytes, indexed: (await index.count("products")) - samples };
}

/** Number of products that every sandbox serves from the start: nothing stands of a business that was revoked from before. */
async function sampleProducts(): Promise<number> {
  const slice = await readFile(join(import.meta.dirname, "../node/sandbox/data/diamonds-slice.csv"), "utf8");
  const businesses = [...sampleBusinesses, ...trialBusinesses].filter(({ ending }) => !ending?.reachesBack);
  const single = businesses.flatMap((business) => business.records(calendarFrom(0)));
  const products = single.filter(({ collection }) => collection === "products").length;
  return slice.trimEnd().split("\n").length - 1 + products;
}
