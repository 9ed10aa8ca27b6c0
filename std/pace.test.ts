import { describe, expect, it } from "vitest";
import { createPace } from "./work.ts";

/** A pace of 10 ms whose clock and turns are moved by hand. */
function setUp() {
  const state = { nowMs: 0, pauses: 0, turn: [] as (() => void)[] };
  const endTurn = (): void => {
    for (const run of state.turn.splice(0)) run();
  };
  const pace = createPace(10, {
    nowMs: () => state.nowMs,
    nextTurn: (run) => void state.turn.push(run),
    pause: async () => {
      state.pauses += 1;
      endTurn();
    },
  });
  return { state, pace: pace("a"), endTurn };
}

describe("a pace", () => {
  it("is due once the work of a turn has lasted for a step, of everybody (PC1)", async () => {
    const { state, pace } = setUp();
    for (state.nowMs = 0; state.nowMs < 10; state.nowMs += 1) expect(pace()).toBeNull();
    const due = pace();
    expect(due).toBeInstanceOf(Promise);
    await due;
    expect(pace()).toBeNull();
    state.nowMs += 9;
    expect(pace()).toBeNull();
    expect(state.pauses).toBe(1);
  });

  it("begins again with each turn", () => {
    const { state, pace, endTurn } = setUp();
    for (let turn = 0; turn < 100; turn += 1) {
      expect(pace()).toBeNull();
      state.nowMs += 9;
      expect(pace()).toBeNull();
      endTurn();
    }
    expect(state.turn).toEqual([]);
  });
});
