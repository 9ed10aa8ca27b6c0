// The engines that sections need: those that the environment names (`SVC_TEST_*`), or a profile that is started for them.

import { EngineUnavailable } from "../../tools/engines/maven.ts";
import { startProfile } from "../../tools/engines/profiles.ts";

export type BenchEngines = ReturnType<typeof enginesIn>;

function enginesIn(env: Readonly<Record<string, string | undefined>>) {
  const list = (name: string): readonly string[] => (env[name] ?? "").split(",");
  return {
    regions: list("SVC_TEST_REGIONS"),
    cassandra: list("SVC_TEST_CASSANDRA"),
    elastic: list("SVC_TEST_ELASTIC"),
    replication: Number(env["SVC_TEST_REPLICATION"] ?? 1),
  };
}

/** Returns null, and says what is not measured, where this machine cannot run them. */
export async function openEngines(
  say: (what: string) => void,
): Promise<(BenchEngines & AsyncDisposable) | null> {
  if ((process.env["SVC_TEST_CASSANDRA"] ?? "") !== "")
    return { ...enginesIn(process.env), [Symbol.asyncDispose]: async () => {} };
  try {
    say("starting engines: regions");
    const profile = await startProfile("regions", { progress: say });
    return { ...enginesIn(profile.env), [Symbol.asyncDispose]: () => profile.stop() };
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    const line = "!".repeat(100);
    console.error(`${line}\nNOT MEASURED: regions of nodes on real engines. ${error.message}.\n${line}`);
    return null;
  }
}
