// `npm run guards`: removes or inverts single guards of the actors, the cluster, publishing and the portal, and reports those
// whose change nothing noticed. Such a guard is dead code, or a test is missing.

import { dirname } from "node:path";
import { parseInteger, parseOptions, runTool } from "./command-line.ts";
import { type GuardChange, guardChanges } from "./guards/guard-sites.ts";
import { TreeCopy, type Witnesses } from "./guards/tree-copy.ts";
import { filesThatReach } from "./guards/users-of.ts";
import { root } from "./process.ts";
import { seededRandom } from "./seeded-random.ts";
import { isTestFile } from "./tidy/import-table.ts";
import { listFiles, loadSource } from "./tidy/source.ts";

/** What is changed, and the folders whose tests run: those with real processes and engines take minutes for each change. */
const subjects = [
  {
    changed: /^(actors|cluster)\/|^service\/publishing\//,
    asked:
      /^(protocol|collections|machines|actors|service|cluster|verifier|storage|transport|api)\/|^stories\/publishing\/sealing/,
  },
  { changed: /^(service\/)?portal\//, asked: /^(service\/|stories\/)?portal\// },
] as const;
const notAsked = /\.(e2e|full|cassandra|elastic|regions|quorum)\.test\.ts$/;
const simulator = "sim/main.ts";

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
  const random = seededRandom(parseInteger("--seed", options.seed, { min: 0, max: 2 ** 32 - 1 }));
  const seeds = parseInteger("--seeds", options.seeds, { min: 1, max: 100_000 });
  const sources = listFiles(root, [".ts"]).map((path) => loadSource(root, path));
  const subjectOf = (path: string) => subjects.find(({ changed }) => changed.test(path));
  const isWanted = (path: string): boolean => subjectOf(path) !== undefined && path.includes(options.only);
  const left = sources.filter(({ path }) => isWanted(path) && !isTestFile(path)).flatMap(guardChanges);
  const trials: Trial[] = [];
  for (let change = draw(left, random); change && trials.length < count; change = draw(left, random)) {
    const folder = dirname(change.path);
    const asked = subjectOf(change.path)?.asked;
    const { tests, others } = filesThatReach(change.path, sources);
    const able = tests.filter((path) => asked?.test(path) && !notAsked.test(path));
    const beside = able.filter((path) => dirname(path) === folder);
    const users = able.filter((path) => !beside.includes(path));
    trials.push({
      change,
      witnesses: { beside, users, seeds: others.includes(simulator) ? seeds : 0 },
    });
  }
  if (!options.list) await tryAll(trials, seeds);
  else for (const { change } of trials) console.log(sentenceOf(change));
}

type Trial = { readonly change: GuardChange; readonly witnesses: Witnesses };

async function tryAll(trials: readonly Trial[], seeds: number): Promise<void> {
  const tree = new TreeCopy();
  let unnoticed = 0;
  try {
    const tests = new Set(trials.flatMap(({ witnesses }) => [...witnesses.beside, ...witnesses.users]));
    const simulated = Math.max(...trials.map(({ witnesses }) => witnesses.seeds));
    const broken = await tree.ask({ beside: [...tests], users: [], seeds: simulated });
    if (broken !== null) throw new Error(`Without any change something fails already: ${broken}`);
    for (const { change, witnesses } of trials) {
      const by = await tree.tryChange(change, witnesses);
      if (by === null) unnoticed += 1;
      console.log(`${sentenceOf(change)}\n    ${by ?? "NOBODY NOTICED"}`);
    }
  } finally {
    tree.remove();
  }
  console.log(`${trials.length - unnoticed} of ${trials.length} changes were noticed`);
  if (unnoticed > 0) process.exitCode = 1;
}

/** Removes a random element and returns it. */
function draw<T>(left: T[], random: () => number): T | undefined {
  return left.splice(Math.floor(random() * left.length), 1)[0];
}

function sentenceOf({ path, line, was, becomes }: GuardChange): string {
  const oneLine = (text: string): string => text.replace(/\s+/g, " ").slice(0, 100);
  return `${path}:${line}  ${oneLine(was)}  ->  ${oneLine(becomes)}`;
}

await runTool({ help, run });
