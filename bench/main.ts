// `npm run bench`: every figure side by side with its floor, measured in one run on one machine (bench/README.md).

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type BenchOptions, parseOptions, type SectionName, sectionNames, usage } from "./options.ts";
import { type Figure, isMet, reportJson, reportTable } from "./report.ts";
import { measureActors } from "./sections/actors.ts";
import { measureAds } from "./sections/ads.ts";
import { measureAllowance } from "./sections/allowance.ts";
import { measureCluster, measureClusterImport } from "./sections/cluster.ts";
import { measureEvidence } from "./sections/evidence.ts";
import { measureFetch } from "./sections/fetch.ts";
import { measureImport } from "./sections/import.ts";
import { measureLargeBusiness } from "./sections/large-business.ts";
import { measureLogAppend } from "./sections/log-append.ts";
import { measureLogProof } from "./sections/log-proof.ts";
import { measureMcp } from "./sections/mcp.ts";
import { measureMcpHosted } from "./sections/mcp-hosted.ts";
import { measureMeanwhile } from "./sections/meanwhile.ts";
import { measureMillion } from "./sections/million.ts";
import { measureOps } from "./sections/ops.ts";
import { measurePush } from "./sections/push.ts";
import { measureReceipts } from "./sections/receipts.ts";
import { measureRelevance } from "./sections/relevance.ts";
import { measureSearch } from "./sections/search.ts";
import { measureSim } from "./sections/sim.ts";
import { measureStart } from "./sections/start.ts";
import { measureTransport } from "./sections/transport.ts";
import { measureValidate } from "./sections/validate.ts";
import { World } from "./world.ts";

export type Section = (world: World) => Promise<readonly Figure[]>;

const sections: Readonly<Record<SectionName, Section>> = {
  fetch: measureFetch,
  search: measureSearch,
  push: measurePush,
  actors: measureActors,
  transport: measureTransport,
  cluster: measureCluster,
  sim: measureSim,
  start: measureStart,
  import: measureImport,
  validate: measureValidate,
  meanwhile: measureMeanwhile,
  million: measureMillion,
  "large-business": measureLargeBusiness,
  "cluster-import": measureClusterImport,
  "log-append": measureLogAppend,
  "log-proof": measureLogProof,
  evidence: measureEvidence,
  relevance: measureRelevance,
  receipts: measureReceipts,
  ads: measureAds,
  allowance: measureAllowance,
  "mcp-hosted": measureMcpHosted,
  mcp: measureMcp,
  ops: measureOps,
};

async function run(options: BenchOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const folder = await mkdtemp(join(options.dir ?? tmpdir(), "svc-bench-"));
  const profileTo = options.profileTo === null ? null : resolve(options.profileTo);
  const figures: Figure[] = [];
  try {
    const { prepared, quick, records } = options;
    const world = new World({ folder, prepared, quick, records, profileTo });
    for (const name of sectionNames) {
      if (!options.sections.includes(name)) continue;
      world.say(name);
      const measured = await sections[name](world);
      for (const { name: what, ratio, ours, unit } of measured)
        world.say(`${what}: ${ratio?.toFixed(2) ?? `${ours} ${unit}`}`);
      figures.push(...measured);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const json = reportJson(figures, { quick: options.quick, startedAt });
  if (options.json !== "-") console.log(`\n${reportTable(figures)}`);
  else process.stdout.write(json);
  if (options.json !== null && options.json !== "-") await writeFile(options.json, json);
  const missed = figures.filter((figure) => isMet(figure) === false).length;
  console.error(missed === 0 ? "Every goal is met." : `${missed} of the goals are not met.`);
}

try {
  await run(parseOptions(process.argv.slice(2)));
} catch (error) {
  const isUsage =
    error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  console.error(isUsage ? `${error.message}\n\n${usage}` : error);
  process.exitCode = 1;
}
