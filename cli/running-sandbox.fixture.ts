// A sandbox as a newcomer has it: `svc start` as a separate process on a new home folder, with the other commands beside
// it.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProcessResult, root, runNode } from "../tools/process.ts";

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
