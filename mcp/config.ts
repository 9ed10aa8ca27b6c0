// The configuration of the local tool server (specification, «D. Tool server»): a JSON document whose every member can be
// overridden from the environment. Decisions made here where the specification is silent:
//   C1. The variable of a member is MASTERDB_MCP_ and the member's path in capitals, joined by underscores. A list is
//       written with commas. A variable with that prefix that names no member is refused, like an unknown member.
//   C2. The private key is never a member: `key` names a file or a variable, and without it the variable is `defaultKeyEnv`.
//   C3. `public_base_url` is the API's own address unless it is named, because its paths are served there as well, and
//       `source_line_base` is `public_base_url`.
//   C4. In production every address is https: what a company asks and is shown is confidential.
//   C5. The tools for sponsored items are off unless `ads` is true.

import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { ok, type Result } from "../protocol/result.ts";
import {
  allFaults,
  country,
  described,
  flag,
  integer,
  list,
  literal,
  matching,
  nearestName,
  type Of,
  object,
  oneOf,
  optional,
  type Shape,
  type ShapeFault,
  text,
} from "../protocol/shape.ts";
import { isObject } from "../std/json-pointer.ts";
import { isLoopbackHost } from "./loopback.ts";

export const envPrefix = "MASTERDB_MCP_";
export const defaultKeyEnv = `${envPrefix}PRIVATE_KEY`;
export const configFileEnv = `${envPrefix}CONFIG`;

const address = matching(
  (value) => {
    const url = URL.parse(value);
    const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
    return isWeb && url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  },
  "the base address of a host, such as https://api.example, without path, query or credentials",
  { format: "uri" },
);
const variable = matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable");
const path = text(4_096);

const keyMembers = object({
  file: optional(described(path, "A private JWK or PKCS #8 PEM; relative to the configuration file.")),
  env: optional(described(variable, `The variable that holds the private key; ${defaultKeyEnv} by default.`)),
});

const transportMembers = object({
  type: optional(described(oneOf(["stdio", "http"]), "stdio by default.")),
  host: optional(described(text(255), "http: the address to listen on; 127.0.0.1 by default.")),
  port: optional(described(integer({ min: 0, max: 65_535 }), "http: 8787 by default; 0 takes a free one.")),
  path: optional(
    described(matching(/^\/[A-Za-z0-9._~/-]{0,255}$/, "a path such as /mcp"), "http: /mcp by default."),
  ),
  bearer_token_env: optional(
    described(variable, "http: the variable with the bearer token; required unless the host is loopback."),
  ),
  allowed_hosts: optional(
    described(
      list(text(255), { min: 1, max: 32 }),
      "http: the names in a Host header that are served, without port; the loopback names and `host` by default.",
    ),
  ),
  allowed_origins: optional(
    described(
      list(text(255), { min: 1, max: 32 }),
      "http: the browser origins that may call, such as http://localhost:3000; none by default.",
    ),
  ),
});

const retryMembers = object({
  max_attempts: optional(described(integer({ min: 1, max: 10 }), "With the first; 3 by default.")),
  max_delay_ms: optional(
    described(integer({ min: 0, max: 60_000 }), "A longer Retry-After is not waited for; 5000 by default."),
  ),
});

export const configShape = object({
  version: literal(1),
  environment: optional(described(oneOf(["production", "sandbox"]), "production by default.")),
  api_base_url: described(address, "The retrieval API."),
  public_base_url: optional(described(address, "The public verification API; api_base_url by default.")),
  source_line_base: optional(
    described(address, "The address in the source lines of search rows; public_base_url by default."),
  ),
  key: optional(described(keyMembers, "Where the caller's private key is; Ed25519 or P-256.")),
  country: optional(described(country, "The country of searches that name none.")),
  sandbox_key_grant: optional(
    described(
      matching(/^svc_sbxk1\.[!-~]{1,8181}$/, "a grant that begins with svc_sbxk1."),
      "Sent as SVC-Sandbox-Key; only in the sandbox.",
    ),
  ),
  anchors_file: optional(described(path, "The pinned anchors; without them verify claims nothing.")),
  verify_online: optional(
    described(flag, "Whether verify also asks the service for its signed statement; false by default."),
  ),
  ads: optional(described(flag, "Whether ads_pool and report are offered; false by default.")),
  timeout_ms: optional(
    described(integer({ min: 100, max: 120_000 }), "For one attempt of a request; 10000 by default."),
  ),
  retry: optional(retryMembers),
  transport: optional(transportMembers),
});
export type ConfigDocument = Of<typeof configShape>;

export interface ToolServerConfig {
  readonly environment: "production" | "sandbox";
  /** Base URLs without trailing slash. */
  readonly apiBaseUrl: string;
  readonly publicBaseUrl: string;
  readonly sourceLineBase: string;
  /** The verification surface's own address, by which those in answers are judged; null where none was named. */
  readonly verifyUrl: string | null;
  readonly key: { readonly file: string } | { readonly env: string };
  readonly country: string | null;
  readonly grant: string | null;
  readonly anchorsFile: string | null;
  readonly verifyOnline: boolean;
  readonly ads: boolean;
  readonly timeoutMs: number;
  readonly retry: { readonly maxAttempts: number; readonly maxDelayMs: number };
  readonly transport: Transport;
}

export type Transport = { readonly type: "stdio" } | HttpTransport;

export interface HttpTransport {
  readonly type: "http";
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly bearerTokenEnv: string | null;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** JSON Schema (2020-12) of the file. */
export function configSchema(): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of the local tool server",
    ...configShape.schema,
  };
}

export type Env = Readonly<Record<string, string | undefined>>;

const faultsMax = 20;

/** Reads the parsed file with the environment over it. The refusal's detail has one sentence for each fault, on its own line. */
export function parseConfig(file: JsonValue, env: Env): Result<ToolServerConfig, "config_invalid"> {
  if (!isObject(file)) return faulty(['The configuration must be a JSON object with "version": 1.']);
  const { document, faults: envFaults } = overridden(file as JsonObject, env);
  const shapeFaults = allFaults(configShape, document, faultsMax).map(faultLine);
  const faults = [...envFaults, ...shapeFaults];
  if (faults.length > 0) return faulty(faults);
  const parsed = document as ConfigDocument;
  const rules = ruleFaults(parsed);
  return rules.length > 0 ? faulty(rules) : ok(withDefaults(parsed));
}

function faulty(faults: readonly string[]) {
  return { ok: false, code: "config_invalid", detail: faults.join("\n") } as const;
}

function faultLine({ pointer, detail, suggestion, allowed }: ShapeFault): string {
  const known = allowed === undefined ? "" : ` Known: ${allowed.join(", ")}.`;
  const hint = typeof suggestion === "string" ? ` Did you mean ${suggestion}?` : known;
  return `${pointer === "" ? "The configuration" : memberName(pointer)}: ${detail}${hint}`;
}

function memberName(pointer: string): string {
  return pointer.slice(1).replaceAll("/", ".");
}

/** Rules between members. */
function ruleFaults(config: ConfigDocument): readonly string[] {
  const { environment = "production", key, transport = {} } = config;
  const faults: string[] = [];
  if (environment === "production" && config.sandbox_key_grant !== undefined)
    faults.push("sandbox_key_grant is for the sandbox only; remove it, or set environment to sandbox.");
  if (key?.file !== undefined && key.env !== undefined)
    faults.push("key names a file and a variable; keep one of them.");
  for (const member of ["api_base_url", "public_base_url", "source_line_base"] as const) {
    const value = config[member];
    if (environment === "production" && value !== undefined && !value.startsWith("https:"))
      faults.push(
        `${member} is not encrypted; in production use an https address, or set environment to sandbox.`,
      );
  }
  const { type = "stdio", host = "127.0.0.1", bearer_token_env: token } = transport;
  if (type === "http" && !isLoopbackHost(host) && token === undefined)
    faults.push(
      "transport.host is reachable from other machines; name the variable with a bearer token in transport.bearer_token_env, or listen on 127.0.0.1.",
    );
  for (const origin of transport.allowed_origins ?? []) {
    if (URL.parse(origin)?.origin !== origin)
      faults.push(
        "transport.allowed_origins has an entry that is not an origin such as http://localhost:3000.",
      );
  }
  return faults;
}

function withDefaults(config: ConfigDocument): ToolServerConfig {
  const { key = {}, retry = {} } = config;
  const base = (url: string): string => url.replace(/\/$/, "");
  const publicBaseUrl = base(config.public_base_url ?? config.api_base_url);
  return {
    environment: config.environment ?? "production",
    apiBaseUrl: base(config.api_base_url),
    publicBaseUrl,
    sourceLineBase: base(config.source_line_base ?? publicBaseUrl),
    verifyUrl: config.public_base_url === undefined ? null : publicBaseUrl,
    key: key.file === undefined ? { env: key.env ?? defaultKeyEnv } : { file: key.file },
    country: config.country ?? null,
    grant: config.sandbox_key_grant ?? null,
    anchorsFile: config.anchors_file ?? null,
    verifyOnline: config.verify_online ?? false,
    ads: config.ads ?? false,
    timeoutMs: config.timeout_ms ?? 10_000,
    retry: { maxAttempts: retry.max_attempts ?? 3, maxDelayMs: retry.max_delay_ms ?? 5_000 },
    transport: transportOf(config.transport ?? {}),
  };
}

function transportOf(given: NonNullable<ConfigDocument["transport"]>): Transport {
  if (given.type !== "http") return { type: "stdio" };
  const host = given.host ?? "127.0.0.1";
  return {
    type: "http",
    host,
    port: given.port ?? 8_787,
    path: given.path ?? "/mcp",
    bearerTokenEnv: given.bearer_token_env ?? null,
    allowedHosts: (given.allowed_hosts ?? ["127.0.0.1", "localhost", "::1", host]).map(lowerCase),
    allowedOrigins: given.allowed_origins ?? [],
  };
}

function lowerCase(text: string): string {
  return text.toLowerCase();
}

// ---- The environment over the file (C1) ----

type Kind = "text" | "integer" | "flag" | "list";

interface Override {
  readonly path: readonly string[];
  readonly kind: Kind;
}

/** Every member's variable, from the published schema, so that no member can be without one. */
const overrides: ReadonlyMap<string, Override> = new Map(
  membersOf(configShape.schema, []).map((member) => [
    `${envPrefix}${member.path.join("_").toUpperCase()}`,
    member,
  ]),
);

/** The names of all variables that override a member. */
export const overrideNames: readonly string[] = [...overrides.keys()];

function membersOf(schema: Shape<unknown>["schema"], path: readonly string[]): readonly Override[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  return Object.entries(properties).flatMap(([name, value]) => {
    const member = value as JsonObject;
    const at = [...path, name];
    return member["type"] === "object" ? membersOf(member, at) : [{ path: at, kind: kindOf(member) }];
  });
}

function kindOf({ type, const: constant }: JsonObject): Kind {
  if (type === "integer" || typeof constant === "number") return "integer";
  if (type === "boolean") return "flag";
  return type === "array" ? "list" : "text";
}

function overridden(
  file: JsonObject,
  env: Env,
): { readonly document: JsonObject; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const namesKey = ["FILE", "ENV"].some((name) => env[`${envPrefix}KEY_${name}`] !== undefined);
  // Where the environment names the key, it replaces the one that the file names, whichever way that did.
  let document: JsonObject = namesKey ? { ...file, key: {} } : file;
  const keyVariable = keyEnvOf(file, env);
  const others = [configFileEnv, defaultKeyEnv, keyVariable, tokenEnvOf(file, env)];
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(envPrefix) || value === undefined || others.includes(name)) continue;
    const override = overrides.get(name);
    if (override === undefined) {
      const nearest = nearestName(name, overrideNames);
      faults.push(`${name} overrides no member.${nearest === null ? "" : ` Did you mean ${nearest}?`}`);
      continue;
    }
    const parsed = parseOverride(value, override.kind);
    if (parsed === null) faults.push(`${name} must be ${kindWords[override.kind]}.`);
    else document = withMember(document, override.path, parsed);
  }
  return { document, faults };
}

const kindWords: Readonly<Record<Kind, string>> = {
  text: "text",
  integer: "a whole number",
  flag: "true or false",
  list: "a list with commas",
};

function keyEnvOf(file: JsonObject, env: Env): string | undefined {
  const key = file["key"];
  const named = isObject(key) && typeof key["env"] === "string" ? key["env"] : undefined;
  return env[`${envPrefix}KEY_ENV`] ?? named;
}

function tokenEnvOf(file: JsonObject, env: Env): string | undefined {
  const transport = file["transport"];
  const token = isObject(transport) ? transport["bearer_token_env"] : undefined;
  return env[`${envPrefix}TRANSPORT_BEARER_TOKEN_ENV`] ?? (typeof token === "string" ? token : undefined);
}

function parseOverride(value: string, kind: Kind): JsonValue | null {
  if (kind === "integer") return /^-?[0-9]{1,9}$/.test(value) ? Number(value) : null;
  if (kind === "flag") return value === "true" ? true : value === "false" ? false : null;
  return kind === "list" ? value.split(",").map((item) => item.trim()) : value;
}

function withMember(
  document: JsonObject,
  [name = "", ...rest]: readonly string[],
  value: JsonValue,
): JsonObject {
  if (rest.length === 0) return { ...document, [name]: value };
  const inner = document[name];
  const member = isObject(inner) ? (inner as JsonObject) : {};
  return { ...document, [name]: withMember(member, rest, value) };
}
