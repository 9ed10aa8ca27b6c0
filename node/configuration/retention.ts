// How long a node keeps what is not kept for ever: receipts in the store, the lines of its log file, and held pushes.

import { type Bounds, type Env, parseBounded } from "./config-error.ts";

export interface RetentionConfig {
  /** Minimum number of days that a receipt is kept; at most an hour and some minutes longer, while nodes run. */
  readonly receiptDays: number;
  /** Number of days for which a day's analytics are kept after it. */
  readonly analyticsDays: number;
  /** Number of days that a line of the log file is kept; at most two more. */
  readonly logDays: number;
  /** Maximum size of all the node's log files together, in MiB. */
  readonly logMebibytes: number;
  /** Number of hours after which the purge of a deleted record begins; it is over within 30 days. */
  readonly purgeHours: number;
  /** Number of days that a held push, with its staged bytes, waits for a decision. */
  readonly holdDays: number;
}

export const retentionSettings = {
  // A financial year, and time to close its accounts.
  receiptDays: { name: "SVC_RECEIPT_RETENTION_DAYS", min: 1, max: 36_500, otherwise: 400 },
  // A year, and a month to compare it with the one before.
  analyticsDays: { name: "SVC_ANALYTICS_RETENTION_DAYS", min: 1, max: 3_650, otherwise: 400 },
  logDays: { name: "SVC_LOG_RETENTION_DAYS", min: 1, max: 3_650, otherwise: 30 },
  logMebibytes: { name: "SVC_LOG_MEBIBYTES", min: 8, max: 1_048_576, otherwise: 512 },
  // A day less than is promised, for stores that are away when it is due.
  purgeHours: { name: "SVC_PURGE_AFTER_HOURS", min: 0, max: 719, otherwise: 696 },
  // Its staged bytes may be those of a record that is deleted meanwhile, which are gone within 30 days.
  holdDays: { name: "SVC_HOLD_DAYS", min: 1, max: 30, otherwise: 30 },
} as const satisfies Record<keyof RetentionConfig, Bounds & { readonly name: string }>;

/** Throws {@link ConfigError}. */
export function parseRetention(env: Env): RetentionConfig {
  const { receiptDays, analyticsDays, logDays, logMebibytes, purgeHours, holdDays } = retentionSettings;
  return Object.freeze({
    receiptDays: parseBounded(env, receiptDays),
    analyticsDays: parseBounded(env, analyticsDays),
    logDays: parseBounded(env, logDays),
    logMebibytes: parseBounded(env, logMebibytes),
    purgeHours: parseBounded(env, purgeHours),
    holdDays: parseBounded(env, holdDays),
  });
}
