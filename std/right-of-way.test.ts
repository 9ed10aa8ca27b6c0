import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { platformLoop } from "../api/edge.ts";
import { createRightOfWay } from "./work.ts";

const long = 60_000;

describe("the right of way", () => {
  it("R1: lets steps in the background go one at a time, in the order in which they wait", async () => {
    const { pause } = createRightOfWay(long, platformLoop);
    const gone: number[] = [];
    for (const step of [1, 2, 3]) void pause("a").then(() => gone.push(step));
    expect(gone).toEqual([]);
    for (const turn of [1, 2, 3]) {
      await nextTurn();
      expect(gone).toEqual([1, 2, 3].slice(0, turn));
    }
  });

  it("R2: lets no step go while something is under way that somebody waits for", async () => {
    const { pause, during } = createRightOfWay(long, platformLoop);
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const answers = [during(() => first.promise), during(() => second.promise)];
    let isGone = false;
    const step = pause("a").then(() => {
      isGone = true;
    });
    first.resolve("a");
    await answers[0];
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(isGone).toBe(false);
    second.resolve("b");
    await step;
    expect(await Promise.all(answers)).toEqual(["a", "b"]);
  });

  it("R2: does not begin a step that was to go when something is under way again", async () => {
    const { pause, during } = createRightOfWay(long, platformLoop);
    const gone = pause("a");
    const answer = Promise.withResolvers<void>();
    const answered = during(() => answer.promise);
    expect(await Promise.race([gone.then(() => "gone"), wait(20, "waits")])).toBe("waits");
    answer.resolve();
    await Promise.all([gone, answered]);
  });

  it("R2: lets one step go whenever its patience ends, however busy the foreground is", async () => {
    const { pause, during } = createRightOfWay(15, platformLoop);
    const answer = Promise.withResolvers<void>();
    const answered = during(() => answer.promise);
    const beganMs = performance.now();
    await Promise.all([pause("a"), pause("a")]);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(28);
    answer.resolve();
    await answered;
  });

  it("R2: rests six times as long after a dear step of the background as it took, at most 200 ms, and not before requests", async () => {
    let nowMs = 0;
    let tick = (): void => {};
    const after = (delayMs: number, run: () => void) => {
      tick = () => {
        nowMs += delayMs;
        run();
      };
      return () => {};
    };
    const { pause, during } = createRightOfWay(10, { ...platformLoop, nowMs: () => nowMs, after });
    const answer = Promise.withResolvers<void>();
    const answered = during(() => answer.promise);
    const begun: string[] = [];
    const work = async (owner: string, tookMs: readonly number[], isWaitedFor: boolean) => {
      for (const took of tookMs) {
        await pause(owner, isWaitedFor);
        begun.push(`${owner} ${nowMs}`);
        nowMs += took;
      }
      await pause(owner, isWaitedFor);
    };
    const goOn = async (ticks: number) => {
      for (; ticks > 0; ticks -= 1) {
        tick();
        await nextTurn();
      }
    };
    const background = work("a", [2, 30, 1, 60_000, 0], false);
    await goOn(22);
    expect(begun).toEqual(["a 10", "a 32", "a 242", "a 253"]);
    await goOn(5);
    const request = work("b", [1, 1], true);
    await goOn(2);
    expect(begun.slice(4)).toEqual(["b 60313", "b 60324"]);
    await goOn(13);
    expect(begun.slice(6)).toEqual(["a 60455"]);
    answer.resolve();
    await Promise.all([answered, background, request]);
  });

  it("R3: lets three steps of requests go before one in the background", async () => {
    const { pause } = createRightOfWay(long, platformLoop);
    const gone: string[] = [];
    const step = (name: string) => pause("a", name === "request").then(() => gone.push(name));
    await Promise.all(["background", "background", ...Array<string>(4).fill("request")].map(step));
    const three = ["request", "request", "request"];
    expect(gone).toEqual([...three, "background", "request", "background"]);
  });

  it.each([true, false])("R4: goes round the owners, whether somebody waits (%s)", async (isWaitedFor) => {
    const { pause } = createRightOfWay(long, platformLoop);
    const gone: string[] = [];
    const step = (name: string) => pause(name.charAt(0), isWaitedFor).then(() => gone.push(name));
    await Promise.all(["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map(step));
    expect(gone).toEqual(["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
  });

  it("goes on after something that failed", async () => {
    const { pause, during } = createRightOfWay(long, platformLoop);
    await expect(during(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await pause("a");
  });
});

describe("the steps of the right of way, whenever timers are late", () => {
  function setUp() {
    let nowMs = 0;
    let immediates: (() => void)[] = [];
    const timers: { readonly delayMs: number; run: () => void }[] = [];
    const loop = {
      nowMs: () => nowMs,
      nextTurn: (run: () => void) => void immediates.push(run),
      after: (delayMs: number, run: () => void) => {
        const timer = { delayMs, run };
        timers.push(timer);
        return () => {
          timer.run = () => {};
        };
      },
    };
    const spend = (ms: number): void => {
      nowMs += ms;
    };
    /** What is due in the next turn, each after what follows from the one before it at once. */
    const turn = async (): Promise<void> => {
      const due = immediates;
      immediates = [];
      for (const run of due) {
        run();
        await nextTurn();
      }
    };
    return { ...createRightOfWay(10, loop), loop, timers, spend, turn };
  }

  it("R1: lets one step go in a turn, where patience ends before the turn after another step", async () => {
    const { pause, during, loop, timers, turn } = setUp();
    const gone: string[] = [];
    const step = (name: string) => void pause("owner").then(() => gone.push(name));
    step("a");
    const answer = Promise.withResolvers<void>();
    loop.nextTurn(() => {
      void during(() => answer.promise);
      for (const name of ["b", "c", "d"]) step(name);
    });
    await turn();
    expect(gone).toEqual(["a"]);
    timers[0]?.run();
    answer.resolve();
    await nextTurn();
    expect(gone).toEqual(["a", "b"]);
    await turn();
    expect(gone).toEqual(["a", "b", "c"]);
    await turn();
    expect(gone).toEqual(["a", "b", "c", "d"]);
  });

  it("R2: does not take for a step what others did after it", async () => {
    const { pause, during, timers, spend, turn } = setUp();
    const gone = pause("a");
    await turn();
    await gone;
    void during(() => new Promise(() => {}));
    spend(30);
    void pause("b");
    await turn();
    expect(timers.map(({ delayMs }) => delayMs)).toEqual([10]);
  });
});
