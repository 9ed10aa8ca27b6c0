// The engines that sections need: those that the environment names (`SVC_TEST_*`), or a profile that is started for them.

import { EngineUnavailable } from "../../tools/engines/maven.ts";
import { startProfile } from "../../tools/engines/profiles.ts";

export interface BenchEngines extends AsyncDisposable {
  /** In the same order: the regions, the Cassandra node of each (`host:port`), the Elasticsearch of each (a URL). */
  readonly regions: readonly string[];
  readonly cassandra: readonly string[];
  readonly elastic: readonly string[];
}

/** Returns null, and says what is not measured, where this machine cannot run them. */
export async function openEngines(
  profileName: Parameters<typeof startProfile>[0],
  what: string,
  say: (what: string) => void,
): Promise<BenchEngines | null> {
  const list = (name: string): readonly string[] => (process.env[name] ?? "").split(",");
  if (list(profileName === "regions" ? "SVC_TEST_CASSANDRA" : "SVC_TEST_ELASTIC").join() !== "")
    return {
      regions: list("SVC_TEST_REGIONS"),
      cassandra: list("SVC_TEST_CASSANDRA").map(withPort),
      elastic: list("SVC_TEST_ELASTIC"),
      [Symbol.asyncDispose]: async () => {},
    };
  try {
    say(`starting engines: ${profileName}`);
    const profile = await startProfile(profileName, { progress: say });
    return {
      regions: profile.cassandra.map(({ dataCenter }) => dataCenter),
      cassandra: profile.cassandra.map(({ address }) => withPort(address)),
      elastic: profile.elastic.map(({ url }) => url),
      [Symbol.asyncDispose]: () => profile.stop(),
    };
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
    const line = "!".repeat(100);
    console.error(`${line}\nNOT MEASURED: ${what}. ${error.message}.\n${line}`);
    return null;
  }
}

function withPort(address: string): string {
  return `${address}:9042`;
}
