import { describe, expect, it } from "vitest";
import { parseDomains } from "./domain-config.ts";

describe("the settings of domains", () => {
  it("look daily in production with a grace of three days, and never in a sandbox", () => {
    const schedule = { interval_ms: 86_400_000, grace_ms: 259_200_000 };
    expect(parseDomains({}, "production")).toEqual({ areChecked: true, schedule, resolvers: [] });
    expect(parseDomains({}, "sandbox")).toEqual({ areChecked: false, schedule, resolvers: [] });
  });

  it("may be others", () => {
    const env = {
      SVC_DOMAIN_CHECKS: "yes",
      SVC_DOMAIN_INTERVAL_SECONDS: "5",
      SVC_DOMAIN_GRACE_SECONDS: "7",
      SVC_DOMAIN_RESOLVERS: "9.9.9.9, 127.0.0.1:5353,2620:fe::fe,[2620:fe::9]:53",
    };
    expect(parseDomains(env, "sandbox")).toEqual({
      areChecked: true,
      schedule: { interval_ms: 5_000, grace_ms: 7_000 },
      resolvers: ["9.9.9.9", "127.0.0.1:5353", "2620:fe::fe", "[2620:fe::9]:53"],
    });
  });

  it.each([
    ["SVC_DOMAIN_CHECKS", "on"],
    ["SVC_DOMAIN_INTERVAL_SECONDS", "0"],
    ["SVC_DOMAIN_INTERVAL_SECONDS", "2592001"],
    ["SVC_DOMAIN_GRACE_SECONDS", "0"],
    ["SVC_DOMAIN_GRACE_SECONDS", "1.5"],
    ["SVC_DOMAIN_RESOLVERS", ""],
    ["SVC_DOMAIN_RESOLVERS", "dns.example"],
    ["SVC_DOMAIN_RESOLVERS", "9.9.9.9:0"],
    ["SVC_DOMAIN_RESOLVERS", "9.9.9.9:70000"],
    ["SVC_DOMAIN_RESOLVERS", "[9.9.9.9]:53"],
    ["SVC_DOMAIN_RESOLVERS", "9.9.9.9,,1.1.1.1"],
  ])("refuse %s = %j", (name, value) => {
    expect(() => parseDomains({ [name]: value }, "production")).toThrow(name);
  });
});
