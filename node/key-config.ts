// Settings for the keys of a node, besides the folder that holds them.

import { isAbsolute, resolve } from "node:path";
import { ConfigError } from "./config-error.ts";

/** A Unix socket, or a port on this machine only. */
export type IssuanceAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

export interface KeyConfig {
  /** The process that has the issuance key, and the file of the secret that authenticates this node to it; null for none. */
  readonly issuance: { readonly address: IssuanceAddress; readonly secretFile: string } | null;
}

/** The address of the issuance process. */
export const issuePath = "/issue";

type Env = Readonly<Record<string, string | undefined>>;

const addressForms = "unix:/run/svc/issuance.sock or 127.0.0.1:7399";

/** Throws {@link ConfigError}. */
export function parseKeyConfig(env: Env, environment: string): KeyConfig {
  const [address, secretFile] = [env["SVC_ISSUANCE"], env["SVC_ISSUANCE_SECRET_FILE"]];
  if (address === undefined && secretFile === undefined) return { issuance: null };
  const given = address === undefined ? "SVC_ISSUANCE_SECRET_FILE" : "SVC_ISSUANCE";
  if (environment === "sandbox")
    throw new ConfigError(given, "has no effect in a sandbox, which issues everything itself; unset it");
  if (address === undefined) throw new ConfigError("SVC_ISSUANCE", `is missing; use ${addressForms}`);
  if (secretFile === undefined)
    throw new ConfigError(
      "SVC_ISSUANCE_SECRET_FILE",
      "is missing; name the file of this node's secret (`svc keys create-secret`)",
    );
  return {
    issuance: Object.freeze({
      address: parseIssuanceAddress("SVC_ISSUANCE", address),
      secretFile: resolve(secretFile),
    }),
  };
}

/** Throws {@link ConfigError}: this traffic must not leave the machine, because it is not encrypted. */
export function parseIssuanceAddress(setting: string, text: string): IssuanceAddress {
  if (text.startsWith("unix:") && isAbsolute(text.slice(5))) return { socket: text.slice(5) };
  const [, host, port] = /^(127\.0\.0\.1|\[::1\]|localhost):([0-9]{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) <= 65_535)
    return { host: host.replaceAll(/[[\]]/g, ""), port: Number(port) };
  throw new ConfigError(setting, `is ${JSON.stringify(text)}; use ${addressForms}, on this machine`);
}
