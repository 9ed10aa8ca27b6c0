import { describe, expect, it } from "vitest";
import { addressAllowed } from "./source-address.ts";

describe("source allow-list", () => {
  it.each([
    ["192.0.2.7", ["192.0.2.0/24"], true],
    ["192.0.3.7", ["192.0.2.0/24"], false],
    ["192.0.2.7", ["192.0.2.7"], true],
    ["192.0.2.7", ["0.0.0.0/0"], true],
    ["192.0.2.255", ["192.0.2.0/31"], false],
    ["::ffff:192.0.2.7", ["192.0.2.0/24"], true],
    ["2001:db8::1", ["2001:db8::/32"], true],
    ["2001:db9::1", ["2001:db8::/32"], false],
    ["2001:db8:0:0:0:0:0:1", ["2001:db8::1"], true],
    ["2001:db8::1", ["0.0.0.0/0"], false],
    ["192.0.2.7", ["::/0"], false],
    ["192.0.2.7", ["AS64496"], false],
    ["192.0.2.7", [], false],
    ["192.0.2.7", ["192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/", "192.0.2.0/24/8", "192.0.2"], false],
    ["not an address", ["0.0.0.0/0"], false],
    ["01.2.3.4", ["0.0.0.0/0"], false],
    ["1:2:3:4:5:6:7:8:9", ["::/0"], false],
    ["1::2::3", ["::/0"], false],
  ])("%s in %j: %s", (address, allowList, allowed) => {
    expect(addressAllowed(address, allowList)).toBe(allowed);
  });
});
