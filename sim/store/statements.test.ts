import { describe, expect, it } from "vitest";
import { Kernel, Trace } from "../kernel/kernel.ts";
import { Life } from "../kernel/life.ts";
import { createStatements, type Fate } from "./statements.ts";

/** Records what happens to one statement: when it was executed, and what its caller observed. */
async function meet(fate: Fate, blow: (life: Life) => void = () => {}): Promise<readonly string[]> {
  const kernel = new Kernel({ startMs: 0, trace: new Trace({ story: false }) });
  const life = new Life(kernel, "node");
  const seen: string[] = [];
  const statements = createStatements(kernel, { fate: () => fate, timeoutMs: 100 });
  const note = (what: string): void => void seen.push(`${what} at ${kernel.now()}`);
  statements
    .run(life, "cas", (reach) => note(`executed ${reach}`))
    .then(
      () => note("answered"),
      (error: { effect?: string }) => note(String(error.effect)),
    );
  blow(life);
  await kernel.run(() => false);
  return seen;
}

describe("a statement", () => {
  it.each<[string, Fate, readonly string[]]>([
    [
      "answered",
      { kind: "answered", reach: "full", requestMs: 3, answerMs: 4 },
      ["executed full at 3", "answered at 7"],
    ],
    ["refused", { kind: "refused", requestMs: 3 }, ["not_applied at 3"]],
    ["lost", { kind: "lost" }, ["unknown at 100"]],
    [
      "unheard",
      { kind: "timed_out", reach: "unseen", requestMs: 3 },
      ["executed unseen at 3", "unknown at 100"],
    ],
    [
      "late",
      { kind: "timed_out", reach: "full", requestMs: 300 },
      ["unknown at 100", "executed full at 300"],
    ],
  ])(
    "that is %s is executed once or never, and its caller hears what it may (D1)",
    async (_name, fate, expected) => {
      expect(await meet(fate)).toEqual(expected);
    },
  );

  it("goes on without its caller, who hears nothing once its life is over (D2)", async () => {
    const fate: Fate = { kind: "answered", reach: "full", requestMs: 3, answerMs: 4 };
    expect(await meet(fate, (life) => life.end())).toEqual(["executed full at 3"]);
    expect(await meet({ kind: "crash_after", requestMs: 3 })).toEqual(["executed full at 3"]);
    expect(await meet({ kind: "crash_before" })).toEqual([]);
  });
});
