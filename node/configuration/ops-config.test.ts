import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadOpsAccess, parseOpsConfig } from "./http-config.ts";

let home = "";

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-ops-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("the operators' surface", () => {
  it("is on loopback, wherever the others listen", () => {
    expect(parseOpsConfig({}, { home, host: "0.0.0.0" })).toMatchObject({ host: "127.0.0.1", port: null });
    expect(parseOpsConfig({}, { home, host: "10.0.0.5" })).toMatchObject({ host: "127.0.0.1", port: null });
    expect(parseOpsConfig({}, { home, host: "127.0.0.9" })).toMatchObject({ host: "127.0.0.9", port: null });
  });

  it("is where it is told to be", () => {
    const env = { SVC_OPS_LISTEN: "[fd00::5]:7304", SVC_OPS_HOSTS: "Ops.internal:7304" };
    expect(parseOpsConfig(env, { home, host: "0.0.0.0" })).toMatchObject({
      host: "fd00::5",
      port: 7304,
      hosts: ["ops.internal:7304"],
    });
  });

  it.each([
    [{ SVC_OPS_LISTEN: "7304" }, /SVC_OPS_LISTEN.*an address and a port/],
    [{ SVC_OPS_LISTEN: "everywhere:7304" }, /SVC_OPS_LISTEN/],
    [{ SVC_OPS_LISTEN: "127.0.0.1:99999" }, /SVC_OPS_LISTEN/],
    [{ SVC_OPS_HOSTS: "http://ops/" }, /SVC_OPS_HOSTS/],
  ])("refuses %j", (env, message) => {
    expect(() => parseOpsConfig(env, { home, host: "127.0.0.1" })).toThrow(message);
  });

  it("makes a token once, for its operators alone", async () => {
    const config = parseOpsConfig({}, { home, host: "127.0.0.1" });
    const access = await loadOpsAccess(config, 7304);
    expect(access.token.length).toBeGreaterThanOrEqual(32);
    expect(access).toMatchObject({
      isLoopback: true,
      hosts: expect.arrayContaining(["localhost:7304", "[::1]:7304"]),
    });
    expect(await loadOpsAccess(config, 7304)).toEqual(access);
    expect((await stat(join(home, "ops-token"))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(home, "ops-token"), "utf8")).toBe(`${access.token}\n`);
  });

  it.each([
    [undefined, true],
    ["localhost:9000,127.0.0.1,[::1]:9000", true],
    ["ops.internal:7304", false],
    ["localhost:9000,10.0.0.5", false],
    ["[fd00::5]:7304", false],
  ])("is for this machine alone unless it has a name that others use: %j", async (hosts, isOwn) => {
    const env = hosts === undefined ? {} : { SVC_OPS_HOSTS: hosts };
    const access = await loadOpsAccess(parseOpsConfig(env, { home, host: "127.0.0.1" }), 7304);
    expect(access.isLoopback).toBe(isOwn);
  });

  it("refuses a token that others can read or guess", async () => {
    const config = parseOpsConfig({}, { home, host: "127.0.0.1" });
    await writeFile(config.tokenFile, "short\n", { mode: 0o600 });
    await expect(loadOpsAccess(config, 7304)).rejects.toThrow(/at least 32/);
    await writeFile(config.tokenFile, `${"a1".repeat(20)}\n`);
    await chmod(config.tokenFile, 0o640);
    await expect(loadOpsAccess(config, 7304)).rejects.toThrow(/mode 0600/);
  });
});
