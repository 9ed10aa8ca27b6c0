// `npm run bench`: every figure side by side with its floor, measured in one run on one machine, or the speed of this checkout side by
// side with that of another commit (bench/README.md).

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { hold, unpack } from "./against.ts";
import { type Figure, isMet, reportJson, reportTable } from "./figures.ts";
import { type AgainstOptions, type BenchOptions, parseOptions, sectionNames, usage } from "./options.ts";
import { contests, sections } from "./sections.ts";
import { World } from "./world.ts";

function worldIn(folder: string, options: BenchOptions, tree: string | null): World {
  const { prepared, quick, records } = options;
  const profileTo = options.profileTo === null ? null : resolve(options.profileTo);
  return new World({ folder, prepared, quick, records, profileTo, tree });
}

async function measure(folder: string, options: BenchOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const figures: Figure[] = [];
  const world = worldIn(folder, options, null);
  for (const name of sectionNames) {
    if (!options.sections.includes(name)) continue;
    world.say(name);
    const measured = await sections[name](world);
    for (const { name: what, ratio, ours, unit } of measured)
      world.say(`${what}: ${ratio?.toFixed(2) ?? `${ours} ${unit}`}`);
    figures.push(...measured);
  }
  const json = reportJson(figures, { quick: options.quick, startedAt });
  if (options.json !== "-") console.log(`\n${reportTable(figures)}`);
  else process.stdout.write(json);
  if (options.json !== null && options.json !== "-") await writeFile(options.json, json);
  const missed = figures.filter((figure) => isMet(figure) === false).length;
  console.error(missed === 0 ? "Every goal is met." : `${missed} of the goals are not met.`);
}

async function compareWith(
  folder: string,
  options: BenchOptions,
  { commit, pairs, contests: names }: AgainstOptions,
): Promise<void> {
  const tree = join(folder, "other");
  const id = await unpack(commit, tree);
  // Both have small catalogues, and homes of their own: what is stored may differ.
  const few = { ...options, quick: true };
  const theirs = few.prepared === null ? few : { ...few, prepared: join(few.prepared, id) };
  await mkdir(join(tree, ".bench"));
  const [present, other] = [worldIn(folder, few, null), worldIn(join(tree, ".bench"), theirs, tree)];
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

async function run(options: BenchOptions): Promise<void> {
  const folder = await mkdtemp(join(options.dir ?? tmpdir(), "svc-bench-"));
  try {
    if (options.against === null) await measure(folder, options);
    else await compareWith(folder, options, options.against);
  } finally {
    await rm(folder, { recursive: true });
  }
}

try {
  await run(parseOptions(process.argv.slice(2)));
} catch (error) {
  const isUsage =
    error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  console.error(isUsage ? `${error.message}\n\n${usage}` : error);
  process.exitCode = 1;
}
