// Test suites that need real engines: each starts a profile, runs its vitest projects on it, and stops it again. What needs one
// region runs on the engines of two, so that fewer are started.
//   N1. Where a machine cannot run the engines, the suite says so and its tests count as skipped; in continuous
//       integration this is also a failure.
//   N2. Engines that are present but do not start, and tests that abort, are failures.
//   N3. The engines are gone when the suite is over, regardless of the outcome of its tests.
//   N4. An engine that does not answer any more after the tests is a failure that names it, with the end of its log: the tests
//       themselves can only say that nothing answers.

import { globSync } from "node:fs";
import { serveFaults } from "./engines/control.ts";
import { readHost } from "./engines/host.ts";
import { EngineUnavailable } from "./engines/maven.ts";
import { type EngineProfile, type ProfileName, startProfile } from "./engines/profiles.ts";
import { root, runNode } from "./process.ts";
import { addCounts, binOf, type Counts, type Step, type StepReport, vitestStep } from "./steps.ts";

export interface EngineSuite {
  readonly profile: ProfileName;
  readonly projects: readonly string[];
  /** Its test files, as in vitest.config.ts. */
  readonly files: readonly string[];
}

const filesOf = (...kinds: readonly string[]): readonly string[] =>
  kinds.map((kind) => `**/*.${kind}.test.ts`);

export const engineSuites: readonly EngineSuite[] = [
  {
    profile: "regions",
    projects: ["engines", "regions", "regions-alone"],
    files: filesOf("cassandra", "elastic", "regions"),
  },
  { profile: "quorum", projects: ["quorum"], files: filesOf("quorum") },
];

/** The suite's vitest projects, as arguments. */
export function projectsOf({ projects }: Pick<EngineSuite, "projects">): readonly string[] {
  return projects.flatMap((project) => ["--project", project]);
}

/** Whether there are any tests to start engines for. */
export function hasTests(suite: EngineSuite): boolean {
  const exclude = (path: string): boolean => /(^|[\\/])(node_modules|\.[^\\/]+)$/.test(path);
  return suite.files.some((pattern) => globSync(pattern, { cwd: root, exclude }).length > 0);
}

export interface SuiteTools {
  start(profile: ProfileName, options: { readonly progress: (line: string) => void }): Promise<EngineProfile>;
  /** Runs the suite's tests with `env` added to the environment. */
  test(suite: EngineSuite, env: Readonly<Record<string, string>>): Promise<StepReport>;
  count(suite: EngineSuite): Promise<number>;
  readonly isCi: boolean;
  tell(line: string): void;
}

/** The suite as a step of `npm run test:all`. */
export function engineStep(suite: EngineSuite, tools: SuiteTools = realTools()): Step {
  return {
    name: `tests on real engines (${suite.profile})`,
    async run(): Promise<StepReport> {
      try {
        return await runSuite(suite, tools);
      } catch (error) {
        if (error instanceof EngineUnavailable) return untested(suite, error, tools);
        const output = error instanceof Error ? (error.stack ?? error.message) : String(error);
        const failures = [`the engines of ${suite.profile} did not start`];
        return { counts: { passed: 0, failed: 1, skipped: 0, failures }, output };
      }
    },
  };
}

async function runSuite(suite: EngineSuite, tools: SuiteTools): Promise<StepReport> {
  tools.tell(`Starting real engines: profile ${suite.profile} …`);
  await using engines = await tools.start(suite.profile, { progress: tools.tell });
  await using control = await serveFaults(engines);
  const report = await tools.test(suite, { ...engines.env, SVC_TEST_ENGINES: control.url });
  const asked = await Promise.all(engines.parts.map((part) => part.silence()));
  const silent = asked.filter((each) => each !== null);
  for (const each of silent) tools.tell(each);
  const lost: Counts = { passed: 0, failed: silent.length, skipped: 0, failures: silent.map(firstLine) };
  return { ...report, counts: addCounts([report.counts, lost]) };
}

async function untested(suite: EngineSuite, error: Error, tools: SuiteTools): Promise<StepReport> {
  const skipped = await tools.count(suite);
  const line = "!".repeat(100);
  tools.tell(
    [
      line,
      `NOT TESTED: ${skipped} tests of the profile ${suite.profile}, which need a real Cassandra and Elasticsearch.`,
      `${error.message}.`,
      "They need a JDK 17, a JDK 21 to 25, Maven, and once a network.",
      line,
    ].join("\n"),
  );
  const failures = tools.isCi ? [`the engines of ${suite.profile} are not there: ${error.message}`] : [];
  return { counts: { passed: 0, failed: failures.length, skipped, failures }, output: "" };
}

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

function realTools(): SuiteTools {
  return {
    start: startProfile,
    test: (suite, env) => vitestStep(suite.profile, projectsOf(suite), { show: true, env }).run(),
    count: countTests,
    isCi: readHost().isCi,
    tell: (line) => console.log(line),
  };
}

/** Nothing listens there: the tests are only listed, and many exist only when engines are named. */
const nowhere = { SVC_TEST_CASSANDRA: "127.0.0.1", SVC_TEST_ELASTIC: "http://127.0.0.1:1" };

/** Number of tests that vitest lists, without running any; at least one where it cannot list them. */
async function countTests(suite: EngineSuite): Promise<number> {
  const args = ["list", "--json", "--no-static-parse", ...projectsOf(suite)];
  const { output } = await runNode([binOf("vitest"), ...args], { env: nowhere });
  try {
    const listed: unknown = JSON.parse(output.slice(output.indexOf("[\n")));
    return Array.isArray(listed) ? Math.max(listed.length, 1) : 1;
  } catch {
    return 1;
  }
}
