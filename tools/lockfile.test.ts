import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./process.ts";
import { type LockEntry, lockFaults } from "./tidy/lockfile.ts";

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry & { readonly version?: string }>>;
}

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
const runtime = JSON.parse(readFileSync(join(root, "tools", "runtime.json"), "utf8")) as {
  readonly version: string;
  readonly sha256: Readonly<Record<string, string>>;
};
const sound: LockEntry = { integrity: `sha512-${"A".repeat(86)}==` };

describe("the lock file", () => {
  it("was really read", () => {
    expect(Object.keys(lock.packages).length).toBeGreaterThan(200);
  });

  it("has an integrity for every package, on every platform", () => {
    expect(lockFaults(lock.packages)).toEqual([]);
  });

  it("of the judges of the tool servers has an integrity for every package as well", () => {
    const path = join(root, "tools", "mcp-judges", "package-lock.json");
    const { packages } = JSON.parse(readFileSync(path, "utf8")) as Lock;
    expect(Object.keys(packages).length).toBeGreaterThan(200);
    // Their scripts are not run (tools/mcp-judges.fixture.ts).
    const withoutScripts = Object.entries(packages).map(([name, { hasInstallScript: _has, ...rest }]) => [
      name,
      rest,
    ]);
    expect(lockFaults(Object.fromEntries(withoutScripts) as Lock["packages"])).toEqual([]);
  });

  it("of the benchmark's peers has an integrity for every package, and the version that is asked for", () => {
    const folder = join(root, "bench", "peers");
    const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8"));
    const { packages }: Lock = read("package-lock.json");
    // Their scripts are not run, and not every registry has their packages for other platforms (bench/peers/peer.ts).
    const plain = Object.entries(packages).map(([name, { version, integrity, resolved, link }]) => [
      name,
      Object.fromEntries(
        Object.entries({ version, integrity, resolved, link }).filter(([, value]) => value !== undefined),
      ),
    ]);
    expect(plain.length).toBeGreaterThan(200);
    expect(lockFaults(Object.fromEntries(plain) as Lock["packages"])).toEqual([]);
    const { dependencies }: { dependencies: Readonly<Record<string, string>> } = read("package.json");
    for (const [name, version] of Object.entries(dependencies))
      expect(packages[`node_modules/${name}`]?.version, name).toBe(version);
  });

  it.each<[string, LockEntry]>([
    ["no integrity", {}],
    ["a weak integrity", { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }],
    ["a place", { ...sound, resolved: "git+ssh://git@host.example/owner/name.git" }],
    ["a link", { ...sound, link: true }],
    [
      "a package for another platform that is not there",
      { ...sound, optionalDependencies: { "it-win32": "1.0.0" } },
    ],
    ["an install script", { ...sound, hasInstallScript: true }],
  ])("is refused with %s", (_name, entry) => {
    expect(lockFaults({ "": {}, "node_modules/it": sound, "node_modules/other": entry })).toHaveLength(1);
  });
});

describe("the pinned runtime", () => {
  it("has a sum for each platform's package, of the version that the lock file pins", () => {
    const pinned = Object.entries(lock.packages).filter(([path]) =>
      /^node_modules\/node-(?:bin-)?[a-z]+-(?:x64|arm64)$/.test(path),
    );
    expect(pinned.map(([path]) => path.replace("node_modules/", "")).sort()).toEqual(
      Object.keys(runtime.sha256).sort(),
    );
    for (const [, entry] of pinned) expect(entry.version).toBe(runtime.version);
    for (const sum of Object.values(runtime.sha256)) expect(sum).toMatch(/^[0-9a-f]{64}$/);
  });
});
