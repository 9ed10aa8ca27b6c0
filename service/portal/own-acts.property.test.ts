import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newestActs } from "./own-acts.ts";

const actOf = (change: number) => ({
  act: "key.revoke",
  entry: "key/k",
  at: "2026-01-01T00:00:00.000Z",
  by: "Ada",
  reason: "It was lost.",
  change,
});

/** Pages as the actor answers them: the oldest first, a hundred at most. */
async function allPages(changes: readonly number[]) {
  let reads = 0;
  const read = (after: number) => {
    reads += 1;
    return Promise.resolve(
      changes
        .filter((each) => each > after)
        .slice(0, 100)
        .map(actOf),
    );
  };
  const pages: number[][] = [];
  let before: number | null = null;
  for (;;) {
    const { acts, isAll } = await newestActs(read, before);
    pages.push(acts.map(({ change }) => change).toReversed());
    if (isAll) return { pages, reads };
    expect(acts.length).toBeGreaterThanOrEqual(50);
    before = acts[0]?.change ?? 0;
  }
}

describe("the newest acts of a business", () => {
  it("come first, and every one is on one page", async () => {
    const era = 2 ** 32;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(
          fc.oneof(
            fc.nat(3_000),
            fc.nat(400).map((at) => era + at),
            fc.nat(2 ** 40),
          ),
          {
            maxLength: 700,
            size: "max",
          },
        ),
        async (given) => {
          const changes = given.map((each) => each + 1).sort((a, b) => a - b);
          const { pages } = await allPages(changes);
          expect(pages.flat()).toEqual(changes.toReversed());
        },
      ),
      { numRuns: 40 },
    );
  });

  it("are read at once where there are few", async () => {
    const changes = Array.from({ length: 99 }, (_, at) => at + 1);
    expect((await allPages(changes)).reads).toBe(1);
  });
});
