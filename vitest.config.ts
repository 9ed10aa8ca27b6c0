import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./tools/test-order.ts";
import { testSeed } from "./tools/test-seed.ts";
import { pureFolders } from "./tools/tidy/import-table.ts";

// Every process that runs tests, and every one that these start, keeps what it compiled (tools/run.mjs does the same).
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/compiled`;

/** Tests that touch nothing outside their own memory share one module graph. */
const pureTests = [
  ...pureFolders.filter((each) => !each.includes("/")).map((folder) => `${folder}/**/*.test.ts`),
  "storage/*.test.ts",
  "transport/*.test.ts",
  "tools/*.test.ts",
];
const notTests = ["**/node_modules/**", ".svc/**", ".svc-cluster/**", "coverage/**"];
/** Left out by `npm run check`. */
const manyCases = ["**/*.property.test.ts", "**/*.wycheproof.test.ts", "tools/steps.test.ts"];
/** Tests that need a process of their own: they measure its memory, or change what all of it shares. */
const alone = "**/*.alone.test.ts";
/** Real processes, which need nothing but npm. */
const endToEnd = "**/*.e2e.test.ts";
/** Only in `npm run test:all`: they need a browser, Go, Python or further packages, or are dear. */
const full = "**/*.full.test.ts";
/** Of those, what only computes: it yields to the tests on real engines, which mostly wait for one another. */
const computing = [
  "sim/**/*.full.test.ts",
  ...["dsse-elsewhere", "fuzz-faults", "image", "vectors-elsewhere", "verdicts"].map(
    (name) => `tools/${name}.full.test.ts`,
  ),
];
/** Tests against real engines, which are named in the environment by the program that starts them: see tools/engine-suites.ts. */
const onEngines = {
  engines: ["**/*.cassandra.test.ts", "**/*.elastic.test.ts"],
  regions: ["**/*.regions.test.ts"],
  quorum: ["**/*.quorum.test.ts"],
};
/** The files on two regions that make an engine fail, which is then away for every other file too. */
const failRegions = [
  "stories/regions/push-life.regions.test.ts",
  "stories/regions/region-loss.regions.test.ts",
];
// Time-outs are for what hangs: a machine may take the processor away for a minute.
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } };
/** Each file has its own names in the engines. With more files at a time, nodes of a busy machine lose leases that no test took from them. */
const together = { maxWorkers: 2, sequence: { groupOrder: 1 } } as const;
/** One file at a time, when the others are over. */
const oneByOne = {
  fileParallelism: false,
  sequence: { groupOrder: 2 },
  env: { SVC_TEST_RUNS_ALONE: "yes" },
} as const;
const unlimited = {
  SVC_KEY_REQUESTS_PER_SECOND: "0",
  SVC_KEY_QUERY_COST_PER_MINUTE: "0",
};
const notHere = [...notTests, alone, endToEnd, full, ...Object.values(onEngines).flat()];
const seed = testSeed(process.env);
const patientWithProcesses = { testTimeout: 300_000, hookTimeout: 300_000 };
const patientWhereItYields = { testTimeout: 1_200_000, hookTimeout: 1_200_000 };

const project = (name: string, test: object) => ({
  extends: true as const,
  test: { name, exclude: notTests, pool: "forks" as const, ...patient, ...test },
});

export default defineConfig(({ mode }) => ({
  test: {
    // Half of the time a test waits for the disk, a timer or what it started.
    maxWorkers: 2 * availableParallelism(),
    // Tests ask more of a node than its limits let one caller ask; those that are about the limits set them.
    env: { ...unlimited, SVC_TEST_SEED: String(seed) },
    setupFiles: ["./tools/test-set-up.ts"],
    // Files that share a process must not lean on the order in which they come.
    sequence: { sequencer: LongestFirst, seed },
    // Sources run as Node runs them, so that what Node refuses (an `enum`) fails here too.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: [
      project("pure", {
        include: pureTests,
        exclude: [...notHere, ...(mode === "quick" ? manyCases : [])],
        pool: "threads",
        isolate: false,
      }),
      // Most of what such a file costs is compiling a node, so they share processes.
      project("io", { include: ["**/*.test.ts"], exclude: [...notHere, ...pureTests], isolate: false }),
      project("alone", { include: [alone] }),
      project("e2e", { include: [endToEnd], ...patientWithProcesses }),
      project("full", { include: [full], exclude: [...notTests, ...computing], ...patientWithProcesses }),
      project("computing", { include: computing, ...patientWhereItYields }),
      project("engines", { include: onEngines.engines, ...together }),
      project("regions", {
        include: onEngines.regions,
        exclude: [...notTests, ...failRegions],
        ...together,
      }),
      project("regions-alone", { include: failRegions, ...oneByOne }),
      project("quorum", { include: onEngines.quorum, ...oneByOne }),
    ],
  },
}));
