import { describe, expect, it } from "vitest";
import { type EngineSuite, engineStep, engineSuites, hasTests, type SuiteTools } from "./engine-suites.ts";
import { EngineUnavailable } from "./engines/maven.ts";
import type { EngineProfile } from "./engines/profiles.ts";

const suite: EngineSuite = { profile: "one", projects: ["engines"], files: ["none/*"] };
const passed = { counts: { passed: 3, failed: 0, skipped: 0, failures: [] }, output: "" };

function setUp(change: Partial<SuiteTools> = {}, silences: readonly (string | null)[] = [null]) {
  const told: string[] = [];
  const done: string[] = [];
  const profile = {
    env: { SVC_TEST_CASSANDRA: "127.0.0.9" },
    parts: silences.map((silence) => ({ silence: async () => silence })),
    [Symbol.asyncDispose]: async () => void done.push("stopped"),
  } as unknown as EngineProfile;
  const tools: SuiteTools = {
    start: async (name) => {
      done.push(`started ${name}`);
      return profile;
    },
    test: async (_, env) => {
      done.push(`tested ${Object.keys(env).join(" ")}`);
      return passed;
    },
    count: async () => 12,
    isCi: false,
    tell: (line) => void told.push(line),
    ...change,
  };
  return { told, done, step: engineStep(suite, tools) };
}

const cannotStart = async (): Promise<EngineProfile> => {
  throw new EngineUnavailable("cassandra needs a JDK 17, and none was found");
};

describe("a suite on real engines", () => {
  it("tests on a profile of its own and stops it", async () => {
    const { done, step } = setUp();
    expect(await step.run()).toEqual(passed);
    expect(done).toEqual(["started one", "tested SVC_TEST_CASSANDRA SVC_TEST_ENGINES", "stopped"]);
  });

  it("stops the engines when its tests break off, which is a failure (N2, N3)", async () => {
    const test = async (): Promise<never> => {
      throw new Error("broke off");
    };
    const { done, step } = setUp({ test });
    expect(await step.run()).toMatchObject({ counts: { passed: 0, failed: 1 } });
    expect(done).toEqual(["started one", "stopped"]);
  });

  it("fails for each engine that does not answer any more after its tests, and says why (N4)", async () => {
    const silences = [null, "Cassandra has ended.", "Elasticsearch does not answer."];
    const { told, step } = setUp({}, silences);
    expect(await step.run()).toEqual({
      ...passed,
      counts: { passed: 3, failed: 2, skipped: 0, failures: silences.slice(1) },
    });
    expect(told).toEqual(expect.arrayContaining(silences.slice(1)));
  });

  it("says loudly what was not tested, and counts it as skipped (N1)", async () => {
    const { told, step } = setUp({ start: cannotStart });
    expect((await step.run()).counts).toMatchObject({ passed: 0, failed: 0, skipped: 12 });
    expect(told.join("\n")).toContain("NOT TESTED: 12 tests");
    expect(told.join("\n")).toContain("needs a JDK 17, and none was found");
  });

  it("is a failure in continuous integration where it could not run (N1)", async () => {
    const { step } = setUp({ start: cannotStart, isCi: true });
    expect((await step.run()).counts).toMatchObject({ passed: 0, failed: 1, skipped: 12 });
  });

  it("is a failure, never a skip, where engines are there and do not start (N2)", async () => {
    const start = async (): Promise<never> => {
      throw new Error("Cassandra ended before it was ready");
    };
    const { step } = setUp({ start });
    const { counts, output } = await step.run();
    expect(counts).toMatchObject({ passed: 0, failed: 1, skipped: 0 });
    expect(output).toContain("ended before it was ready");
  });

  it("is found by its files", () => {
    expect(engineSuites.map(hasTests)).toEqual([true, true]);
    expect(hasTests(suite)).toBe(false);
  });
});
