// How soon the transparency log takes up what happens, and who cosigns its checkpoints.

import type { LogIntervals } from "../actors/log-sequencer/definition.ts";
import type { Environment } from "../service/service-keys.ts";
import { ConfigError } from "./config-error.ts";
import { parseWitnesses, type WitnessConfig } from "./witness/witness-config.ts";

export type LogConfig = LogIntervals & WitnessConfig;

const leaves = "SVC_LOG_INTERVAL_SECONDS";
const receipts = "SVC_LOG_RECEIPTS_SECONDS";

/** A sandbox shows a proof while its user watches; the specification sequences hourly, and receipt batches as they close. */
const defaults = { sandbox: { leaves: 5, receipts: 1 }, production: { leaves: 3_600, receipts: 1 } } as const;
const secondsMax = 86_400;

/** Throws {@link ConfigError}. */
export function parseLog(
  env: Readonly<Record<string, string | undefined>>,
  environment: Environment,
): LogConfig {
  const otherwise = defaults[environment];
  return Object.freeze({
    leafMs: parseSeconds(env, leaves, otherwise.leaves) * 1_000,
    receiptsMs: parseSeconds(env, receipts, otherwise.receipts) * 1_000,
    ...parseWitnesses(env),
  });
}

function parseSeconds(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  otherwise: number,
): number {
  const text = env[name];
  if (text === undefined) return otherwise;
  const value = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= secondsMax) return value;
  throw new ConfigError(name, `is ${JSON.stringify(text)}; use a whole number from 0 to ${secondsMax}`);
}
