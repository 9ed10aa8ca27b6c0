// What the benchmark measures, by the names of `--only`, in the order of a full run; and what can be compared with another commit.

import type { OpenContest } from "./against.ts";
import type { Measured } from "./figures.ts";
import { contestOfCalls, measureActors } from "./sections/actors.ts";
import { measureAds } from "./sections/ads.ts";
import { measureLargeBusiness, measureValidate } from "./sections/businesses.ts";
import { measureCluster, measureClusterImport } from "./sections/cluster.ts";
import { measureEvidence } from "./sections/evidence.ts";
import { contestOfFetches, measureAllowance, measureFetch } from "./sections/fetch.ts";
import { measureLogAppend } from "./sections/log-append.ts";
import { measureLogProof } from "./sections/log-proof.ts";
import { measureMcp, measureMcpHosted } from "./sections/mcp.ts";
import { measureMillion, measureStart } from "./sections/million.ts";
import { measureOps } from "./sections/ops.ts";
import { contestOfPushes, measureImport, measurePush } from "./sections/push.ts";
import { measureReceipts } from "./sections/receipts.ts";
import { measureRelevance } from "./sections/relevance.ts";
import { contestOfSearches, measureMeanwhile, measureSearch } from "./sections/search.ts";
import { measureSim } from "./sections/sim.ts";
import { measureStorm } from "./sections/storm.ts";
import { measureTransport } from "./sections/transport.ts";
import type { World } from "./world.ts";

export const sections = {
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
  storm: measureStorm,
} as const satisfies Readonly<Record<string, (world: World) => Promise<readonly Measured[]>>>;
export type SectionName = keyof typeof sections;

export const contests = {
  fetch: [contestOfFetches],
  search: [contestOfSearches],
  push: [contestOfPushes],
  actors: [
    ({ present, other }) => contestOfCalls(present, other, 64),
    ({ present, other }) => contestOfCalls(present, other, 500),
  ],
} as const satisfies Readonly<Partial<Record<SectionName, readonly OpenContest[]>>>;
export type ContestName = keyof typeof contests;
