// `svc witness` as a separate process that is killed while two forks of a log are sent to it: whatever it cosigned, before and
// after, is one log.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { sha256 } from "../protocol/bytes.ts";
import { verifierKeyOf } from "../protocol/log/note.ts";
import { SignedLog } from "../protocol/log/signed-log.fixture.ts";
import { root } from "../tools/process.ts";

const leaves = 400;
const log = new SignedLog({ leaves });
const fork = new SignedLog({ leaves, words: "other" });
const rounds = 4;

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
}

async function start(home: string): Promise<Running> {
  const named = ["--home", home, "--name", "witness.test/w1", "--port", "0"];
  const args = [
    "cli/main.ts",
    "witness",
    ...named,
    "--log",
    `${log.origin} ${verifierKeyOf(log.key, sha256)}`,
  ];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.stdout?.on("data", (chunk) => resolve(String(chunk)));
  child.once("exit", (code) => reject(new Error(`ended with ${code}`)));
  const [, url = "", key = ""] = /^Witnessing at (\S+) as (\S+)\n$/.exec(await promise) ?? [];
  return { child, url, key };
}

async function stop({ child }: Running, signal: NodeJS.Signals): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  child.kill(signal);
  return ended;
}

/** Follows one tree as fast as it can until the witness is gone. Adds every size that was cosigned to `sizes`. */
async function drive(url: string, tree: SignedLog, sizes: Set<number>): Promise<void> {
  let known = 0;
  try {
    for (let at = 0; ; at += 1) {
      const size = Math.min(leaves, known + 1 + (at % 2));
      const answer = await fetch(`${url}/add-checkpoint`, {
        method: "POST",
        body: tree.request(known, size),
      });
      const text = await answer.text();
      if (answer.status === 200) sizes.add(size);
      known = answer.status === 409 ? Number(text) : answer.status === 200 ? size : known;
    }
  } catch {
    // It was killed.
  }
}

it("cosigns one log, however often it is killed and started again", async () => {
  const home = await mkdtemp(join(tmpdir(), "svc-witness-kill-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const [ours, theirs] = [new Set<number>(), new Set<number>()];
  const keys = new Set<string>();
  for (let round = 0; round < rounds; round += 1) {
    const running = await start(home);
    keys.add(running.key);
    const driving = [drive(running.url, log, ours), drive(running.url, fork, theirs)];
    await wait(150 + 50 * round);
    await stop(running, "SIGKILL");
    await Promise.all(driving);
  }
  expect(keys.size).toBe(1);
  // Whichever tree was first is the one.
  expect([ours.size, theirs.size].filter((size) => size > 0)).toHaveLength(1);
  const last = await start(home);
  const [tree, sizes] = ours.size > 0 ? [fork, ours] : [log, theirs];
  const answer = await fetch(`${last.url}/add-checkpoint`, { method: "POST", body: tree.request(0, leaves) });
  expect(answer.status).toBe(409);
  expect(Number(await answer.text())).toBeGreaterThanOrEqual(Math.max(...sizes));
  expect(await stop(last, "SIGTERM")).toBe(0);
});
