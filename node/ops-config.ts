// Where the operators' surface listens, and what an operator must present. It is separate from the public surfaces: it has
// its own address, which is loopback unless set otherwise.

import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import { keepFirst } from "../crypto/durable-file.ts";
import type { OpsAccess } from "../ops/guard.ts";
import { ConfigError } from "./config-error.ts";
import { parseHosts } from "./host-list.ts";

export interface OpsConfig {
  readonly host: string;
  /** The port to listen on; null selects the fifth of the node's ports. */
  readonly port: number | null;
  /** Further values of Host that it answers, in lower case with the port. */
  readonly hosts: readonly string[];
  /** Absolute path of the file that holds the token; created if missing. */
  readonly tokenFile: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const tokenLengthMin = 32;
/** Files in the home folder: the URL of the running node's surface, and its token unless set otherwise. */
export const opsUrlFile = "ops-url";
export const opsTokenFile = "ops-token";

/** Throws {@link ConfigError}. */
export function parseOpsConfig(env: Env, node: { readonly home: string; readonly host: string }): OpsConfig {
  const listen = env["SVC_OPS_LISTEN"];
  const tokenFile = env["SVC_OPS_TOKEN_FILE"];
  return Object.freeze({
    ...(listen === undefined
      ? { host: isLoopback(node.host) ? node.host : "127.0.0.1", port: null }
      : parseListen(listen)),
    hosts: parseHosts("SVC_OPS_HOSTS", env, "ops.internal:7304"),
    tokenFile: tokenFile === undefined ? join(resolve(node.home), opsTokenFile) : resolve(tokenFile),
  });
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-f:]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? "";
  if ((isIP(host) !== 0 || host === "localhost") && Number(port) <= 65_535)
    return { host, port: Number(port) };
  throw new ConfigError(
    "SVC_OPS_LISTEN",
    `is ${JSON.stringify(text)}; use an address and a port, such as 127.0.0.1:7304`,
  );
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}

/** Reads the token, or creates one if missing. Throws {@link ConfigError} for one that others can read or guess. */
export async function loadOpsAccess({ host, hosts, tokenFile }: OpsConfig, port: number): Promise<OpsAccess> {
  const token = (await keepFirst(tokenFile, `${randomBytes(32).toString("base64url")}\n`)).trim();
  if (((await stat(tokenFile)).mode & 0o077) !== 0) {
    throw new ConfigError("SVC_OPS_TOKEN_FILE", `${tokenFile} can be read by others; give it mode 0600`);
  }
  const fault = tokenFault(token);
  if (fault !== null) {
    throw new ConfigError(
      "SVC_OPS_TOKEN_FILE",
      `${tokenFile} ${fault}; remove it and start again to create a new one`,
    );
  }
  const names = isLoopback(host) ? [host, "localhost", "127.0.0.1", "::1"] : [host];
  const own = names.map((name) => `${name.includes(":") ? `[${name}]` : name}:${port}`);
  return { hosts: [...new Set([...own, ...hosts])], token, isLoopback: isLoopback(host) };
}

/** What is wrong with a token; null if it is acceptable. */
export function tokenFault(token: string): string | null {
  if (token.length >= tokenLengthMin && /^[\x21-\x7e]+$/.test(token)) return null;
  return `needs one line of at least ${tokenLengthMin} printable characters`;
}
