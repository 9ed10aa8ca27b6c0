import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { assertFree, freeBase, isFree, neighbour } from "./addresses.ts";

describe("loopback addresses", () => {
  it("are counted from the base", () => {
    expect(neighbour("127.0.0.1", 0)).toBe("127.0.0.1");
    expect(neighbour("127.0.31.9", 2)).toBe("127.0.31.11");
  });

  it("never leave the machine or their block", () => {
    expect(() => neighbour("10.0.0.1", 0)).toThrow("no loopback address");
    expect(() => neighbour("127.0.0.254", 1)).toThrow("no loopback address");
    expect(() => neighbour("127.0.0.0", 0)).toThrow("no loopback address");
  });

  it("are chosen where no engine listens", async () => {
    const base = await freeBase(process.platform);
    expect(await isFree(base)).toBe(true);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(9042, base, resolve));
    expect(await isFree(base)).toBe(false);
    const place = { address: base, port: 9042 };
    await expect(assertFree([place])).rejects.toThrow(`cannot use ${base}:9042: another process`);
    await new Promise((resolve) => server.close(resolve));
  });

  it("that the machine does not have are named with what adds them", async () => {
    const elsewhere = { address: "192.0.2.1", port: 9042 };
    await expect(assertFree([elsewhere])).rejects.toThrow("no such address");
    await assertFree([]);
  });
});
