import { constants, getPriority } from "node:os";
import { expect, it } from "vitest";
import { run, runNode, startProcess } from "./process.ts";

it("runs to the end, and keeps the last of what was written", async () => {
  const program = `console.log("a".repeat(50)); console.error("b"); process.exitCode = 3;`;
  expect(await runNode(["-e", program])).toMatchObject({ code: 3, output: `${"a".repeat(50)}\nb\n` });
  expect((await runNode(["-e", program], { outputMax: 4 })).output).toHaveLength(4);
});

it("lets everything else go first, where it is told to yield", async () => {
  // What has the priority of its parent reports it.
  const program = "setTimeout(() => console.log(require('node:os').getPriority()), 100)";
  expect((await runNode(["-e", program], { isYielding: true })).output).toBe(
    `${constants.priority.PRIORITY_LOW}\n`,
  );
  expect((await runNode(["-e", program])).output).toBe(`${getPriority()}\n`);
});

it("says why a program cannot start, and has ended (P1)", async () => {
  const result = await run("/nowhere/such-a-program", []);
  expect(result).toMatchObject({ code: 127, output: expect.stringContaining("ENOENT") });
  const started = startProcess("/nowhere/such-a-program", []);
  expect(await started.ended).toMatchObject({ code: null, error: { code: "ENOENT" } });
  expect(started.hasEnded()).toBe(true);
  await started.stop(1_000);
  started.signal("SIGKILL");
});

it("ends by force what does not heed the request, though it was paused", async () => {
  const program = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000); console.log("up")`;
  const started = startProcess(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => started.child.stdout?.once("data", resolve));
  started.signal("SIGSTOP");
  expect(started.hasEnded()).toBe(false);
  await started.stop(50);
  expect(await started.ended).toMatchObject({ code: null, signal: "SIGKILL" });
});
