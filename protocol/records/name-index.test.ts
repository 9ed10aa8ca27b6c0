import fc from "fast-check";
import { expect, it } from "vitest";
import { createNameIndex } from "./name-index.ts";

const word = fc.constantFrom("a", "b", "bs", "c", "the");
const name = fc.array(word, { minLength: 1, maxLength: 5 });

/** Every place of a name, found by checking each place separately. */
function* placesOf(words: readonly string[], names: readonly (readonly string[])[]): Generator<string> {
  for (const [start] of words.entries()) {
    for (let end = start + 1; end <= words.length; end += 1) {
      const stands = words.slice(start, end).join(" ");
      const isExact = names.some((each) => each.join(" ") === stands);
      const isInflected = !isExact && names.some((each) => `${each.join(" ")}s` === stands);
      if (isExact || isInflected) yield `${start} ${end} ${isInflected}`;
    }
  }
}

it("finds each name wherever it stands, and no name that was taken out", () => {
  fc.assert(
    fc.property(
      fc.array(name, { maxLength: 8 }),
      fc.array(name, { maxLength: 4 }),
      fc.array(word, { maxLength: 12 }),
      (kept, removed, words) => {
        const index = createNameIndex([...removed, ...kept]);
        for (const each of removed) index.remove(each);
        const found: string[] = [];
        index.some(words, ({ start, end, isInflected }) => {
          found.push(`${start} ${end} ${isInflected}`);
          return false;
        });
        expect(found).toEqual([...placesOf(words, kept)]);
        expect(index.size).toBe(new Set(kept.map((each) => each.join(" "))).size);
      },
    ),
    { numRuns: 1_000 },
  );
});

it("stops where it is answered, and minds no name that is not there", () => {
  const index = createNameIndex([["a"], ["b"]]);
  index.remove(["c"]);
  const seen: number[] = [];
  expect(index.some(["a", "b"], ({ start }) => seen.push(start) === 1)).toBe(true);
  expect(seen).toEqual([0]);
  expect(index.some([], () => true)).toBe(false);
});

it("cuts what no text is written like", () => {
  const long = Array.from({ length: 40 }, (_, at) => `w${at}`);
  const index = createNameIndex([long]);
  expect(index.some(long.slice(0, 24), () => true)).toBe(true);
  index.remove(long);
  expect(index.size).toBe(0);
});
