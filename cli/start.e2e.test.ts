// `svc start` as a separate process, on a folder that was previously readable by others.

import { spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { root } from "../tools/process.ts";

let home = "";

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-start-"));
  await chmod(home, 0o755);
});
afterEach(() => rm(home, { recursive: true, force: true }));

it("leaves nothing in its home that others may read", async () => {
  const env = { PATH: process.env["PATH"], HOME: home, SVC_SAMPLES: "no", NO_COLOR: "1" };
  const args = ["cli/main.ts", "start", "--home", home, "--port-base", "0"];
  // With the usual umask, under which new files are readable by everybody.
  const child = spawn("sh", ["-c", 'umask 022; exec "$@"', "sh", process.execPath, ...args], {
    cwd: root,
    env,
  });
  try {
    const started = Promise.withResolvers<void>();
    child.stdout.on("data", (chunk) => {
      if (String(chunk).includes("A node is running")) started.resolve();
    });
    child.once("exit", (code) => started.reject(new Error(`ended with ${code}`)));
    await started.promise;
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    const names = await readdir(home, { recursive: true });
    expect(names).toEqual(expect.arrayContaining(["store.db", "rows.db", "node.log", "ops-token"]));
    for (const name of names) expect([name, (await stat(join(home, name))).mode & 0o077]).toEqual([name, 0]);
  } finally {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }
});
