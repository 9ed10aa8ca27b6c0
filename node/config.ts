// Configuration of a node: the only file that reads the process environment. Read once, checked, frozen.

import { isAbsolute, resolve } from "node:path";
import type { Environment } from "../service/service-keys.ts";

export interface NodeConfig {
  readonly environment: Environment;
  /** `^[a-z]+-[a-z]+[0-9]+$`, as the log inclusion read names regions. */
  readonly region: string;
  /** Absolute path of the node's home folder. */
  readonly home: string;
  /** N retrieval, N+1 business, N+2 verification, N+3 tools, N+4 ops; 0 takes any five free ports. */
  readonly portBase: number;
  /** Address to listen on. */
  readonly host: string;
  readonly logLevel: string;
  /** `file` is `node.log` in the home folder, so that a sandbox's terminal shows its tour; `stdout` is for collectors. */
  readonly logTo: "file" | "stdout";
}

export interface NodeOptions {
  readonly home?: string;
  readonly portBase?: number;
  readonly host?: string;
  readonly environment?: string;
  readonly region?: string;
  readonly logLevel?: string;
  readonly logTo?: string;
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

/** A setting that cannot be used: names it and says what would do. */
export class ConfigError extends Error {
  constructor(setting: string, fix: string) {
    super(`${setting}: ${fix}`);
    this.name = "ConfigError";
  }
}

/** Options win over the environment (`SVC_*`), which wins over the defaults. Throws {@link ConfigError}. */
export function loadConfig(
  options: NodeOptions = {},
  env: Readonly<Record<string, string | undefined>> = process.env,
): NodeConfig {
  const environment = options.environment ?? env["SVC_ENVIRONMENT"] ?? "sandbox";
  if (environment !== "sandbox" && environment !== "production") {
    throw new ConfigError("SVC_ENVIRONMENT", `is ${JSON.stringify(environment)}; use sandbox or production`);
  }
  const region = options.region ?? env["SVC_REGION"] ?? "local-node1";
  if (!/^[a-z]+-[a-z]+[0-9]+$/.test(region)) {
    throw new ConfigError("SVC_REGION", `is ${JSON.stringify(region)}; use a name like eu-west1`);
  }
  const home = options.home ?? env["SVC_HOME"] ?? ".svc";
  const portBase = options.portBase ?? parsePort(env["SVC_PORT_BASE"] ?? "7300");
  if (!Number.isInteger(portBase) || portBase < 0 || portBase > 65_531) {
    throw new ConfigError("SVC_PORT_BASE", `is ${portBase}; use a port from 1 to 65531, the first of five`);
  }
  const logLevel = options.logLevel ?? env["SVC_LOG_LEVEL"] ?? "info";
  if (!logLevels.includes(logLevel)) {
    throw new ConfigError(
      "SVC_LOG_LEVEL",
      `is ${JSON.stringify(logLevel)}; use one of ${logLevels.join(", ")}`,
    );
  }
  const logTo = options.logTo ?? env["SVC_LOG_TO"] ?? (environment === "sandbox" ? "file" : "stdout");
  if (logTo !== "file" && logTo !== "stdout") {
    throw new ConfigError("SVC_LOG_TO", `is ${JSON.stringify(logTo)}; use file or stdout`);
  }
  return Object.freeze({
    environment,
    region,
    home: isAbsolute(home) ? home : resolve(home),
    portBase,
    host: options.host ?? env["SVC_HOST"] ?? "127.0.0.1",
    logLevel,
    logTo,
  });
}

function parsePort(text: string): number {
  return /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
}
