import { describe, expect, it } from "vitest";
import { actionNames, blockedNames, useNames } from "../protocol/ai-policy.ts";
import { policyWords } from "./policy-words.ts";

const all = (names: readonly string[]): number => 2 ** names.length - 1;
const bit = (names: readonly string[], name: string): number => 2 ** names.indexOf(name);
const everything = { ai_policy_version: 1, use: all(useNames), action: all(actionNames), blocked: 0 };

describe("policy words", () => {
  it("forbid nothing where everything is allowed, and repeat what is asked", () => {
    const { not_allowed, asked } = policyWords(everything);
    expect(not_allowed).toEqual([]);
    expect(asked).toHaveLength(useNames.length - 1);
  });

  it.each(actionNames)("name the withheld action %s in one sentence", (name) => {
    const { not_allowed } = policyWords({
      ...everything,
      action: everything.action - bit(actionNames, name),
    });
    expect(not_allowed).toHaveLength(1);
    expect(not_allowed[0]).toMatch(/^Do not /);
  });

  it.each(blockedNames)("name the blocked context %s in one sentence", (name) => {
    const { not_allowed } = policyWords({ ...everything, blocked: bit(blockedNames, name) });
    expect(not_allowed).toEqual([expect.stringMatching(/^Do not show the record in this context: [A-Z]/)]);
  });

  it("forbid recommendations where they are not permitted", () => {
    const use = everything.use - bit(useNames, "include_in_recommendations");
    expect(policyWords({ ...everything, use }).not_allowed).toEqual([
      "Do not include the record in recommendations or comparisons.",
    ]);
  });

  it("permit nothing where no policy is sealed", () => {
    const { not_allowed, asked } = policyWords({ ai_policy_version: 0, use: 0, action: 0, blocked: 0 });
    expect(not_allowed[0]).toBe("The business has sealed no AI policy, so nothing is permitted.");
    expect([not_allowed.length, asked.length]).toEqual([actionNames.length + 2, 0]);
  });
});
