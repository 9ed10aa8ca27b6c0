import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { platformLoop } from "../api/edge.ts";
import { createOwnerPlaces, createOwnerTurns } from "./work.ts";

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

describe("turns of work", () => {
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

describe("places of work that others do", () => {
  /** Two places; each piece of work ends when it is told to. */
  function twoPlaces() {
    const places = createOwnerPlaces(2);
    const begun: string[] = [];
    const ends = new Map<string, PromiseWithResolvers<string>>();
    const ask = (owner: string, name: string) =>
      places(owner, () => {
        begun.push(name);
        const end = Promise.withResolvers<string>();
        ends.set(name, end);
        return end.promise;
      });
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.resolve(name);
      await nextTurn();
    };
    return { places, begun, ask, end, ends };
  }

  it("begin at once while one is free, and are never more (OP1)", async () => {
    const { begun, ask, end } = twoPlaces();
    const answers = ["a1", "a2", "a3", "a4"].map((name) => ask("a", name));
    expect(begun).toEqual(["a1", "a2"]);
    await end("a2");
    expect(begun).toEqual(["a1", "a2", "a3"]);
    await end("a1");
    await end("a3");
    await end("a4");
    expect(await Promise.all(answers)).toEqual(["a1", "a2", "a3", "a4"]);
    void ask("b", "b1");
    expect(begun.at(-1)).toBe("b1");
  });

  it("go round the owners that wait, whatever fails (OP2)", async () => {
    const { begun, ask, end, ends } = twoPlaces();
    const first = ask("a", "a1");
    for (const name of ["a2", "a3", "a4", "b1", "c1", "b2"]) void ask(name[0] ?? "", name);
    ends.get("a1")?.reject(new Error("the index is away"));
    await expect(first).rejects.toThrow("away");
    for (const name of ["a2", "a3", "b1", "c1", "a4", "b2"]) await end(name);
    expect(begun).toEqual(["a1", "a2", "a3", "b1", "c1", "a4", "b2"]);
  });

  it("are given to all that wait, however many of them end at once (OP2)", async () => {
    const { places, ask, end } = twoPlaces();
    for (const name of ["a1", "a2"]) void ask("a", name);
    const many = Array.from({ length: 5_000 }, (_, at) => places(`${at}`, () => at));
    await end("a1");
    expect(await Promise.all(many)).toHaveLength(5_000);
  });
});
