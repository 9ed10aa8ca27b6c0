import { describe, expect, it } from "vitest";
import { linearize, type Specification } from "./linearizable.ts";

interface Op {
  readonly begin: number;
  readonly end: number;
  readonly write?: number;
  readonly read?: number;
}

/** A register that holds one number. */
const register: Specification<number, Op> = {
  initial: 0,
  step: (state, { write, read }) => (write !== undefined ? [write] : read === state ? [state] : []),
  keyOf: String,
};

const never = Number.POSITIVE_INFINITY;

describe("linearize", () => {
  it("takes a history that one after the other explains", () => {
    const history = [
      { begin: 1, end: 2, write: 5 },
      { begin: 3, end: 4, read: 5 },
    ];
    expect(linearize(history, register).status).toBe("linearizable");
  });

  it("refuses a read of what was overwritten before it began", () => {
    const late = { begin: 5, end: 6, read: 5 };
    const history = [{ begin: 1, end: 2, write: 5 }, { begin: 3, end: 4, write: 6 }, late];
    expect(linearize(history, register)).toEqual({ status: "violated", operation: late });
  });

  it("lets operations that were open together happen in any order", () => {
    const history = [
      { begin: 1, end: 10, write: 5 },
      { begin: 2, end: 9, write: 6 },
      { begin: 11, end: 12, read: 5 },
    ];
    expect(linearize(history, register).status).toBe("linearizable");
  });

  it("lets what was never answered happen late, or never", () => {
    const lost = { begin: 1, end: never, write: 7 };
    const read = (begin: number, value: number): Op => ({ begin, end: begin + 1, read: value });
    expect(linearize([lost, read(2, 0), read(4, 7)], register).status).toBe("linearizable");
    expect(linearize([lost, read(2, 0), read(4, 0)], register).status).toBe("linearizable");
    expect(linearize([lost, read(2, 7), read(4, 0)], register).status).toBe("violated");
  });

  it("refuses two readers that saw two writes in different orders", () => {
    const history = [
      { begin: 1, end: 20, write: 1 },
      { begin: 2, end: 20, write: 2 },
      { begin: 3, end: 4, read: 1 },
      { begin: 5, end: 6, read: 2 },
      { begin: 7, end: 8, read: 1 },
    ];
    expect(linearize(history, register).status).toBe("violated");
  });
});
