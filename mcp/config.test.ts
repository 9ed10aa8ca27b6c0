import { describe, expect, it } from "vitest";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { configSchema, type Env, overrideNames, parseConfig } from "./config.ts";

const own = { version: 1, api_base_url: "https://api.example" };

function faultsOf(members: JsonObject, env: Env = {}): string {
  const parsed = parseConfig({ ...own, ...members }, env);
  return parsed.ok ? "" : parsed.detail;
}

describe("the configuration", () => {
  it("has the defaults of the specification", () => {
    expect(parseConfig(own, {})).toEqual({
      ok: true,
      value: {
        environment: "production",
        apiBaseUrl: own.api_base_url,
        publicBaseUrl: own.api_base_url,
        sourceLineBase: own.api_base_url,
        verifyUrl: null,
        key: { env: "MASTERDB_MCP_PRIVATE_KEY" },
        country: null,
        grant: null,
        anchorsFile: null,
        verifyOnline: false,
        ads: false,
        timeoutMs: 10_000,
        retry: { maxAttempts: 3, maxDelayMs: 5_000 },
        transport: { type: "stdio" },
      },
    });
    const http = parseConfig({ ...own, transport: { type: "http" } }, {});
    expect(http.ok && http.value.transport).toEqual({
      type: "http",
      host: "127.0.0.1",
      port: 8_787,
      path: "/mcp",
      bearerTokenEnv: null,
      allowedHosts: ["127.0.0.1", "localhost", "::1", "127.0.0.1"],
      allowedOrigins: [],
    });
  });

  it.each<[string, JsonObject, string]>([
    [
      "an unknown member",
      { contry: "US" },
      'contry: The member "contry" does not exist here. Did you mean country?',
    ],
    ["an unknown inner member", { retry: { attempts: 3 } }, "retry.attempts"],
    ["another version", { version: 2 }, "version: "],
    ["another environment", { environment: "test" }, "environment: "],
    ["a wrong country", { country: "usa" }, "country: "],
    ["an address with a path", { api_base_url: "https://api.example/v1" }, "without path"],
    [
      "an address with a password",
      { api_base_url: "https://a:b@api.example" },
      "without path, query or credentials",
    ],
    ["an address that is not encrypted", { api_base_url: "http://api.example" }, "use an https address"],
    ["a grant in production", { sandbox_key_grant: "svc_sbxk1.a.b" }, "for the sandbox only"],
    [
      "a grant of another form",
      { environment: "sandbox", sandbox_key_grant: "secret" },
      "begins with svc_sbxk1.",
    ],
    ["two keys", { key: { file: "a", env: "B" } }, "keep one of them"],
    ["a key inside", { key: { jwk: "x" } }, "key.jwk"],
    ["a time-out of nothing", { timeout_ms: 0 }, "timeout_ms: "],
    ["too many attempts", { retry: { max_attempts: 11 } }, "retry.max_attempts"],
    ["another transport", { transport: { type: "sse" } }, "transport.type"],
    ["a port over the last", { transport: { port: 65_536 } }, "transport.port"],
    ["a path that is not one", { transport: { path: "mcp" } }, "transport.path"],
    [
      "an open host without a token",
      { transport: { type: "http", host: "0.0.0.0" } },
      "transport.bearer_token_env",
    ],
    [
      "an origin that is not one",
      { transport: { allowed_origins: ["http://a.example/x"] } },
      "not an origin",
    ],
  ])("refuses %s", (_name, members, said) => {
    expect(faultsOf(members)).toContain(said);
  });

  it.each<[string, (value: number) => JsonObject, number, number]>([
    ["timeout_ms", (value) => ({ timeout_ms: value }), 100, 120_000],
    ["retry.max_attempts", (value) => ({ retry: { max_attempts: value } }), 1, 10],
    ["retry.max_delay_ms", (value) => ({ retry: { max_delay_ms: value } }), 0, 60_000],
    ["transport.port", (value) => ({ transport: { port: value } }), 0, 65_535],
  ])("takes %s from its least to its greatest value, and none beyond", (name, members, least, greatest) => {
    for (const value of [least, greatest]) expect(faultsOf(members(value))).toBe("");
    for (const value of [least - 1, greatest + 1, least + 0.5])
      expect(faultsOf(members(value))).toContain(`${name}: `);
  });

  it.each([null, [], "x", 1])("refuses %j", (file) => {
    expect(parseConfig(file, {})).toMatchObject({ ok: false, code: "config_invalid" });
  });

  it("never repeats a value", () => {
    const faults = faultsOf({
      sandbox_key_grant: "the-secret",
      environment: "the-secret",
      country: "the-secret",
    });
    expect(faults.split("\n")).toHaveLength(3);
    expect(faults).not.toContain("the-secret");
  });

  it.each(["127.0.0.1", "127.8.9.1", "localhost", "::1"])("needs no token on %s", (host) => {
    expect(faultsOf({ transport: { type: "http", host } })).toBe("");
  });
});

describe("the environment over the file (C1)", () => {
  it("has a variable for every member", () => {
    expect(overrideNames).toEqual(
      [
        "VERSION",
        "ENVIRONMENT",
        "API_BASE_URL",
        "PUBLIC_BASE_URL",
        "SOURCE_LINE_BASE",
        "KEY_FILE",
        "KEY_ENV",
        "COUNTRY",
        "SANDBOX_KEY_GRANT",
        "ANCHORS_FILE",
        "VERIFY_ONLINE",
        "ADS",
        "TIMEOUT_MS",
        "RETRY_MAX_ATTEMPTS",
        "RETRY_MAX_DELAY_MS",
        "TRANSPORT_TYPE",
        "TRANSPORT_HOST",
        "TRANSPORT_PORT",
        "TRANSPORT_PATH",
        "TRANSPORT_BEARER_TOKEN_ENV",
        "TRANSPORT_ALLOWED_HOSTS",
        "TRANSPORT_ALLOWED_ORIGINS",
      ].map((name) => `MASTERDB_MCP_${name}`),
    );
    expect(Object.keys(configSchema())).toContain("properties");
  });

  it("overrides members of every kind", () => {
    const parsed = parseConfig(
      { ...own, country: "US", key: { file: "a.pem" }, retry: { max_attempts: 2 } },
      {
        MASTERDB_MCP_COUNTRY: "DE",
        MASTERDB_MCP_VERIFY_ONLINE: "true",
        MASTERDB_MCP_RETRY_MAX_DELAY_MS: "7",
        MASTERDB_MCP_KEY_ENV: "MASTERDB_MCP_OTHER",
        MASTERDB_MCP_OTHER: "a key",
        MASTERDB_MCP_PRIVATE_KEY: "x",
        MASTERDB_MCP_TRANSPORT_TYPE: "http",
        MASTERDB_MCP_TRANSPORT_ALLOWED_HOSTS: "A.example, b.example",
        MASTERDB_MCP_CONFIG: "elsewhere",
        PATH: "/bin",
      },
    );
    expect(parsed).toMatchObject({
      ok: true,
      value: {
        country: "DE",
        verifyOnline: true,
        key: { env: "MASTERDB_MCP_OTHER" },
        retry: { maxAttempts: 2, maxDelayMs: 7 },
        transport: { allowedHosts: ["a.example", "b.example"] },
      },
    });
  });

  it.each<[string, string, string]>([
    ["MASTERDB_MCP_CONTRY", "US", "Did you mean MASTERDB_MCP_COUNTRY?"],
    ["MASTERDB_MCP_TIMEOUT_MS", "soon", "a whole number"],
    ["MASTERDB_MCP_ADS", "yes", "true or false"],
    ["MASTERDB_MCP_COUNTRY", "us", "country: "],
    ["MASTERDB_MCP_TRANSPORT_PORT", "99999", "transport.port"],
  ])("refuses %s=%s", (name, value, said) => {
    expect(faultsOf({}, { [name]: value })).toContain(said);
  });
});
