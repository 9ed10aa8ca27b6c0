// What `npm run cluster` and related tools print before anything is started: no engine is needed here.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { portsSpan } from "./cluster-nodes.ts";
import { regionCount } from "./cluster-options.ts";
import { freePorts } from "./free-ports.ts";
import { root } from "./process.ts";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

let folder = "";
let server: Server | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-cluster-tool-"));
});
afterEach(async () => {
  await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())));
  server = null;
  await rm(folder, { recursive: true });
});

/** Neither Java nor Maven is found: if the tool does try to start engines, it ends anyway, with an explanation. */
async function run(tool: string, args: readonly string[]): Promise<Ended> {
  const env = { PATH: "/nowhere", HOME: folder, SVC_ENGINES_CACHE: join(folder, "cache") };
  const child = spawn(process.execPath, [join(root, "tools", tool), ...args], { env, cwd: folder });
  let [out, error] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    error += text;
  });
  return await new Promise((resolve) => child.on("close", (code) => resolve({ code, out, error })));
}

async function listenAt(port: number, address = "127.0.0.1"): Promise<void> {
  const listening = createServer();
  server = listening;
  await new Promise<void>((resolve) => listening.listen(port, address, resolve));
}

describe("npm run cluster", () => {
  it.each([
    ["cluster.ts", "--port-base"],
    ["cluster-soak.ts", "--minutes"],
    ["engines/main.ts", "--profile"],
  ])("%s --help lists the options, and starts nothing", async (tool, option) => {
    const { code, out, error } = await run(tool, ["--help"]);
    expect({ code, error }).toEqual({ code: 0, error: "" });
    expect(out).toContain(option);
  });

  it.each<[string, readonly string[], string]>([
    ["cluster.ts", ["--port-base", "x"], '--port-base must be a whole number from 1024 to 65499, not "x".'],
    [
      "cluster.ts",
      ["--port-base", "65500"],
      '--port-base must be a whole number from 1024 to 65499, not "65500".',
    ],
    ["cluster.ts", ["--port-base"], "Option '--port-base <value>' argument missing; see --help."],
    [
      "cluster.ts",
      ["--base", "10.0.0.1"],
      '--base must be a loopback address like 127.0.77.1, not "10.0.0.1".',
    ],
    ["cluster.ts", ["--nonsense"], "Unknown option '--nonsense'; see --help."],
    ["cluster-soak.ts", ["--minutes", "0"], '--minutes must be a number above 0, not "0".'],
    [
      "cluster-soak.ts",
      ["--seed", "1.5"],
      `--seed must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, not "1.5".`,
    ],
    ["engines/main.ts", ["--profile", "all"], "--profile must be one of one, regions, quorum."],
  ])("%s %j is wrong usage, in one sentence", async (tool, args, sentence) => {
    expect(await run(tool, args)).toEqual({ code: 2, out: "", error: `${sentence}\n` });
  });

  it("finds a port of a node taken before anything is removed or started", async () => {
    const portBase = await freePorts(portsSpan(regionCount) + 1);
    await listenAt(portBase + portsSpan(regionCount));
    const home = join(folder, "home");
    await mkdir(home);
    await writeFile(join(home, "kept"), "");
    const { code, out, error } = await run("cluster.ts", [
      "--fresh",
      "--home",
      home,
      "--port-base",
      String(portBase),
    ]);
    expect({ code, out, error }).toEqual({
      code: 1,
      out: "",
      error:
        `A node cannot use 127.0.0.1:${portBase + portsSpan(regionCount)}: another process listens there; ` +
        "end it, or choose another --port-base (EADDRINUSE).\n",
    });
    expect(existsSync(join(home, "kept"))).toBe(true);
  });

  it.skipIf(process.platform === "darwin")("finds an engine's address taken, too", async () => {
    const portBase = await freePorts(portsSpan(regionCount) + 1);
    const base = `127.0.${10 + (portBase % 5)}.7`;
    await listenAt(9042, base);
    const { code, error } = await run("cluster.ts", [
      "--home",
      folder,
      "--port-base",
      String(portBase),
      "--base",
      base,
    ]);
    expect(code).toBe(1);
    expect(error).toBe(
      `An engine cannot use ${base}:9042: another process listens there; end it, or choose another --base (EADDRINUSE).\n`,
    );
  });

  it("says in a sentence what the machine lacks", async () => {
    const portBase = await freePorts(portsSpan(regionCount) + 1);
    const { code, error } = await run("cluster.ts", [
      "--home",
      folder,
      "--port-base",
      String(portBase),
      "--base",
      "127.0.15.1",
    ]);
    expect(code).toBe(1);
    expect(error).toMatch(/(needs a JDK|is fetched with Maven).*\n.*compose\.yaml\.\n$/);
    expect(error).not.toContain("    at ");
  });
});
