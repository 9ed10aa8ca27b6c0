import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type EngineProcess,
  type Guard,
  startEngineProcess,
  startGuard,
  untilReady,
} from "./engine-process.ts";
import { isRunning } from "./maven.ts";

let folder = "";
let guard: Guard;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-engine-"));
  guard = startGuard();
});
afterEach(async () => {
  await guard.close();
  await rm(folder, { recursive: true });
});

function start(program: string): EngineProcess {
  return startEngineProcess(
    {
      command: process.execPath,
      args: ["-e", program],
      env: process.env,
      cwd: folder,
      logFile: join(folder, "log"),
    },
    guard,
  );
}

const says = (engine: EngineProcess, word: string) => async (): Promise<boolean> =>
  engine.logTail().includes(word);
const ready = { name: "the engine", maxMs: 20_000 };

describe("an engine's process", () => {
  it("is ended by force when it does not heed the request, with all of its group (E2)", async () => {
    const engine = start(`
      const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
      process.on("SIGTERM", () => {});
      setInterval(() => {}, 1000);
      console.log("child " + child.pid + " ");
    `);
    await untilReady(engine, { ...ready, isReady: says(engine, "child ") });
    const child = Number(/child (\d+) /.exec(engine.logTail())?.[1]);
    expect(isRunning(child)).toBe(true);
    await engine.stop(50);
    expect(engine.hasEnded()).toBe(true);
    await vi.waitFor(() => expect(isRunning(child)).toBe(false), { timeout: 10_000 });
  });

  it("hears the request to end while it is paused", async () => {
    const program = `process.on("SIGTERM", () => { console.log("bye"); process.exit(); });`;
    const engine = start(`${program} setInterval(() => {}, 1000); console.log("up");`);
    await untilReady(engine, { ...ready, isReady: says(engine, "up") });
    engine.signal("SIGSTOP");
    await engine.stop(20_000);
    expect(engine.logTail()).toContain("bye");
  });

  it("that ends before it is ready tells its log", async () => {
    const engine = start(`console.error("port is taken"); process.exitCode = 3;`);
    const waiting = untilReady(engine, { ...ready, isReady: async () => false });
    await expect(waiting).rejects.toThrow(/ended before it was ready.*port is taken/s);
  });

  it("that is never ready is given up", async () => {
    const engine = start("setInterval(() => {}, 1000);");
    const waiting = untilReady(engine, { name: "it", maxMs: 0, isReady: async () => false });
    await expect(waiting).rejects.toThrow("not ready after 0 ms");
    await engine.stop(0);
  });

  it("does not outlive a parent that was killed, nor does its folder (E1)", async () => {
    const parent = spawn(process.execPath, [join(import.meta.dirname, "guarded.fixture.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const told = await new Promise<string>((resolve) =>
      createInterface({ input: parent.stdout }).once("line", resolve),
    );
    const engine = JSON.parse(told) as { pid: number; folder: string };
    expect(isRunning(engine.pid)).toBe(true);
    parent.kill("SIGKILL");
    await vi.waitFor(
      () => {
        expect(isRunning(engine.pid)).toBe(false);
        expect(existsSync(engine.folder)).toBe(false);
      },
      { timeout: 20_000 },
    );
  });
});
