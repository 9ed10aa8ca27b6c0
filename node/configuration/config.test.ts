import { describe, expect, it } from "vitest";
import { loadConfig, type NodeConfig } from "./config.ts";
import { hostsOf } from "./http-config.ts";

const issuing = {
  SVC_ENVIRONMENT: "production",
  SVC_ISSUANCE: "127.0.0.1:7399",
  SVC_ISSUANCE_SECRET_FILE: "/run/secret",
};

describe("configuration", () => {
  it("has defaults for a newcomer", () => {
    expect(loadConfig({ home: "/h" }, {})).toMatchObject({
      environment: "sandbox",
      home: "/h",
      portBase: 7300,
      host: "127.0.0.1",
    });
  });

  it("knows where callers reach it behind a load balancer", () => {
    const config = loadConfig(
      {},
      { SVC_RETRIEVAL_URL: "https://API.example:443/", SVC_VERIFY_URL: "http://v.example:81" },
    );
    expect(config.publicUrls).toEqual({ base_url: "https://api.example", verify_url: "http://v.example:81" });
  });

  it("knows where passkeys are used: by itself in the sandbox, from settings, or from the anchors of production", () => {
    const portal = { rp_ids: ["portal.svc.example"], origins: ["https://portal.svc.example"] };
    expect(loadConfig({}, {}).passkeys).toEqual(portal);
    const env = {
      SVC_PASSKEY_ORIGINS: "https://portal.example, https://admin.shop.example:8443",
      SVC_PASSKEY_RP_IDS: "portal.example,shop.example",
    };
    expect(loadConfig({ environment: "production" }, env).passkeys).toEqual({
      rp_ids: ["portal.example", "shop.example"],
      origins: ["https://portal.example", "https://admin.shop.example:8443"],
    });
    const local = { SVC_PASSKEY_ORIGINS: "http://localhost:8080", SVC_PASSKEY_RP_IDS: "localhost" };
    expect(loadConfig({}, local).passkeys?.origins).toEqual(["http://localhost:8080"]);
    expect(() => loadConfig({ environment: "production" }, local)).toThrow(/SVC_PASSKEY_ORIGINS.*https/);
    expect(loadConfig({ environment: "production" }, {}).passkeys).toBeNull();
  });

  it.each([
    ["https://portal.example", undefined, /SVC_PASSKEY_RP_IDS.*is missing/],
    [undefined, "portal.example", /SVC_PASSKEY_ORIGINS.*is missing/],
    ["", "portal.example", /SVC_PASSKEY_ORIGINS/],
    ["portal.example", "portal.example", /SVC_PASSKEY_ORIGINS.*https:\/\/portal\.example/],
    ["https://portal.example/", "portal.example", /SVC_PASSKEY_ORIGINS/],
    ["https://Portal.example", "portal.example", /SVC_PASSKEY_ORIGINS/],
    ["https://*.example", "portal.example", /SVC_PASSKEY_/],
    ["https://portal.example,https://portal.example", "portal.example", /SVC_PASSKEY_ORIGINS.*twice/],
    ["https://portal.example", "other.example", /SVC_PASSKEY_RP_IDS/],
    ["https://portal.example", "ortal.example", /SVC_PASSKEY_RP_IDS/],
    ["https://portal.example", "example", /SVC_PASSKEY_RP_IDS/],
    ["https://portal.example", "Portal.example", /SVC_PASSKEY_RP_IDS/],
    ["https://portal.example,https://shop.test", "portal.example", /SVC_PASSKEY_RP_IDS.*shop\.test/],
  ])("refuses passkeys of %j under %j", (origins, rpIds, message) => {
    const env = { SVC_PASSKEY_ORIGINS: origins, SVC_PASSKEY_RP_IDS: rpIds };
    expect(() => loadConfig({}, env)).toThrow(message);
  });

  it("has no content lists unless it is told of their file", () => {
    expect(loadConfig({}, {}).contentLists).toBeNull();
    expect(loadConfig({}, { SVC_CONTENT_LISTS: "/etc/svc/lists.json" }).contentLists).toBe(
      "/etc/svc/lists.json",
    );
  });

  it("keeps so many files for bulk imports, and takes no bound beyond its own", () => {
    const setting = "SVC_BULK_FOLDER_MEBIBYTES";
    expect(loadConfig({}, {}).bulkFolderMebibytes).toBe(20_480);
    for (const text of ["512", "1048576"])
      expect(loadConfig({}, { [setting]: text }).bulkFolderMebibytes).toBe(Number(text));
    for (const text of ["511", "1048577", "", "600.5", "-1", "1GiB"]) {
      const fix = `${setting}: is ${JSON.stringify(text)}; use a whole number from 512 to 1048576`;
      expect(() => loadConfig({}, { [setting]: text })).toThrow(fix);
    }
  });

  it.each([
    ["images of ads", "SVC_AD_IMAGES_MEBIBYTES", (config: NodeConfig) => config.adImageBytesMax],
    ["evidence", "SVC_EVIDENCE_MEBIBYTES", (config: NodeConfig) => config.evidenceBounds.allMax],
  ])("keeps so much of %s, and takes no bound beyond its own", (_, setting, bytesMax) => {
    expect(bytesMax(loadConfig({}, {}))).toBe(10_240 * 2 ** 20);
    for (const text of ["16", "1048576"])
      expect(bytesMax(loadConfig({}, { [setting]: text }))).toBe(Number(text) * 2 ** 20);
    for (const text of ["15", "1048577", "x"]) {
      const fix = `${setting}: is ${JSON.stringify(text)}; use a whole number from 16 to 1048576`;
      expect(() => loadConfig({}, { [setting]: text })).toThrow(fix);
    }
  });

  it("trusts no proxy unless it is told of it", () => {
    expect(loadConfig({}, {}).trustedProxies).toEqual([]);
    const { trustedProxies } = loadConfig({}, { SVC_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1,2001:db8::/32" });
    expect(trustedProxies.map(({ prefix, network }) => [prefix, network.width])).toEqual([
      [8, 32],
      [32, 32],
      [32, 128],
    ]);
  });

  it("limits what callers may ask for unless it is told not to", () => {
    expect(loadConfig({}, {})).toMatchObject({
      keyLimits: { requestsPerSecond: 50, queryCostPerMinute: 3_000 },
      http: {
        limits: { connectionsMax: 2_000, connectionsPerAddressMax: 256, requestsPerConnectionMax: 10_000 },
        hosts: [],
      },
    });
    const env = {
      SVC_KEY_REQUESTS_PER_SECOND: "1",
      SVC_KEY_QUERY_COST_PER_MINUTE: "1000000",
      SVC_CONNECTIONS_MAX: "5",
      SVC_ADDRESS_CONNECTIONS_MAX: "0",
      SVC_CONNECTION_REQUESTS_MAX: "7",
      SVC_BODY_BYTES_MAX: "1000000000",
      SVC_CALLER_BODY_BYTES_MAX: "67108864",
      SVC_HOSTS: "Svc.internal:80, 10.0.0.7:7300",
    };
    expect(loadConfig({}, env)).toMatchObject({
      keyLimits: { requestsPerSecond: 1, queryCostPerMinute: 1_000_000 },
      http: {
        limits: {
          connectionsMax: 5,
          connectionsPerAddressMax: 0,
          requestsPerConnectionMax: 7,
          bodyBytesMax: 1_000_000_000,
          bodyBytesPerCallerMax: 67_108_864,
        },
        hosts: ["svc.internal", "10.0.0.7:7300"],
      },
    });
    const off = { SVC_KEY_REQUESTS_PER_SECOND: "0", SVC_KEY_QUERY_COST_PER_MINUTE: "0" };
    expect(loadConfig({}, off).keyLimits).toEqual({ requestsPerSecond: null, queryCostPerMinute: null });
  });

  it("answers under the public host and the addresses it listens on", () => {
    const listen = { host: "10.0.0.7", port: 7300 };
    const own = ["api.example", "10.0.0.7:7300", "svc.internal"];
    expect(hostsOf("https://api.example", listen, ["svc.internal"])).toEqual(own);
    const loopback = ["127.0.0.1:7300", "localhost:7300", "[::1]:7300"];
    expect(hostsOf("http://127.0.0.1:7300", { ...listen, host: "127.0.0.1" }, [])).toEqual(loopback);
    expect(hostsOf("https://api.example", { ...listen, host: "0.0.0.0" }, [])).toEqual(
      expect.arrayContaining(["api.example", "127.0.0.1:7300", "localhost:7300"]),
    );
  });

  it("finds the issuance process at a socket or a port of its machine", () => {
    const issuance = { address: { host: "127.0.0.1", port: 7399 }, secretFile: "/run/secret" };
    expect(loadConfig({}, issuing).issuance).toEqual(issuance);
    const socket = loadConfig({}, { ...issuing, SVC_ISSUANCE: "unix:/run/svc.sock" }).issuance;
    expect(socket?.address).toEqual({ socket: "/run/svc.sock" });
    expect(loadConfig({}, { SVC_ENVIRONMENT: "production" }).issuance).toBeNull();
  });

  it("takes options before the environment", () => {
    expect(
      loadConfig({ region: "eu-west1" }, { SVC_REGION: "us-east1", SVC_LOG_LEVEL: "warn" }),
    ).toMatchObject({
      region: "eu-west1",
      logLevel: "warn",
    });
  });

  it.each([
    [{ SVC_ENVIRONMENT: "staging" }, /SVC_ENVIRONMENT.*sandbox or production/],
    [{ SVC_REGION: "Europe" }, /SVC_REGION.*eu-west1/],
    [{ SVC_PORT_BASE: "80a" }, /SVC_PORT_BASE/],
    [{ SVC_PORT_BASE: "65535" }, /SVC_PORT_BASE/],
    [{ SVC_LOG_LEVEL: "loud" }, /SVC_LOG_LEVEL/],
    [{ SVC_RETRIEVAL_URL: "api.example" }, /SVC_RETRIEVAL_URL.*https:\/\/api\.example/],
    [{ SVC_BUSINESS_URL: "https://api.example/v1" }, /SVC_BUSINESS_URL/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "-1" }, /SVC_KEY_REQUESTS_PER_SECOND.*from 1 to 1000000, or 0/],
    [{ SVC_CONNECTIONS_MAX: "0" }, /SVC_CONNECTIONS_MAX.*from 1 to 1000000$/],
    [{ SVC_BODY_BYTES_MAX: "67108863" }, /SVC_BODY_BYTES_MAX.*from 67108864 to/],
    [{ SVC_CALLER_BODY_BYTES_MAX: "0" }, /SVC_CALLER_BODY_BYTES_MAX/],
    [{ SVC_ADDRESS_CONNECTIONS_MAX: "many" }, /SVC_ADDRESS_CONNECTIONS_MAX/],
    [{ SVC_HOSTS: "https://svc.internal" }, /SVC_HOSTS.*svc\.internal:7300/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "" }, /SVC_KEY_REQUESTS_PER_SECOND/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "1.5" }, /SVC_KEY_REQUESTS_PER_SECOND/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "1000001" }, /SVC_KEY_REQUESTS_PER_SECOND/],
    [{ SVC_KEY_QUERY_COST_PER_MINUTE: "10" }, /SVC_KEY_QUERY_COST_PER_MINUTE.*from 11 to/],
    [{ SVC_TRUSTED_PROXIES: "" }, /SVC_TRUSTED_PROXIES.*2001:db8:1::\/64/],
    [{ SVC_TRUSTED_PROXIES: "10.0.0.0/8," }, /SVC_TRUSTED_PROXIES: names "";/],
    [{ SVC_TRUSTED_PROXIES: "10.0.0.0/33" }, /SVC_TRUSTED_PROXIES: names "10\.0\.0\.0\/33"/],
    [{ SVC_TRUSTED_PROXIES: "127.0.0.1,balancer.example" }, /SVC_TRUSTED_PROXIES: names "balancer\.example"/],
    [{ SVC_TRUSTED_PROXIES: "10.0.0.1:443" }, /SVC_TRUSTED_PROXIES/],
    [{ SVC_TRUSTED_PROXIES: "::/0" }, /SVC_TRUSTED_PROXIES: trusts every address/],
    [{ SVC_TRUSTED_PROXIES: "0.0.0.0/0" }, /SVC_TRUSTED_PROXIES: trusts every address/],
    [{ SVC_ISSUANCE: "127.0.0.1:7399" }, /SVC_ISSUANCE: has no effect in a sandbox/],
    [{ ...issuing, SVC_ISSUANCE: undefined }, /SVC_ISSUANCE: is missing; use unix:/],
    [{ ...issuing, SVC_ISSUANCE: "http://127.0.0.1:7399" }, /SVC_ISSUANCE.*on this machine/],
    [{ ...issuing, SVC_ISSUANCE: "10.0.0.1:7399" }, /SVC_ISSUANCE.*on this machine/],
    [{ ...issuing, SVC_ISSUANCE_SECRET_FILE: undefined }, /SVC_ISSUANCE_SECRET_FILE: is missing/],
    [{ SVC_LOG_TO: "printer" }, /SVC_LOG_TO.*file or stdout/],
  ])("refuses %j, naming the setting and the fix", (given, message) => {
    const env: Record<string, string | undefined> = given;
    expect(() => loadConfig({}, env)).toThrow(message);
  });
});
