// The doctor: every unsafe setting of a production node, from what it would start with and from what runs.
//   D1. Nothing is started, made or changed.
//   D2. Nothing is said to an engine that the node itself would not say: engines are asked only with settings that it takes.
//   D3. Whatever a node would refuse is a finding, and all of them are told, not the first.

import { engineFindings } from "./engines.ts";
import { fileFindings } from "./files.ts";
import type { Finding } from "./finding.ts";
import { keyFindings } from "./keys.ts";
import { runningFindings } from "./running.ts";
import { type Env, readSettings } from "./settings.ts";

export type { Finding } from "./finding.ts";

export interface Examination {
  /** The settings of the node, SVC_… and those of the runtime. */
  readonly env: Env;
  readonly now: () => number;
  /** Whether Cassandra and Elasticsearch are asked. */
  readonly engines: boolean;
  /** Operations surface of a running node; null for none. */
  readonly node: URL | null;
}

/** Empty when nothing is unsafe. */
export async function examine({ env, now, engines, node }: Examination): Promise<readonly Finding[]> {
  const { config, secrets, findings } = readSettings(env);
  if (config === null) return findings;
  // What was refused stands for something else here: a password might go out in the clear.
  const isWhole = !findings.some(({ code }) => code === "setting_refused");
  return [
    ...findings,
    ...(await fileFindings(config, now())),
    ...(await keyFindings(config, now())),
    ...(engines && isWhole ? await engineFindings(config, secrets, now) : []),
    ...(node === null ? [] : await runningFindings(node, now)),
  ];
}
