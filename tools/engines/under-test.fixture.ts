// The real engines against which a test runs, as named in the environment.

import { faultsAt } from "./control.ts";
import type { EngineFaults } from "./profiles.ts";

export interface EnginesUnderTest {
  /** Addresses of the Cassandra nodes; the first ones belong to the first region. */
  readonly cassandra: readonly string[];
  /** `http://address:port` of each region's Elasticsearch. */
  readonly elastic: readonly string[];
  /** Data centres, whose names are those of the regions. */
  readonly regions: readonly string[];
  /** Number of copies of a row in each data centre. */
  readonly replication: number;
  /** Throws where the engines were started by hand, which tests must not make fail, and in a file that does not run alone. */
  readonly faults: () => EngineFaults;
}

/** Throws an error that explains how to get engines, where none are named. */
export function enginesUnderTest(
  env: Readonly<Record<string, string | undefined>> = process.env,
): EnginesUnderTest {
  const list = (name: string): readonly string[] => {
    const value = env[name];
    if (value === undefined || value === "") {
      throw new Error(
        `${name} is not set. Start engines with \`node tools/run.mjs tools/engines/main.ts --profile one\`, ` +
          "and run the test with the environment that it prints; or run `npm run test:all`.",
      );
    }
    return value.split(",");
  };
  return {
    cassandra: list("SVC_TEST_CASSANDRA"),
    elastic: list("SVC_TEST_ELASTIC"),
    regions: (env["SVC_TEST_REGIONS"] ?? "eu-west1").split(","),
    replication: Number(env["SVC_TEST_REPLICATION"] ?? 1),
    faults: () => {
      const url = env["SVC_TEST_ENGINES"];
      if (url === undefined) throw new Error("The engines were not started by the test run.");
      if (env["SVC_TEST_RUNS_ALONE"] === undefined)
        throw new Error(
          "Other files use the engines at the same time: see `failRegions` in vitest.config.ts.",
        );
      return faultsAt(url);
    },
  };
}
