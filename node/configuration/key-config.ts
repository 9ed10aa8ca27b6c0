// Settings for the keys of a node, besides the folder that holds them.

import { isAbsolute, resolve } from "node:path";
import type { PasskeyOrigins } from "../../protocol/keys/signatures.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { ConfigError, type Env } from "./config-error.ts";

/** A Unix socket, or a port on this machine only. */
export type IssuanceAddress = { readonly socket: string } | { readonly host: string; readonly port: number };

export interface KeyConfig {
  /** The process that has the issuance key, and the file of the secret that authenticates this node to it; null for none. */
  readonly issuance: { readonly address: IssuanceAddress; readonly secretFile: string } | null;
}

/** What the issuance process answers: documents that it issues, and the public halves and the seals of hosted keys. */
export const issuePath = "/issue";
export const hostedKeyPath = "/hosted-key";
export const hostedSealPath = "/hosted-seal";

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

// Where people use their passkeys: the origins of the deployment's portals and their relying party ids (Web Authentication
// Level 3, §5.1.2 and §13.4.9). They are published in the anchors, because every verifier of a seal judges by them.

/** The portal for which the passkeys of the sandbox's samples are made in software. */
const sandboxPortal: PasskeyOrigins = {
  rp_ids: ["portal.svc.example"],
  origins: ["https://portal.svc.example"],
};

const originsSetting = "SVC_PASSKEY_ORIGINS";
const rpIdsSetting = "SVC_PASSKEY_RP_IDS";

/** The limits are those of the anchors' format. */
const bounds = { origins: { count: 64, length: 512 }, rpIds: { count: 16, length: 253 } };

/** Throws {@link ConfigError}: a seal made at a portal that is not named here is valid nowhere. */
export function parsePasskeys(env: Env, environment: Environment): PasskeyOrigins | null {
  const isSet = env[originsSetting] !== undefined || env[rpIdsSetting] !== undefined;
  // Production uses its anchors.
  if (!isSet) return environment === "sandbox" ? sandboxPortal : null;
  const origins = listOf(env, originsSetting, bounds.origins);
  const rpIds = listOf(env, rpIdsSetting, bounds.rpIds);
  for (const origin of origins) checkOrigin(origin, environment);
  for (const rpId of rpIds) checkRpId(rpId, origins);
  const stray = origins.find((origin) => !rpIds.some((rpId) => belongsTo(origin, rpId)));
  if (stray !== undefined) {
    throw new ConfigError(
      rpIdsSetting,
      `names no domain of the origin ${stray}; add its host or a domain above it`,
    );
  }
  return Object.freeze({ rp_ids: rpIds, origins });
}

/**
 * A sandbox whose settings name no portal has one of its own as well, at this address: what is sealed there verifies by the anchors that
 * the sandbox makes.
 */
export function withOwnPortal<C extends { readonly passkeys: PasskeyOrigins | null }>(
  config: C,
  url: string,
): C {
  const { passkeys } = config;
  if (passkeys !== sandboxPortal) return config;
  const { origin, hostname } = new URL(url);
  return {
    ...config,
    passkeys: { rp_ids: [...passkeys.rp_ids, hostname], origins: [...passkeys.origins, origin] },
  };
}

/** Throws {@link ConfigError} if the setting names other portals than the anchors, by which everybody else judges. */
export function assertPublished(passkeys: PasskeyOrigins | null, anchors: PasskeyOrigins): void {
  const sorted = ({ origins, rp_ids }: PasskeyOrigins) =>
    JSON.stringify([[...origins].sort(), [...rp_ids].sort()]);
  if (passkeys === null || sorted(passkeys) === sorted(anchors)) return;
  throw new ConfigError(
    originsSetting,
    "does not name the same portals as the anchors; make anchors that name them (docs/keys.md), or unset both passkey settings",
  );
}

function listOf(
  env: Env,
  setting: string,
  { count, length }: { readonly count: number; readonly length: number },
): readonly string[] {
  const text = env[setting];
  if (text === undefined) {
    throw new ConfigError(
      setting,
      "is missing; name what the portals use, comma-separated, with both passkey settings",
    );
  }
  const items = text.split(",").map((item) => item.trim());
  if (
    items.length > count ||
    new Set(items).size < items.length ||
    items.some((item) => item.length > length)
  ) {
    throw new ConfigError(
      setting,
      `names something twice or too much; use at most ${count}, of ${length} characters each`,
    );
  }
  return items;
}

function checkOrigin(origin: string, environment: Environment): void {
  const url = URL.parse(origin);
  const schemes = environment === "production" ? ["https:"] : ["https:", "http:"];
  if (url !== null && schemes.includes(url.protocol) && url.origin === origin) return;
  throw new ConfigError(
    originsSetting,
    `has ${JSON.stringify(origin)}; use scheme and host only, such as https://portal.example`,
  );
}

function checkRpId(rpId: string, origins: readonly string[]): void {
  const isDomain = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(rpId);
  if (isDomain && origins.some((origin) => belongsTo(origin, rpId))) return;
  throw new ConfigError(
    rpIdsSetting,
    `has ${JSON.stringify(rpId)}; use the host of an origin in ${originsSetting}, or a domain above it, such as portal.example`,
  );
}

/** Nobody owns a whole top-level domain. */
function belongsTo(origin: string, rpId: string): boolean {
  const host = URL.parse(origin)?.hostname;
  return host === rpId || (rpId.includes(".") && host?.endsWith(`.${rpId}`) === true);
}
