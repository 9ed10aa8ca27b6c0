// How long a node keeps what says who asked for what: receipts in the store, and the lines of its log file.

import { ConfigError } from "./config-error.ts";

export interface RetentionConfig {
  /** Days that a receipt is kept, at least; an hour and some minutes more at most, while nodes run. */
  readonly receiptDays: number;
  /** Days that a line of the log file is kept, at most two more. */
  readonly logDays: number;
  /** MiB that all log files of the node take together, at most. */
  readonly logMebibytes: number;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  /** Where the setting is not there. */
  readonly otherwise: number;
}

export const retentionSettings = {
  // A year of accounts, and time to close them.
  receiptDays: { name: "SVC_RECEIPT_RETENTION_DAYS", min: 1, max: 36_500, otherwise: 400 },
  logDays: { name: "SVC_LOG_RETENTION_DAYS", min: 1, max: 3_650, otherwise: 30 },
  logMebibytes: { name: "SVC_LOG_MEBIBYTES", min: 8, max: 1_048_576, otherwise: 512 },
} as const satisfies Record<keyof RetentionConfig, Bounds & { readonly name: string }>;

/** Throws {@link ConfigError}. */
export function parseRetention(env: Readonly<Record<string, string | undefined>>): RetentionConfig {
  const { receiptDays, logDays, logMebibytes } = retentionSettings;
  return Object.freeze({
    receiptDays: parseBounded(env, receiptDays),
    logDays: parseBounded(env, logDays),
    logMebibytes: parseBounded(env, logMebibytes),
  });
}

function parseBounded(
  env: Readonly<Record<string, string | undefined>>,
  { name, min, max, otherwise }: Bounds & { readonly name: string },
): number {
  const text = env[name];
  if (text === undefined) return otherwise;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(name, `is ${JSON.stringify(text)}; use a whole number from ${min} to ${max}`);
}
