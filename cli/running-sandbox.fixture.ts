// A sandbox as a newcomer has it: `svc start` as a separate process on a new home folder, with the other commands beside
// it.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { type ProcessResult, root, run, runNode } from "../tools/process.ts";

export interface RunningSandbox extends AsyncDisposable {
  readonly home: string;
  /** The tour printed at the start. */
  readonly tour: string;
  svc(...args: readonly string[]): Promise<ProcessResult>;
}

export async function startSandbox(): Promise<RunningSandbox> {
  const home = await mkdtemp(join(tmpdir(), "svc-sandbox-"));
  const env = { ...process.env, NO_COLOR: "1", SVC_LOG_LEVEL: "warn" };
  const args = ["cli/main.ts", "start", "--home", home, "--port-base", "0"];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  const tour = await tourOf(child);
  return {
    home,
    tour,
    svc: (...words) => runNode(["cli/main.ts", ...words, "--home", home]),
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

function tourOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("Ctrl-C stops the node")) resolve(text);
    });
    child.once("exit", (code) => reject(new Error(`svc start ended with ${code}: ${text}`)));
  });
}

/** A checkout beside a sandbox, in which a page's commands are run as a newcomer copies them. */
export interface FollowedCheckout extends AsyncDisposable {
  /** The folder that the checkout is in. */
  readonly folder: string;
  /** Runs a script in a shell of its own, under the Node that runs this test and without the settings of the tests. */
  play(script: string): Promise<ProcessResult>;
}

/** Starts a sandbox, whose home is the checkout's; the checkout has these folders. */
export async function openFollowedCheckout(folders: readonly string[]): Promise<FollowedCheckout> {
  const folder = await mkdtemp(join(tmpdir(), "svc-followed-"));
  const checkout = join(folder, "svc");
  await mkdir(checkout);
  for (const name of folders) await symlink(join(root, name), join(checkout, name));
  const sandbox = await startSandbox();
  await symlink(sandbox.home, join(checkout, ".svc"));
  return {
    folder,
    play: (script) => {
      const names = Object.keys(process.env).filter((name) => /^(SVC_|VITEST|NODE_)/.test(name));
      const env = {
        ...Object.fromEntries(names.map((name) => [name, undefined])),
        PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
      };
      return run("bash", ["-c", `set -euo pipefail\n${script}`], { cwd: checkout, env });
    },
    [Symbol.asyncDispose]: async () => {
      await sandbox[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const hasShellTools = ["curl", "jq", "openssl"].every(
  (name) => spawnSync(name, ["--version"]).error === undefined,
);

/** Says loudly what is left out; in CI that is a failure. */
export function leaveOut(why: string): void {
  if (process.env["CI"] !== undefined) throw new Error(why);
  console.warn(`SKIPPED: ${why}`);
}
