// Pushes many stones while the node and the pushing program are killed (kill -9) at seeded moments, and then proves that
// every stone is live once, in its first generation, found by search and verifiable offline.
// Usage: node tools/run.mjs tools/push-crash.ts [--csv CSV[.gz]] [--stones N] [--kills N] [--seed N] [--batch-size N | --file]
//   C1. Every kill really happens during the push: after the last one the service still reports records that are not settled.
//       A push that was finished earlier is a failure of this check.
//   C2. The proof reads the stores of the node itself after it was stopped, and relies on nothing that was reported.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readCsv, stonesNdjson } from "./diamonds.ts";
import { freePorts, surfacePorts } from "./free-ports.ts";
import { root } from "./process.ts";
import { type ProgramRun, startNode, startPush } from "./push-crash-programs.ts";
import { checkServed, checkStores, type Proof } from "./push-crash-proof.ts";
import { seededRandom } from "./seeded-random.ts";

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
  /** What was killed, in order. */
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
  await writeFile(
    file,
    stonesNdjson({ csv: options.csv, stones: options.stones, prefix: `CRASH-${options.seed}-` }),
  );
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
    const served = await checkServed({
      home: place.home,
      stones,
      samples: options.samples,
      seed: options.seed,
    });
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
  const { stones } = options;
  return (
    report.killed.length === options.kills &&
    report.live === stones &&
    report.firstGeneration === stones &&
    report.exactBytes === stones &&
    report.indexed === stones &&
    report.found === report.samples &&
    report.verified === report.samples &&
    !report.sentAgain
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
  console.log(
    JSON.stringify({
      ...report,
      stones: options.stones,
      seconds: Math.round((performance.now() - startedMs) / 1000),
    }),
  );
  console.log(proven ? "1 passed, 0 failed" : "0 passed, 1 failed");
  return proven ? 0 : 1;
}
