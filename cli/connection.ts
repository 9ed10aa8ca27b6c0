// As whom a command acts and which service it calls: the sandbox that `svc start` wrote into its home folder, or a
// configuration file.

import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createSvcClient, type SvcClient } from "../client/service-client.ts";
import { parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import type { Sandbox, SandboxKey } from "../node/sandbox/sandbox-file.ts";
import {
  type Arguments,
  type Call,
  type Command,
  type CommandContext,
  optionsOf,
  UsageError,
} from "./command.ts";
import { recordingKey } from "./own-seals.ts";

export const defaultHome = ".svc";

export interface Connection {
  readonly client: SvcClient;
  readonly key: SigningKey;
  readonly environment: "sandbox" | "production";
  /** The country used by searches that do not name one; null when unknown. */
  readonly country: string | null;
  /** Distinguishes the owners of pushes that are kept in one home folder. */
  readonly identity: string;
}

/** Options of commands that call the service. */
export const connectionOptions = `
    --home DIR     the node's home folder (default ${defaultHome})
    --config FILE  configuration for a service elsewhere, or its profile's name (default SVC_CONFIG; docs/svc.md)
    --key N|ID     key to use: a number from 1, or a key_id`;

const configHelp = optionsOf(connectionOptions)["config"]?.help;
/** With one of these a command names its party itself. */
const ownParty = ["config", "home", "business", "company"];

/**
 * The arguments, with `SVC_CONFIG` for the configuration of a command that acts as a party and names none. A name without a dot or slash is
 * that of a profile: `NAME.json` in the folder `svc` of the user's configurations (XDG Base Directory Specification).
 */
export function withConfig(command: Command, args: Arguments, env: CommandContext["env"]): Arguments {
  const file = env["SVC_CONFIG"];
  const takesOne = optionsOf(command.options)["config"]?.help === configHelp;
  const isOwn = !takesOne || ownParty.some((name) => args.text(name) !== null);
  const named = args.text("config") ?? (isOwn ? undefined : file);
  if (named === undefined) return args;
  const folder = env["XDG_CONFIG_HOME"] ?? join(env["HOME"] ?? homedir(), ".config");
  const path = /^[\w-]+$/.test(named) ? join(folder, "svc", `${named}.json`) : named;
  return { ...args, text: (name) => (name === "config" ? path : args.text(name)) };
}

export type Side = "business" | "ai_company";

/** Throws {@link UsageError} where the files do not say which service to call, or as whom. */
export async function connect(side: Side, call: Call): Promise<Connection> {
  const config = call.text("config");
  const connection =
    config === null ? await connectSandbox(side, call) : await connectConfigured(config, call);
  return { ...connection, key: recordingKey(connection.key, homeOf(call)) };
}

/** The options with which another command acts as the same business of the same service, as one types them. */
export function sameBusiness(args: Arguments): string {
  const names = args.text("config") === null ? ["business", "home"] : ["config"];
  return names
    .map((name) => [name, args.text(name)] as const)
    .map(([name, value]) => (value === null ? "" : ` --${name} ${quoted(value)}`))
    .join("");
}

export function quoted(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

export function homeOf(call: Call): string {
  return resolve(call.cwd, call.text("home") ?? call.env["SVC_HOME"] ?? defaultHome);
}

export async function loadSandbox(home: string): Promise<Sandbox> {
  const path = join(home, "sandbox.json");
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) {
    throw new UsageError(
      `There is no ${path}. Start a node with: npm start, in the folder of the project. Or name its folder with --home, or another service with --config.`,
    );
  }
  return parseJson(path, text) as Sandbox;
}

async function connectSandbox(side: Side, call: Call): Promise<Connection> {
  const sandbox = await loadSandbox(homeOf(call));
  const party = side === "business" ? businessOf(sandbox, call) : companyOf(sandbox, call);
  const chosen = pick(party.keys, call.text("key") ?? "1", { option: "--key", idOf: (key) => key.key_id });
  const key = await parseSigningKey(chosen.private_jwk);
  if (!key.ok) throw new UsageError(`The key ${chosen.key_id} in sandbox.json cannot be used: ${key.detail}`);
  return {
    client: createSvcClient({
      baseUrl: sandbox.base_url,
      businessUrl: sandbox.business_url,
      verifyUrl: sandbox.verify_url,
      key: key.value,
      grant: chosen.grant,
    }),
    key: key.value,
    environment: "sandbox",
    country: party.country,
    identity: party.uuid,
  };
}

interface Party {
  readonly uuid: string;
  readonly country: string | null;
  readonly keys: readonly SandboxKey[];
}

function businessOf(sandbox: Sandbox, args: Arguments): Party {
  const options = { option: "--business", idOf: (each: Sandbox["businesses"][number]) => each.business_uuid };
  const business = pick(sandbox.businesses, args.text("business") ?? "1", options);
  return { uuid: business.business_uuid, country: business.country, keys: business.integration_keys };
}

function companyOf(sandbox: Sandbox, args: Arguments): Party {
  const options = {
    option: "--company",
    idOf: (each: Sandbox["ai_companies"][number]) => each.ai_company_uuid,
  };
  const company = pick(sandbox.ai_companies, args.text("company") ?? "1", options);
  return { uuid: company.ai_company_uuid, country: null, keys: company.keys };
}

/** Picks an entry by its number, counted from 1, or by its id. */
function pick<T>(
  items: readonly T[],
  wanted: string,
  how: { readonly option: string; readonly idOf: (item: T) => string },
): T {
  const byNumber = /^[0-9]{1,4}$/.test(wanted) ? items[Number(wanted) - 1] : undefined;
  const found = byNumber ?? items.find((item) => how.idOf(item) === wanted);
  if (found !== undefined) return found;
  const choices = items.map((item, at) => `${at + 1} (${how.idOf(item)})`).join(", ");
  throw new UsageError(
    `${how.option} ${JSON.stringify(wanted)} does not exist. Available: ${choices || "none"}.`,
  );
}

/** Members of the configuration file; the names are those of the tool server's (specification, «D. Tool server»). */
export interface Config {
  readonly version: number;
  readonly environment?: "sandbox" | "production";
  readonly api_base_url?: string;
  readonly business_base_url?: string;
  readonly public_base_url?: string;
  readonly key?: { readonly file?: string; readonly env?: string };
  readonly country?: string;
  readonly sandbox_key_grant?: string;
  readonly owner?: OwnerConfig;
  /** For the tool server, relative to the configuration. */
  readonly anchors_file?: string;
}

/** Sandbox only: the owner's passkey of a business of one's own, and where its assertions are made. */
export interface OwnerConfig {
  readonly business_uuid: string;
  /** File with the private JWK, relative to the configuration. */
  readonly file: string;
  readonly rp_id: string;
  readonly origin: string;
}

const configMembers = [
  "version",
  "environment",
  "api_base_url",
  "business_base_url",
  "public_base_url",
  "key",
  "country",
  "sandbox_key_grant",
  "owner",
  "anchors_file",
];

async function connectConfigured(file: string, context: CommandContext): Promise<Connection> {
  const path = resolve(context.cwd, file);
  const config = await loadConfig(path);
  const environment = config.environment ?? "production";
  if (environment === "production" && config.sandbox_key_grant !== undefined) {
    throw new UsageError(
      "sandbox_key_grant is for the sandbox only; remove it, or set environment to sandbox.",
    );
  }
  if (environment === "production" && config.owner !== undefined)
    throw new UsageError("owner is for the sandbox only; remove it, or set environment to sandbox.");
  if (environment === "production") assertEncrypted(config);
  const key = await parseSigningKey(await loadKey(config, path, context));
  if (!key.ok) throw new UsageError(`The private key cannot be used: ${key.detail}`);
  return {
    client: createSvcClient({
      baseUrl: config.api_base_url ?? null,
      businessUrl: config.business_base_url ?? null,
      verifyUrl: config.public_base_url ?? null,
      key: key.value,
      grant: config.sandbox_key_grant ?? null,
    }),
    key: key.value,
    environment,
    country: config.country ?? null,
    identity: `${config.business_base_url} ${key.value.keyId}`,
  };
}

/** What a company asks and is shown is confidential: production is never called without encryption. */
function assertEncrypted(config: Config): void {
  for (const member of ["api_base_url", "business_base_url", "public_base_url"] as const) {
    const text = config[member];
    if (text === undefined || URL.parse(text)?.protocol === "https:") continue;
    throw new UsageError(
      `${member} is ${JSON.stringify(text)}; in production use an https address, or set environment to sandbox.`,
    );
  }
}

export async function loadConfig(path: string): Promise<Config> {
  const config = parseJson(path, await readText(path));
  if (config === null || typeof config !== "object" || (config as Config).version !== 1) {
    throw new UsageError(`${path} is not a configuration, which is a JSON object with "version": 1.`);
  }
  const unknown = Object.keys(config).find((name) => !configMembers.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(
      `${path} has a member ${JSON.stringify(unknown)}; the known members are ${configMembers.join(", ")}.`,
    );
  }
  return config as Config;
}

/** A private JWK or PKCS #8 PEM, from the file or variable that the configuration names; never in the configuration. */
export async function loadKey(config: Config, path: string, context: CommandContext): Promise<unknown> {
  const { file, env } = config.key ?? {};
  const text =
    file !== undefined
      ? await readText(resolve(dirname(path), file))
      : env !== undefined
        ? context.env[env]
        : undefined;
  if (text === undefined) {
    throw new UsageError(
      `The configuration names no key, or its variable is not set: use "key": {"file": …} or {"env": …}.`,
    );
  }
  if (!text.trimStart().startsWith("-----BEGIN")) return parseJson("The private key", text);
  try {
    return createPrivateKey(text).export({ format: "jwk" });
  } catch {
    throw new UsageError("The private key is not a PKCS #8 PEM.");
  }
}

/** Reads a text file that the user named. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

export function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${name} is not JSON.`);
  }
}
