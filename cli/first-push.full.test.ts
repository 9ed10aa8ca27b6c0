// Follows docs/first-push.md beside a running sandbox: products that are sealed and published by curl and by Python.

import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playedBlocks } from "../node/keys/runbook.fixture.ts";
import { type ProcessResult, root, run } from "../tools/process.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

const sections = await playedBlocks("first-push.md");
let sandbox: RunningSandbox;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-first-push-"));
  const checkout = join(folder, "svc");
  await mkdir(checkout);
  for (const name of ["cli", "tools"]) await symlink(join(root, name), join(checkout, name));
  sandbox = await startSandbox();
  await symlink(sandbox.home, join(checkout, ".svc"));
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function scriptOf(title: string, kind = ""): string {
  const chosen = (sections.get(title) ?? []).filter((block) => block.kind === kind);
  if (chosen.length === 0) throw new Error(`docs/first-push.md has no such commands under ${title}`);
  return chosen.map(({ script }) => script).join("");
}

/** Runs a script after the page's start, under the Node that runs this test. */
function play(script: string): Promise<ProcessResult> {
  const names = Object.keys(process.env).filter((name) => /^(SVC_|VITEST|NODE_)/.test(name));
  const env = {
    ...Object.fromEntries(names.map((name) => [name, undefined])),
    PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
  };
  const start = `${scriptOf("Start")}${scriptOf("What a push is")}`;
  return run("bash", ["-c", `set -euo pipefail\n${start}${script}`], { cwd: join(folder, "svc"), env });
}

/** Says loudly what is left out; in CI that is a failure. */
function isLeftOut(why: string): boolean {
  if (process.env["CI"] !== undefined) throw new Error(why);
  console.warn(`SKIPPED: ${why}`);
  return true;
}

const hasTools = ["curl", "jq", "openssl"].every(
  (name) => spawnSync(name, ["--version"]).error === undefined,
);
const published = /^accepted svc_[a-z2-7]{26} version 1$/gm;

describe("docs/first-push.md", () => {
  it("publishes with curl, and again as new versions", async ({ skip }) => {
    if (!hasTools && isLeftOut("curl, jq and openssl are needed for docs/first-push.md")) return skip();
    const first = await play(scriptOf("curl"));
    expect(first.code, first.output).toBe(0);
    expect(first.output.match(published), first.output).toHaveLength(2);
    const again = await play(scriptOf("curl"));
    expect(again.output.match(/^updated svc_[a-z2-7]{26} version 2$/gm), again.output).toHaveLength(2);
  });

  it("publishes with Python, and what was published is in the catalogue", async ({ skip }) => {
    const installed = await play(scriptOf("Python", "install"));
    if (installed.code !== 0 && isLeftOut(`cryptography cannot be installed: ${installed.output}`))
      return skip();
    const pushed = await play(scriptOf("Python"));
    expect(pushed.code, pushed.output).toBe(0);
    expect(pushed.output.match(published), pushed.output).toHaveLength(2);
    const listed = await play(scriptOf("What was published"));
    expect(listed.output).toMatch(/ spelt$/m);
    expect(listed.output).toMatch(/ wheat$/m);
  });
});
