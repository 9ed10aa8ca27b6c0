// Cassandra's own commands for operators, as its documents describe them.

import { execFile } from "node:child_process";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { type CassandraPlan, cassandraPackages, jmxPort } from "./cassandra.ts";
import { cassandraDistribution } from "./distributions.ts";
import type { Host } from "./host.ts";
import { provide } from "./maven.ts";

/** Runs `nodetool` against a node and returns what it printed. Rejects with its output where it fails. */
export async function nodetool(
  { address, folder }: Pick<CassandraPlan, "address" | "folder">,
  host: Host,
  command: readonly string[],
): Promise<string> {
  const runnable = await provide(cassandraDistribution, host);
  const options = [
    // It notes what it was asked below the home folder.
    `-Duser.home=${join(folder, "tmp")}`,
    "-XX:TieredStopAtLevel=1",
    "-Xmx64m",
    ...cassandraPackages,
    "-cp",
    [join(folder, "conf"), join(runnable.folder, "*")].join(delimiter),
    "org.apache.cassandra.tools.NodeTool",
  ];
  const args = [...options, "-h", address, "-p", String(jmxPort), ...command];
  const { stdout } = await promisify(execFile)(join(runnable.javaHome, "bin", "java"), args, {
    env: host.inherited,
    maxBuffer: 1 << 20,
  });
  return stdout;
}
