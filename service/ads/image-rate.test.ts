import { expect, it } from "vitest";
import { createImageRate, type ImageRateOptions } from "./ad-images.ts";

const dayMs = 86_400_000;

function open(options: Partial<ImageRateOptions> = {}) {
  let nowMs = 5_000;
  const rate = createImageRate({ elapsedMs: () => nowMs, perDay: 3, bytesPerDay: 100, ...options });
  return {
    skip: (ms: number) => {
      nowMs += ms;
    },
    /** The seconds to wait; null if the image may be taken. */
    take: (business: string, bytes = 1) => {
      const refused = rate.take(business, bytes);
      if (refused !== null)
        expect(refused.problem).toMatchObject({ code: "rate_limited", reason: "image_uploads" });
      return refused?.problem.retry_after_seconds ?? null;
    },
  };
}

it("R1: takes so many images of each business in 24 hours", () => {
  const { take, skip } = open();
  for (let images = 0; images < 3; images += 1) expect(take("a")).toBeNull();
  expect(take("a")).toBe(86_400);
  expect(take("b")).toBeNull();
  skip(dayMs - 500);
  expect(take("a")).toBe(1);
  skip(500);
  expect(take("a")).toBeNull();
});

it("R1: takes so many bytes of each business in 24 hours", () => {
  const { take, skip } = open();
  expect(take("a", 60)).toBeNull();
  expect(take("a", 41)).toBe(86_400);
  expect(take("a", 40)).toBeNull();
  expect(take("a", 1)).not.toBeNull();
  skip(dayMs);
  expect(take("a", 100)).toBeNull();
});

it("R2: forgets the business that has not sent any for the longest time", () => {
  const { take } = open({ businessesMax: 2, perDay: 1 });
  for (const business of ["a", "b", "c"]) expect(take(business)).toBeNull();
  expect(take("c")).not.toBeNull();
  expect(take("a")).toBeNull();
});
