import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { platformLoop } from "../api/edge.ts";
import { createOwnerTurns } from "./work.ts";

/** Turns whose clock only the work moves, by 6 ms each time. */
function setUp() {
  let nowMs = 0;
  const turns = createOwnerTurns(5, { ...platformLoop, nowMs: () => nowMs });
  const begun: string[] = [];
  const search = (owner: string, name: string, tookMs = 6) =>
    turns(owner, async () => {
      begun.push(name);
      nowMs += tookMs;
      return name;
    });
  return { begun, search };
}

describe("turns of searches", () => {
  it("begin at once while they have taken little time (OT1)", async () => {
    const { begun, search } = setUp();
    const answers = [1, 2, 3, 4].map((at) => search("a", `a${at}`, 1));
    expect(begun).toEqual(["a1", "a2", "a3", "a4"]);
    expect(await Promise.all(answers)).toEqual(begun);
  });

  it("let one owner's many searches wait for those of others, one dear search a turn (OT1, OT2)", async () => {
    const { begun, search } = setUp();
    const answers = [1, 2, 3, 4].map((at) => search("a", `a${at}`));
    answers.push(search("b", "b1"), search("c", "c1"), search("b", "b2"));
    expect(begun).toEqual(["a1"]);
    await nextTurn();
    expect(begun).toHaveLength(2);
    const come = search("d", "d1");
    await Promise.all([...answers, come]);
    expect(begun).toEqual(["a1", "a2", "b1", "c1", "a3", "d1", "b2", "a4"]);
  });

  it("reach those who asked, whatever fails", async () => {
    let nowMs = 0;
    const failing = createOwnerTurns(5, { ...platformLoop, nowMs: () => nowMs });
    const fail = async (): Promise<never> => {
      nowMs += 10;
      throw new Error("the index is away");
    };
    const asked = [failing("a", fail), failing("a", fail), failing("b", async () => "found")];
    expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual([
      "rejected",
      "rejected",
      "fulfilled",
    ]);
  });
});
