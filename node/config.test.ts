import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";

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

  it("has no content lists unless it is told of their file", () => {
    expect(loadConfig({}, {}).contentLists).toBeNull();
    expect(loadConfig({}, { SVC_CONTENT_LISTS: "/etc/svc/lists.json" }).contentLists).toBe(
      "/etc/svc/lists.json",
    );
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

  it("limits no key unless it is told to", () => {
    expect(loadConfig({}, {}).keyLimits).toEqual({ requestsPerSecond: null, queryCostPerMinute: null });
    const env = { SVC_KEY_REQUESTS_PER_SECOND: "1", SVC_KEY_QUERY_COST_PER_MINUTE: "1000000" };
    const limits = { requestsPerSecond: 1, queryCostPerMinute: 1_000_000 };
    expect(loadConfig({}, env).keyLimits).toEqual(limits);
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
    [{ SVC_KEY_REQUESTS_PER_SECOND: "0" }, /SVC_KEY_REQUESTS_PER_SECOND.*from 1 to 1000000/],
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
    [{ SVC_LOG_TO: "printer" }, /SVC_LOG_TO.*file or stdout/],
  ])("refuses %j, naming the setting and the fix", (env, message) => {
    expect(() => loadConfig({}, env)).toThrow(message);
  });
});
