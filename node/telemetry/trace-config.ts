// Whether, where to and how many traces a node sends.

import { ConfigError, type Env } from "../configuration/config-error.ts";

export interface TraceConfig {
  /** The address that takes traces by OTLP over HTTP; null if none are recorded. */
  readonly endpoint: string | null;
  /** The share of requests that are recorded, 0 to 1. */
  readonly ratio: number;
}

const endpointSetting = "SVC_OTLP_ENDPOINT";
const ratioSetting = "SVC_TRACE_RATIO";

/** Throws {@link ConfigError}. */
export function parseTracing(env: Env): TraceConfig {
  const endpoint = env[endpointSetting];
  const text = env[ratioSetting];
  if (endpoint === undefined && text !== undefined)
    throw new ConfigError(ratioSetting, `has no effect without ${endpointSetting}; set that, or unset it`);
  return Object.freeze({
    endpoint: endpoint === undefined ? null : parseEndpoint(endpoint),
    ratio: text === undefined ? 0.1 : parseRatio(text),
  });
}

/** A path of its own is kept; without one it is that of the protocol. */
function parseEndpoint(text: string): string {
  const url = URL.parse(text);
  const isUsable =
    url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!isUsable)
    throw new ConfigError(
      endpointSetting,
      "is not the address of a collector; use one like http://127.0.0.1:4318, without user information",
    );
  if (url.pathname === "/") url.pathname = "/v1/traces";
  return url.href;
}

function parseRatio(text: string): number {
  const ratio = /^(?:0|1|0?\.[0-9]{1,6}|1\.0|0\.0)$/.test(text) ? Number(text) : Number.NaN;
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new ConfigError(ratioSetting, `is ${JSON.stringify(text)}; use a share from 0 to 1, such as 0.1`);
}
