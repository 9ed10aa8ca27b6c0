// `svc log audit` as separate processes against a sandbox node, one of them killed.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningNode, startNode } from "../node/start.ts";
import { root } from "../tools/process.ts";

let home = "";
let node: RunningNode;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-audit-"));
  process.env["SVC_LOG_INTERVAL_SECONDS"] = "0";
  node = await startNode({ home, portBase: 0, logLevel: "error" });
  delete process.env["SVC_LOG_INTERVAL_SECONDS"];
  await node.seeded;
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

async function audit(args: readonly string[], killAfterMs: number | null = null) {
  const state = join(home, "audit.json");
  const words = ["cli/main.ts", "log", "audit", "--sandbox", "--home", home, "--state", state, ...args];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += String(chunk)));
  child.stderr.on("data", (chunk) => (err += String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  if (killAfterMs !== null) {
    await wait(killAfterMs);
    child.kill("SIGKILL");
  }
  return { code: await ended, out, err, state };
}

it("follows the sandbox's log from one audit to the next, and is not stopped by a kill", async () => {
  const business = (await node.seeded)?.sandbox.businesses[0]?.business_uuid ?? "";
  await audit(["--json"], 200);
  const first = await audit(["--json", "--business", business]);
  expect(first).toMatchObject({ code: 0, err: "" });
  const read = JSON.parse(first.out);
  expect(read).toMatchObject({ valid: true, from: 0, more: 0 });
  const types = read.entries.map((each: { leaf_type: string }) => each.leaf_type);
  expect(types).toEqual(expect.arrayContaining(["key_event", "certificate", "seal"]));
  expect(read.entries.every((each: { subject: string }) => each.subject === business)).toBe(true);
  for (const delay of [150, 400, 800]) await audit(["--json"], delay);
  const second = JSON.parse((await audit(["--json"])).out);
  expect(second.valid).toBe(true);
  expect(second.from).toBeGreaterThanOrEqual(read.size);
});

it("refuses the log for a state of another log, with its code", async () => {
  const { state } = await audit([]);
  const kept = await readFile(state, "utf8");
  await writeFile(state, kept.replace('"checkpoint":"', '"checkpoint":"other.'));
  expect(await audit(["--json"])).toMatchObject({
    code: 1,
    out: expect.stringContaining('"code":"log_origin_other"'),
  });
  await writeFile(state, kept);
});
