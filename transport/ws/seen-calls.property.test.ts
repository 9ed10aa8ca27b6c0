import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SeenCalls, seenWindow } from "./transport.ts";

describe("the window of seen calls", () => {
  it("takes every id of the window once, in any order, and none below the window", () => {
    const near = fc.integer({ min: 1, max: 200 });
    const far = fc.integer({ min: 1, max: 4 * seenWindow });
    fc.assert(
      fc.property(fc.array(fc.oneof(near, far), { maxLength: 300 }), (ids) => {
        const seen = new SeenCalls();
        const known = new Set<number>();
        let highest = 0;
        for (const id of ids) {
          const isNew = !known.has(id) && id > highest - seenWindow;
          expect(seen.add(id)).toBe(isNew);
          if (isNew) known.add(id);
          highest = Math.max(highest, id);
        }
      }),
    );
  });

  it("forgets nothing when it moves on by a whole window or one less", () => {
    for (const step of [seenWindow - 1, seenWindow, seenWindow + 1]) {
      const seen = new SeenCalls();
      expect(seen.add(5)).toBe(true);
      expect(seen.add(5 + step)).toBe(true);
      expect(seen.add(5)).toBe(false);
      expect(seen.add(5 + step)).toBe(false);
      expect(seen.add(5 + step - 1)).toBe(true);
    }
  });
});
