import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";

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

  it("has no content lists unless it is told of their file", () => {
    expect(loadConfig({}, {}).contentLists).toBeNull();
    expect(loadConfig({}, { SVC_CONTENT_LISTS: "/etc/svc/lists.json" }).contentLists).toBe(
      "/etc/svc/lists.json",
    );
  });

  it("limits no key unless it is told to", () => {
    expect(loadConfig({}, {}).keyLimits).toEqual({ requestsPerSecond: null, queryCostPerMinute: null });
    const env = { SVC_KEY_REQUESTS_PER_SECOND: "1", SVC_KEY_QUERY_COST_PER_MINUTE: "1000000" };
    const limits = { requestsPerSecond: 1, queryCostPerMinute: 1_000_000 };
    expect(loadConfig({}, env).keyLimits).toEqual(limits);
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
    [{ SVC_KEY_REQUESTS_PER_SECOND: "0" }, /SVC_KEY_REQUESTS_PER_SECOND.*from 1 to 1000000/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "" }, /SVC_KEY_REQUESTS_PER_SECOND/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "1.5" }, /SVC_KEY_REQUESTS_PER_SECOND/],
    [{ SVC_KEY_REQUESTS_PER_SECOND: "1000001" }, /SVC_KEY_REQUESTS_PER_SECOND/],
    [{ SVC_KEY_QUERY_COST_PER_MINUTE: "10" }, /SVC_KEY_QUERY_COST_PER_MINUTE.*from 11 to/],
    [{ SVC_ISSUANCE: "127.0.0.1:7399" }, /SVC_ISSUANCE: says nothing to a sandbox/],
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
