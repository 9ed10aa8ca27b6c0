import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { screenTopic, topicLimits } from "./topic-screening.ts";

describe("a subject", () => {
  it.each([
    ["kettle", "kettle"],
    ["  Running   Shoes ", "running shoes"],
    ["Café Table", "cafe table"],
    ["iPhone 15 Pro Max", "iphone 15 pro max"],
    ["4K", "4k"],
    ["10000mAh", "10000mah"],
    ["rock & roll", "rock & roll"],
    ["t-shirt", "t-shirt"],
    ["women's coats", "women's coats"],
    ["ＫＥＴＴＬＥ", "kettle"],
    ["電気ケトル", "電気ケトル"],
    ["чайник", "чаиник"],
    ["mi band", "mi band"],
    ["pan lid", "pan lid"],
    ["maria", "maria"],
    ["Lebensmittelunverträglichkeit", "lebensmittelunvertraglichkeit"],
    ["arbeiderspensjonsforsikringer", "arbeiderspensjonsforsikringer"],
  ])("%j is kept as %j", (keyword, subject) => expect(screenTopic(keyword)).toBe(subject));

  it.each([
    ["an e-mail address", ["anna@example.com", "kettle anna＠example", "mailto bob@x"]],
    ["a handle", ["@annab", "#annasbirthday"]],
    ["a web address", ["https://a.example", "www.example", "example.com", "shop．example"]],
    ["a telephone number", ["+44 20 7946 0958", "020-7946-0958", "(555) 010 999", "0 2 0 7 9 4", "٠٢٠٧٩٤"]],
    ["a long run of digits", ["kettle 4111111111111111", "123456", "order 100200"]],
    ["an identifier", ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "deadbeef12", "a1b2c3d4e5f6", "X9f8G7h6J5"]],
    [
      "a word that is too long",
      ["k".repeat(25), "ab".repeat(25), "q2xZkYw9LrTnVbMsPdFgHjKlQwEr", "qxzkywlrtnvbmspdfghjklqwer"],
    ],
    [
      "the name of a person",
      ["Anna Berg", "anna-berg", "kettle for José", "Dr Okafor", "Frau Y", "o'brien john", "jоhn smith"],
    ],
    ["somebody's own words", ["my kettle", "best for me", "mein Arzt", "where do i buy", "cadeau pour ma"]],
    ["a sentence", ["which kettle is the best one", "a b c d e", "私はどのやかんを買えばいいですか"]],
    ["other signs", ["<kettle>", "a=b", "kettle\nfor", "a:b", "kettle?", "\u0000", "—", "12", "👶 clothes"]],
  ])("%s is dropped", (_, keywords) => {
    for (const keyword of keywords) expect([keyword, screenTopic(keyword)]).toEqual([keyword, null]);
  });

  it("never has a sign of an address, more than five digits or more than four words, and is kept unchanged", () => {
    const part = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 12 }),
      fc.constantFrom(" ", "@", ".", "-", "kettle", "12", "www.", "://", "+", "/", "anna"),
    );
    const keyword = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(keyword, (text) => {
        const subject = screenTopic(text);
        if (subject === null) return;
        expect(subject).not.toMatch(/[@#]|:\/\/|www\.|\p{L}\.\p{L}/u);
        expect(subject.match(/\p{N}/gu)?.length ?? 0).toBeLessThanOrEqual(topicLimits.digitsMax);
        expect(subject.split(/[ '’&+./-]+/u).filter((word) => word !== "").length).toBeLessThanOrEqual(4);
        expect(screenTopic(subject)).toBe(subject);
      }),
      { numRuns: 3_000 },
    );
  });
});
