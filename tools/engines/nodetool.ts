// Cassandra's own commands for operators, as its documents describe them.

import { execFile } from "node:child_process";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { type CassandraPlan, cassandraPackages, jmxPort } from "./cassandra.ts";
import { cassandraDistribution } from "./distributions.ts";
import type { Host } from "./host.ts";
import { provide } from "./maven.ts";

/** The command that runs `nodetool` against a node; what it is to do follows as further arguments. */
export async function nodetoolCommand(
  { address, folder }: Pick<CassandraPlan, "address" | "folder">,
  host: Host,
): Promise<readonly [command: string, ...args: string[]]> {
  const runnable = await provide(cassandraDistribution, host);
  return [
    join(runnable.javaHome, "bin", "java"),
    // It notes what it was asked below the home folder.
    `-Duser.home=${join(folder, "tmp")}`,
    "-XX:TieredStopAtLevel=1",
    "-Xmx64m",
    ...cassandraPackages,
    "-cp",
    [join(folder, "conf"), join(runnable.folder, "*")].join(delimiter),
    "org.apache.cassandra.tools.NodeTool",
    ...["-h", address, "-p", String(jmxPort)],
  ];
}

/** Runs `nodetool` against a node and returns what it printed. Rejects with its output where it fails. */
export async function nodetool(
  plan: Pick<CassandraPlan, "address" | "folder">,
  host: Host,
  order: readonly string[],
): Promise<string> {
  const [command, ...args] = await nodetoolCommand(plan, host);
  const { stdout } = await promisify(execFile)(command, [...args, ...order], {
    env: host.inherited,
    maxBuffer: 1 << 20,
  });
  return stdout;
}
