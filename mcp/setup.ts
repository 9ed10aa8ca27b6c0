// What the tool server needs to run, read from where the configuration says: the key, the anchors, the bearer token. Every
// fault says what is wrong and what would be right, and none shows what a file or a variable holds.

import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { SvcClient } from "../client/service-client.ts";
import { parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import { isObject } from "../std/json-pointer.ts";
import { readAnchors } from "../verifier/verify.ts";
import {
  configFileEnv,
  defaultKeyEnv,
  type Env,
  envPrefix,
  parseConfig,
  type ToolServerConfig,
} from "./config.ts";

/** The tool server cannot run as configured; the message has one line for each fault. */
export class SetupError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SetupError";
  }
}

export interface Setup {
  readonly config: ToolServerConfig;
  readonly key: SigningKey;
  /** Null: `verify` claims nothing. */
  readonly anchors: Anchors | null;
  /** Null: calls over HTTP need no token. */
  readonly bearerToken: string | null;
}

export interface SetupSource {
  /** Named by `--config`; null takes the variable's, or the environment alone. */
  readonly configFile: string | null;
  /** The home folder of a node whose sandbox is used instead of a configuration; null for none. */
  readonly sandboxHome: string | null;
  readonly env: Env;
  /** The folder that relative paths start from. */
  readonly cwd: string;
}

/** Throws {@link SetupError}. */
export async function loadSetup(source: SetupSource): Promise<Setup> {
  const named = source.configFile ?? (source.sandboxHome === null ? source.env[configFileEnv] : undefined);
  if (named !== undefined && source.sandboxHome !== null)
    throw new SetupError("--sandbox has a configuration of its own; leave out --config, or --sandbox.");
  if (source.sandboxHome !== null) return await sandboxSetup(source.sandboxHome, source);
  const file = named === undefined ? null : resolve(source.cwd, named);
  if (file === null && source.env[`${envPrefix}API_BASE_URL`] === undefined)
    throw new SetupError(
      "Nothing says which service to call. Use --sandbox with a node on this machine, or name a configuration with --config (docs/mcp.md).",
    );
  const inFile = 'Correct it; "svc mcp --print-config-schema" says what it holds.';
  const document =
    file === null ? { version: 1 } : parseJson(file, await readText(file, configNamed), inFile);
  const folder = file === null ? source.cwd : dirname(file);
  return await setupOf({ document, folder, env: source.env });
}

interface Given {
  readonly document: JsonValue;
  /** Relative paths of the document start here. */
  readonly folder: string;
  readonly env: Env;
  /** What the sandbox has in place of files. */
  readonly keyText?: string;
  readonly anchorsText?: string;
}

async function setupOf(given: Given): Promise<Setup> {
  const config = parseConfig(given.document, given.env);
  if (!config.ok) throw new SetupError(config.detail);
  return {
    config: config.value,
    key: await loadKey(config.value, given),
    anchors: await loadAnchors(config.value, given),
    bearerToken: loadToken(config.value, given.env),
  };
}

const wanted = "Put a private JWK or PKCS #8 PEM of an Ed25519 or P-256 key there";

async function loadKey({ key }: ToolServerConfig, given: Given): Promise<SigningKey> {
  const isFile = "file" in key;
  // The sandbox has a key of its own, which a variable replaces only where one is named.
  const own = isFile || key.env !== defaultKeyEnv ? undefined : given.keyText;
  const found = isFile
    ? await readText(resolve(given.folder, key.file), "key.file")
    : (own ?? given.env[key.env]);
  const place = isFile ? `The key file ${key.file}` : `The variable ${key.env}`;
  if (found === undefined || found.trim() === "")
    throw new SetupError(`${place} holds no private key. ${wanted}, or name a file with key.file.`);
  const isPem = found.trimStart().startsWith("-----BEGIN");
  const jwk = isPem ? jwkOfPem(found, place) : parseJson(place, found, `${wanted}.`);
  const parsed = await parseSigningKey(jwk);
  if (!parsed.ok) throw new SetupError(`${place} holds no key that can be used: ${parsed.detail} ${wanted}.`);
  return parsed.value;
}

function jwkOfPem(pem: string, place: string): unknown {
  try {
    return createPrivateKey(pem).export({ format: "jwk" });
  } catch {
    throw new SetupError(`${place} is not an unencrypted PKCS #8 PEM of a private key. ${wanted}.`);
  }
}

async function loadAnchors(
  { anchorsFile, environment }: ToolServerConfig,
  given: Given,
): Promise<Anchors | null> {
  const text =
    anchorsFile === null
      ? given.anchorsText
      : await readText(resolve(given.folder, anchorsFile), "anchors_file");
  if (text === undefined) return null;
  const anchors = readAnchors(text, environment === "sandbox");
  if (!anchors.ok) throw new SetupError(`anchors_file: ${anchors.detail}`);
  if (anchors.value.environment !== environment)
    throw new SetupError(
      `anchors_file: These are anchors of ${anchors.value.environment}, and environment is ${environment}.`,
    );
  return anchors.value;
}

const tokenLengthMin = 16;

function loadToken({ transport }: ToolServerConfig, env: Env): string | null {
  if (transport.type === "stdio" || transport.bearerTokenEnv === null) return null;
  const token = env[transport.bearerTokenEnv];
  if (token !== undefined && /^[!-~]{16,512}$/.test(token)) return token;
  throw new SetupError(
    `The variable ${transport.bearerTokenEnv} must hold the bearer token: ${tokenLengthMin} to 512 printable ASCII characters.`,
  );
}

// ---- The sandbox of a node on this machine ----

/** `sandbox.json` in the home folder has everything: the addresses, the anchors, and a company with a key and its grant. */
async function sandboxSetup(home: string, { env, cwd }: SetupSource): Promise<Setup> {
  const path = join(resolve(cwd, home), "sandbox.json");
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null)
    throw new SetupError(
      `There is no ${path}. Start a node with: npm start, in the folder of the project. Or name its folder with --home, or a service elsewhere with --config.`,
    );
  const sandbox = parseJson(
    path,
    text,
    "Stop the node and start it again, or name another folder with --home.",
  );
  const company = isObject(sandbox) ? firstOf(sandbox["ai_companies"]) : null;
  const key = firstOf(company?.["keys"]);
  if (!isObject(sandbox) || key === null)
    throw new SetupError(
      `${path} is not the file of a sandbox: it has no AI company with a key. Name the folder of a node with --home.`,
    );
  const document: JsonObject = {
    version: 1,
    environment: "sandbox",
    api_base_url: sandbox["base_url"] ?? null,
    public_base_url: sandbox["verify_url"] ?? null,
    sandbox_key_grant: key["grant"] ?? null,
    country: "US",
  };
  const keyText = JSON.stringify(key["private_jwk"] ?? null);
  const anchorsText = JSON.stringify(sandbox["anchors"] ?? null);
  return await setupOf({ document, folder: cwd, env, keyText, anchorsText });
}

function firstOf(value: JsonValue | undefined): JsonObject | null {
  const first: unknown = Array.isArray(value) ? value[0] : null;
  return isObject(first) ? (first as JsonObject) : null;
}

// ---- Files ----

const configNamed = "--config or MASTERDB_MCP_CONFIG";

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: "There is no such file",
  EACCES: "This user may not read it",
  EPERM: "This user may not read it",
  EISDIR: "It is a folder",
};

/** `named` says where the path comes from. */
async function readText(path: string, named: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown";
    const why = unreadable[code] ?? "The system does not read it";
    throw new SetupError(
      `${path} cannot be read (${code}). ${why}: name a readable file in ${named}, or change its permissions.`,
    );
  }
}

/** What does not parse may be a key, so neither it nor the parser's words about it are repeated. */
function parseJson(name: string, text: string, wayOut: string): JsonValue {
  const parsed = parseStrictJson(utf8(text));
  if (!parsed.ok) throw new SetupError(`${name} is not JSON in which each member is named once. ${wayOut}`);
  return parsed.value;
}

// The service's key set, read from the public surface and read again every ten minutes (specification, «D. Tool server»).
//   K1. A key set is used for ten minutes, then read again by the next call that needs it; calls meanwhile share one read.
//   K2. If that read fails, the older key set is used on: it is signed, and says itself how long its keys are valid.

export const keySetLifeMs = 600_000;

export type ReadKeySet = () => Promise<Uint8Array>;

/** `now` gives Unix milliseconds. The result rejects only while there has never been a key set. */
export function createKeySetCache(
  client: Pick<SvcClient, "verificationRead">,
  now: () => number,
): ReadKeySet {
  let held: { readonly keySet: Uint8Array; readonly readAtMs: number } | null = null;
  let reading: Promise<Uint8Array> | null = null;
  const read = async (): Promise<Uint8Array> => {
    try {
      const { text } = await client.verificationRead("/.well-known/keys");
      held = { keySet: utf8(text), readAtMs: now() };
      return held.keySet;
    } catch (error) {
      if (held === null) throw error;
      return held.keySet;
    } finally {
      reading = null;
    }
  };
  return () => {
    if (held !== null && now() - held.readAtMs < keySetLifeMs) return Promise.resolve(held.keySet);
    reading ??= read();
    return reading;
  };
}
