// The command-line options of `npm run cluster`.

import { join, resolve } from "node:path";
import { portsSpan } from "./cluster-nodes.ts";
import { parseInteger, parseOptions, UsageError } from "./command-line.ts";
import { neighbour } from "./engines/addresses.ts";
import { root } from "./process.ts";

/** Number of regions in the engine profile on which the cluster runs. */
export const regionCount = 2;

export interface ClusterOptions {
  /** Absolute path. */
  readonly home: string;
  readonly fresh: boolean;
  /** First loopback address of the engines. */
  readonly base: string;
  /** First port of the first node. */
  readonly portBase: number;
}

const defaults = { home: ".svc-cluster", base: "127.0.77.1", portBase: "7400" } as const;
const portMin = 1_024;
const portMax = 65_535;

export const clusterHelp = `npm run cluster [-- OPTIONS]
  Two regions on this machine, with real engines (Cassandra and Elasticsearch, fetched the first time) and four nodes.

  --fresh           forget what an earlier start left
  --home DIR        where everything is kept (${defaults.home})
  --port-base N     first port of the first node; each node has ten (${defaults.portBase})
  --base 127.A.B.C  first loopback address of the engines (${defaults.base})
  --help            show this

Ctrl-C stops everything. Ends with 0 stopped · 1 it cannot run here · 2 wrong usage · 130 interrupted while starting`;

/** Parses the options; throws a UsageError. */
export function parseClusterOptions(args: readonly string[]): ClusterOptions {
  const values = parseOptions(args, {
    fresh: { type: "boolean", default: false },
    home: { type: "string", default: join(root, defaults.home) },
    base: { type: "string", default: defaults.base },
    "port-base": { type: "string", default: defaults.portBase },
  });
  const range = { min: portMin, max: portMax - portsSpan(regionCount) };
  return {
    home: resolve(values.home),
    fresh: values.fresh,
    base: parseBase(values.base),
    portBase: parseInteger("--port-base", values["port-base"], range),
  };
}

function parseBase(text: string): string {
  try {
    for (let index = 0; index < regionCount; index += 1) neighbour(text, index);
    return text;
  } catch {
    throw new UsageError(
      `--base must be a loopback address like ${defaults.base}, not ${JSON.stringify(text)}.`,
    );
  }
}
