import { afterEach, describe, expect, it, vi } from "vitest";
import { Strangers } from "./listener.ts";

afterEach(() => vi.useRealTimers());

function open(limits: { readonly max: number; readonly perAddressMax: number; readonly timeMs?: number }) {
  const ended: string[] = [];
  const refused: string[] = [];
  const strangers = new Strangers({
    timeMs: 60_000,
    ...limits,
    refused: (reason, address) => refused.push(`${reason} ${address}`),
  });
  let port = 0;
  const add = (remoteAddress: string, name = remoteAddress) => {
    port += 1;
    const connection = { remoteAddress, remotePort: port, localAddress: "127.0.0.1" };
    strangers.add(connection, () => ended.push(name));
    return connection;
  };
  return { strangers, add, ended, refused };
}

describe("strangers", () => {
  it("of one address are bounded, the oldest goes (S1)", () => {
    const { strangers, add, ended, refused } = open({ max: 64, perAddressMax: 2 });
    for (const name of ["first", "second", "third"]) add("10.0.0.1", name);
    add("10.0.0.2");
    expect([strangers.size, ended, refused]).toEqual([3, ["first"], ["busy 10.0.0.1"]]);
    strangers.endAll();
  });

  it("of all addresses are bounded: the oldest goes of the one that has the most (S1)", () => {
    const { strangers, add, ended } = open({ max: 4, perAddressMax: 4 });
    add("10.0.0.1", "honest");
    for (const name of ["a", "b", "c"]) add("10.0.0.9", name);
    add("10.0.0.2", "honest too");
    add("10.0.0.3");
    expect(ended).toEqual(["a", "b"]);
    // When several addresses have the same number, the oldest of all.
    add("10.0.0.4");
    expect(ended).toEqual(["a", "b", "honest"]);
    strangers.endAll();
    expect(strangers.size).toBe(0);
  });

  it("whose addresses are of one /64, or one address in two forms, count together", () => {
    const { add, ended } = open({ max: 64, perAddressMax: 1 });
    for (const [one, other] of [
      ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9"],
      ["2001:db8::1", "2001:db8:0:0:1::"],
      ["::1", "0:0:0:0:1:2:3:4"],
      ["fe80::1%eth0", "fe80::2%eth0"],
      ["10.0.0.7", "::ffff:10.0.0.7"],
    ] as const) {
      add(one);
      add(other);
      expect(ended.splice(0)).toEqual([one]);
    }
    for (const each of ["2001:db8:1:3::1", "2001:db8:2:2::1", "10.0.0.8", "::ffff:10.0.0.9"]) add(each);
    expect(ended).toEqual([]);
  });

  it("have their time, which ends when they have proven themselves (S2)", () => {
    vi.useFakeTimers();
    const { strangers, add, ended, refused } = open({ max: 64, perAddressMax: 16, timeMs: 1_500 });
    const proven = add("10.0.0.1", "proven");
    add("10.0.0.2", "silent");
    strangers.forget(proven);
    strangers.forget(proven);
    vi.advanceTimersByTime(1_500);
    expect([strangers.size, ended, refused]).toEqual([0, ["silent"], ["late 10.0.0.2"]]);
  });
});
