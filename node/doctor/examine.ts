// The doctor: finds every unsafe setting of a production node, from its start configuration and from what is running.
//   D1. Nothing is started, created or changed.
//   D2. The engines hear nothing that the node itself would not send: they are asked only with settings that the node
//       accepts.
//   D3. Everything that a node would refuse is a finding, and all of them are reported, not just the first.

import { engineFindings } from "./engines.ts";
import { fileFindings } from "./files.ts";
import type { Finding } from "./finding.ts";
import { keyFindings } from "./keys.ts";
import { runningFindings } from "./running.ts";
import { type Env, readSettings } from "./settings.ts";

export type { Finding } from "./finding.ts";

export interface Examination {
  /** The node's environment: its SVC_… settings and those of the runtime. */
  readonly env: Env;
  readonly now: () => number;
  /** Whether Cassandra and Elasticsearch are examined. */
  readonly engines: boolean;
  /** The operations surface of a running node; null for none. */
  readonly node: URL | null;
}

/** Resolves with an empty list if nothing is unsafe. */
export async function examine({ env, now, engines, node }: Examination): Promise<readonly Finding[]> {
  const { config, secrets, findings } = readSettings(env);
  if (config === null) return findings;
  // Refused settings have stand-ins here, so engines are not contacted: a password might go out unencrypted.
  const isWhole = !findings.some(({ code }) => code === "setting_refused");
  return [
    ...findings,
    ...(await fileFindings(config, now())),
    ...(await keyFindings(config, now())),
    ...(engines && isWhole ? await engineFindings(config, secrets, now) : []),
    ...(node === null ? [] : await runningFindings(node, now)),
  ];
}
