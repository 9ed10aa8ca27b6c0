// `npm run bench`: every figure side by side with its floor, measured in one run on one machine, or the speed of this checkout side by
// side with that of another commit (bench/README.md).

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hold, unpack } from "./against.ts";
import { type Figure, isMet, type Measured, reportJson, reportTable } from "./figures.ts";
import { measureQuietly, noiseText } from "./noise.ts";
import { type BenchOptions, contests, parseOptions, sectionNames, sections, usage } from "./options.ts";
import { measurePeer, peerTexts } from "./peers/peers.ts";
import { World } from "./world.ts";

/** How long a run may take with everything that it measures again. */
const wholeRunMs = 900_000;

async function measure(folder: string, options: BenchOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const figures: Figure[] = [];
  const machine: string[] = [];
  const world = new World(folder, options);
  const startedMs = performance.now();
  for (const [section, measure] of partsOf(options)) {
    world.say(section);
    const sectionMs = performance.now();
    // What was disturbed is measured once more where that leaves the run within its time.
    const mayRepeat = (): boolean => {
      const nowMs = performance.now();
      return !options.quick && nowMs - startedMs + (nowMs - sectionMs) < wholeRunMs;
    };
    const { result, noise, times } = await measureQuietly(() => measure(world), { mayRepeat });
    machine.push(`${section}: ${noiseText(noise)}${times > 1 ? "; the quieter of two measurements" : ""}`);
    for (const measured of result) {
      const { name, ratio, ours, unit } = measured;
      world.say(`${name}: ${ratio?.toFixed(2) ?? `${ours} ${unit}`}`);
      figures.push({ section, noise, ...measured });
    }
  }
  const json = reportJson(figures, { quick: options.quick, startedAt });
  if (options.json === "-") process.stdout.write(json);
  else {
    const table = reportTable(figures, options.peers === null ? "floor" : "peer");
    console.log(`\n${table}\nThe machine during\n${machine.join("\n")}\n`);
    if (options.peers !== null) console.log(peerTexts(options.peers));
  }
  if (options.json !== null && options.json !== "-") await writeFile(options.json, json);
  if (options.peers !== null) return;
  const missed = figures.filter((figure) => isMet(figure) === false).length;
  console.error(missed === 0 ? "Every goal is met." : `${missed} of the goals are not met.`);
}

type Measure = (world: World) => Promise<readonly Measured[]>;

function partsOf({ peers, sections: named }: BenchOptions): readonly (readonly [string, Measure])[] {
  if (peers !== null) return peers.map((name) => [name, (world) => measurePeer(world, name)]);
  return sectionNames.filter((name) => named.includes(name)).map((name) => [name, sections[name]]);
}

async function compareWith(
  folder: string,
  options: BenchOptions,
  { commit, pairs, contests: names }: NonNullable<BenchOptions["against"]>,
): Promise<void> {
  const tree = join(folder, "other");
  const id = await unpack(commit, tree);
  // Both have small catalogues, and homes of their own: what is stored may differ.
  const few = { ...options, quick: true };
  const prepared = options.prepared && join(options.prepared, id);
  await mkdir(join(tree, ".bench"));
  const present = new World(folder, few);
  const other = new World(join(tree, ".bench"), { ...few, prepared }, tree);
  let alarms = 0;
  for (const open of names.flatMap((name) => contests[name])) {
    await using opening = new AsyncDisposableStack();
    const contest = await open({ present, other, pairs, opening });
    present.say(contest.name);
    const { isAlarm, text } = await hold(contest, pairs);
    if (isAlarm) alarms += 1;
    console.log(`\n${text}`);
  }
  console.error(`\n${alarms === 0 ? "Nothing" : alarms} is certainly slower than at ${id}.`);
  if (alarms > 0) process.exitCode = 1;
}

try {
  const options = parseOptions(process.argv.slice(2));
  const folder = await mkdtemp(join(options.dir ?? tmpdir(), "svc-bench-"));
  try {
    if (options.against === null) await measure(folder, options);
    else await compareWith(folder, options, options.against);
  } finally {
    await rm(folder, { recursive: true });
  }
} catch (error) {
  const isUsage =
    error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  console.error(isUsage ? `${error.message}\n\n${usage}` : error);
  process.exitCode = 1;
}
