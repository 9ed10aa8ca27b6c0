// Options of `npm run bench`.

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { bulkRecordsMax } from "../protocol/limits.ts";
import { type OpenContest, pairsMin } from "./against.ts";
import type { Measured } from "./figures.ts";
import { peerNames } from "./peers/peers.ts";
import { contestOfCalls, measureActors } from "./sections/actors.ts";
import { contestOf, measureAds } from "./sections/ads.ts";
import { measureCluster, measureClusterImport } from "./sections/cluster.ts";
import { contestOfFetches, measureFetch } from "./sections/fetch.ts";
import { measureLargeBusiness } from "./sections/large-business.ts";
import { measureLogAppend } from "./sections/log-append.ts";
import { measureMillion, measureStart } from "./sections/million.ts";
import { measurePriceChange } from "./sections/price-change.ts";
import { contestOfPushes, measureImport, measurePush } from "./sections/push.ts";
import { contestOfSearches, measureMeanwhile, measureSearch } from "./sections/search.ts";
import { measureStorm } from "./sections/storm.ts";
import type { World } from "./world.ts";

// What the benchmark measures, by the names of `--only`, in the order of a full run; and what can be compared with another commit.

export const sections = {
  fetch: measureFetch,
  search: measureSearch,
  push: measurePush,
  actors: measureActors,
  cluster: measureCluster,
  start: measureStart,
  import: measureImport,
  "price-change": measurePriceChange,
  meanwhile: measureMeanwhile,
  million: measureMillion,
  "large-business": measureLargeBusiness,
  "cluster-import": measureClusterImport,
  ads: measureAds,
  "log-append": measureLogAppend,
  storm: measureStorm,
} as const satisfies Readonly<Record<string, (world: World) => Promise<readonly Measured[]>>>;
type SectionName = keyof typeof sections;

export const contests = {
  fetch: [contestOfFetches],
  search: [contestOfSearches],
  push: [contestOfPushes],
  actors: [
    ({ present, other }) => contestOfCalls(present, other, 64),
    ({ present, other }) => contestOfCalls(present, other, 500),
  ],
  ads: [contestOf("render"), contestOf("click")],
} as const satisfies Readonly<Partial<Record<SectionName, readonly OpenContest[]>>>;
type ContestName = keyof typeof contests;

export const sectionNames = Object.keys(sections) as readonly SectionName[];
/** Run only when they are named: each takes about as long as all the others together, which is a quarter of an hour. */
const onlyNamed: readonly SectionName[] = ["cluster", "million", "large-business", "cluster-import", "storm"];
/** What can be compared with another commit. */
const contestNames = Object.keys(contests) as readonly ContestName[];
const pairsDefault = 15;

/** What was asked for; null for an option that is not given. */
export type BenchOptions = ReturnType<typeof parseOptions>;

export const usage = `npm run bench -- [options]
  --only NAMES     sections to run, separated by commas: ${sectionNames.join(",")};
                   without it all but ${onlyNamed.join(",")}
  --quick          small sizes, to see that everything runs
  --records N      records of a bulk file, instead of 100,000
  --json FILE      writes the figures as JSON; - for standard output
  --profile DIR    writes CPU profiles of the measured processes
  --against COMMIT compares the speed with that commit, in ${contestNames.join(",")} or those of --only;
                   ends with 1 if this one is certainly slower
  --pairs N        how often both are measured then; ${pairsDefault} if not said, at least ${pairsMin}
  --peers          measures other programs and libraries beside ours: ${peerNames.join(",")},
                   or those of --only
  --dir DIR        where temporary files go (a disk; default: the system's)
  --prepared DIR   keeps the prepared homes there and uses them again`;

/** Throws an error with a message for people. */
export function parseOptions(args: readonly string[]) {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: text,
      records: text,
      json: text,
      profile: text,
      dir: text,
      prepared: text,
      against: text,
      pairs: text,
      quick: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
    },
  });
  const { only, quick, json = null, profile = null, dir = null, prepared = null, against } = values;
  const usual = sectionNames.filter((name) => !onlyNamed.includes(name));
  const named = values.peers ? [] : (only?.split(",") ?? usual);
  const records = Number(values.records ?? bulkRecordsMax);
  if (!Number.isInteger(records) || records < 1 || records > bulkRecordsMax)
    throw new Error(`--records is a number from 1 to ${bulkRecordsMax}, not ${values.records}.`);
  return {
    sections: named.map((name) => {
      const fault = `There is no section ${name}. Sections are ${sectionNames.join(", ")}.`;
      return oneOf(sectionNames, name, fault);
    }),
    peers: values.peers
      ? (only?.split(",") ?? peerNames).map((name) =>
          oneOf(peerNames, name, `There is no peer ${name}. Peers are ${peerNames.join(", ")}.`),
        )
      : null,
    quick,
    json,
    dir,
    prepared,
    profileTo: profile && resolve(profile),
    records: values.records === undefined ? null : records,
    against: against === undefined ? null : againstOf(against, values),
  };
}

function againstOf(
  commit: string,
  { only, pairs: text }: { readonly only?: string; readonly pairs?: string },
) {
  const pairs = Number(text ?? pairsDefault);
  if (!Number.isInteger(pairs) || pairs < pairsMin)
    throw new Error(`--pairs is a whole number from ${pairsMin}, not ${text}.`);
  const contests = (only?.split(",") ?? contestNames).map((name) =>
    oneOf(contestNames, name, `${name} cannot be compared with a commit, only ${contestNames.join(", ")}.`),
  );
  return { commit, pairs, contests };
}

function oneOf<Name extends string>(names: readonly Name[], name: string, fault: string): Name {
  const known = names.find((each) => each === name);
  if (known === undefined) throw new Error(fault);
  return known;
}
