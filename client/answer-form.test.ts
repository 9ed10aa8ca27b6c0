import { describe, expect, it } from "vitest";
import { formed } from "./answer-form.ts";
import type { CataloguePage } from "./business-answers.ts";
import type { JsonAnswer } from "./json-answer.ts";
import { catalogueEntries } from "./pages.ts";

const answerOf = <T>(body: T): JsonAnswer<T> => ({ body, text: "", status: 200, requestHash: null });
const empty = { entries: [], next_cursor: null };

describe("an answer of another form", () => {
  it.each(["search", "pushStatus", "catalogue", "attempts", "terms"] as const)("is refused: %s", (form) => {
    for (const body of [null, [], {}, "text", 5])
      expect(() => formed(form, answerOf(body))).toThrow("The answer does not have the form");
  });

  it("is one with a member of another kind, at any depth", () => {
    for (const body of [
      { ...empty, entries: {} },
      { ...empty, entries: [null] },
      { ...empty, next_cursor: 5 },
    ])
      expect(() => formed("catalogue", answerOf(body))).toThrow("form");
  });

  it("is none that has more than this release knows", () => {
    const later = answerOf({ ...empty, later: 1 });
    expect(formed("catalogue", later)).toBe(later);
  });

  it("ends a list", async () => {
    const patience = { now: () => 0, wait: async () => {}, patienceMs: 0, onWaiting: () => {} };
    const body = JSON.parse("{}") as CataloguePage;
    const list = catalogueEntries({ cataloguePage: async () => answerOf(body) }, patience);
    await expect(list.next()).rejects.toMatchObject({ code: "unexpected_answer" });
  });
});
