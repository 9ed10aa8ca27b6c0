import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { withCoarseTimers } from "./cassandra.ts";

function run(command: string, ...args: string[]): string {
  const coarse = withCoarseTimers({ command, args });
  return execFileSync(coarse.command, coarse.args, { encoding: "utf8" });
}

describe("coarse timers", () => {
  it("are the command itself, with its arguments as they are", () => {
    expect(run("/bin/echo", "a b", "$HOME", "'")).toBe("a b $HOME '\n");
  });

  it.runIf(existsSync("/proc/self/timerslack_ns"))("are on for what it runs", () => {
    expect(run("/bin/cat", "/proc/self/timerslack_ns")).toBe("500000\n");
  });
});
