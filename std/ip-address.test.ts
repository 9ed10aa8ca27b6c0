import { describe, expect, it } from "vitest";
import { isPublicAddress, networkOf } from "./ip-address.ts";

describe("an address of the public Internet", () => {
  it.each([
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.0.1",
    "172.32.0.1",
    "192.169.0.1",
    "223.255.255.255",
  ])("is %s", (address) => expect(isPublicAddress(address)).toBe(true));

  it.each(["2600::1", "2001:4860:4860::8888", "2a00:1450::1", "2003::1"])("is %s", (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2001::1",
    "100::1",
    "4000::1",
    "8000::1",
  ])("is not %s", (address) => expect(isPublicAddress(address)).toBe(false));

  it.each(["localhost", "example.com", "", "10.0.0", "fe80::1%eth0", "1.1.1.1:80"])(
    "is nothing to be said of %j",
    (text) => expect(isPublicAddress(text)).toBeNull(),
  );
});

describe("the network of an address", () => {
  it.each([
    ["203.0.113.77", "203.0.113.0/24"],
    ["0.0.0.1", "0.0.0.0/24"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"],
    ["::ffff:203.0.113.77", "203.0.113.0/24"],
    ["::1", "0:0:0::/48"],
    ["not an address", null],
  ])("of %s is %s", (address, network) => expect(networkOf(address)).toBe(network));
});
