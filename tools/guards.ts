// `npm run guards`: takes away or turns round single guards of the actors, the cluster and publishing, and tells of which
// nobody noticed it. Such a guard is dead, or a test is missing.
//   npm run guards -- --count 40 --seed 7      other guards, chosen by chance that follows from the seed
//   npm run guards -- --only cluster/lease     of the files whose path contains it
//   npm run guards -- --list                   what would be changed, and nothing else

import { dirname } from "node:path";
import { parseInteger, parseOptions, runTool } from "./command-line.ts";
import { type GuardChange, guardChanges } from "./guards/guard-sites.ts";
import { copyTree, type Trial } from "./guards/try-change.ts";
import { testsThatReach } from "./guards/users-of.ts";
import { root } from "./process.ts";
import { seededRandom } from "./seeded-random.ts";
import { isTestFile } from "./tidy/import-table.ts";
import { listFiles, loadSource, type SourceFile } from "./tidy/source.ts";

const changed = /^(actors|cluster)\/|^service\/publish/;
/** Whose tests are asked: those of real processes and engines take minutes for each change. */
const asked = /^(protocol|collections|machines|actors|service|cluster|verifier|storage|transport|api)\//;
const notAsked = /\.(e2e|cassandra|elastic|regions|quorum)\.test\.ts$/;

const help = `npm run guards -- [options]
  --count N    try N changes (default 20)
  --seed S     which ones (default 1)
  --seeds N    simulate N seeds for each (default 60)
  --only TEXT  of the files whose path contains TEXT
  --list       print them and try nothing`;

async function run(args: readonly string[]): Promise<void> {
  const options = parseOptions(args, {
    count: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    seeds: { type: "string", default: "60" },
    only: { type: "string", default: "" },
    list: { type: "boolean", default: false },
  });
  const count = parseInteger("--count", options.count, { min: 1, max: 10_000 });
  const seed = parseInteger("--seed", options.seed, { min: 0, max: 2 ** 32 - 1 });
  const seeds = parseInteger("--seeds", options.seeds, { min: 1, max: 100_000 });
  const sources = listFiles(root, [".ts"]).map((path) => loadSource(root, path));
  const choice = choose(
    sources
      .filter(({ path }) => changed.test(path) && path.includes(options.only) && !isTestFile(path))
      .flatMap(guardChanges),
    { count, random: seededRandom(seed) },
  );
  if (options.list) for (const change of choice) console.log(sentenceOf(change));
  else await tryAll(choice, sources, seeds);
}

async function tryAll(choice: readonly GuardChange[], sources: readonly SourceFile[], seeds: number) {
  const trials = choice.map((change) => ({ change, trial: trialOf(change, sources, seeds) }));
  const tree = copyTree();
  const unnoticed: GuardChange[] = [];
  try {
    const tests = new Set(trials.flatMap(({ trial }) => [...trial.beside, ...trial.users]));
    const broken = (await tree.test([...tests])) ?? (await tree.simulate(seeds));
    if (broken !== null) throw new Error(`Without any change this fails: ${broken}`);
    for (const { change, trial } of trials) {
      const by = await tree.noticed(change, trial);
      console.log(`${by === null ? "UNNOTICED" : "noticed  "} ${sentenceOf(change)}\n          ${by ?? ""}`);
      if (by === null) unnoticed.push(change);
    }
  } finally {
    tree.remove();
  }
  console.log(`${choice.length - unnoticed.length} of ${choice.length} changes were noticed`);
  if (unnoticed.length > 0) process.exitCode = 1;
}

/** Some of the changes, in the order of their drawing. */
function choose(
  changes: readonly GuardChange[],
  { count, random }: { readonly count: number; readonly random: () => number },
): readonly GuardChange[] {
  const left = [...changes];
  const chosen: GuardChange[] = [];
  while (chosen.length < count && left.length > 0) {
    chosen.push(...left.splice(Math.floor(random() * left.length), 1));
  }
  return chosen;
}

function trialOf(change: GuardChange, sources: readonly SourceFile[], seeds: number): Trial {
  const folder = dirname(change.path);
  const tests = testsThatReach(change.path, sources).filter((path) => asked.test(path) && !notAsked.test(path));
  return {
    beside: tests.filter((path) => dirname(path) === folder),
    users: tests.filter((path) => dirname(path) !== folder),
    seeds,
  };
}

function sentenceOf({ path, line, was, becomes }: GuardChange): string {
  const oneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 100);
  return `${path}:${line}  ${oneLine(was)}  ->  ${oneLine(becomes)}`;
}

await runTool({ help, run });
