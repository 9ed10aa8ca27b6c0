// How ads are paid.

import { currencies } from "../protocol/records/vocabularies/currencies.ts";
import { ConfigError } from "./config-error.ts";
import { parseBounded } from "./retention-config.ts";

export interface AdConfig {
  /** ISO 4217: campaigns in other currencies are refused. */
  readonly currency: string;
  /** The share of a gross price that the AI company earns, in per cent. */
  readonly sharePercent: number;
}

export function parseAds(env: Readonly<Record<string, string | undefined>>): AdConfig {
  const currency = env["SVC_AD_CURRENCY"] ?? "EUR";
  if (!currencies.codes.has(currency))
    throw new ConfigError(
      "SVC_AD_CURRENCY",
      `is ${JSON.stringify(currency)}; use an ISO 4217 code such as EUR`,
    );
  const share = { name: "SVC_AD_SHARE_PERCENT", min: 1, max: 100, otherwise: 70 };
  return { currency, sharePercent: parseBounded(env, share) };
}
