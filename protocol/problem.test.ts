import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { problem } from "./problem.ts";
import { boundedPointer, detailLengthMax, pointerLengthMax, refuse } from "./result.ts";

const long = "A".repeat(4_194_304);

describe("a problem document", () => {
  it("says the caller's words in a bounded length, however long they were", () => {
    const errors = Array.from({ length: 10_000 }, () => ({
      code: "request_invalid",
      pointer: `/${long}`,
      detail: long,
    }));
    const found = problem("request_invalid", `The body has no member "${long}".`, {
      pointer: `/a/${long}`,
      errors,
    });
    expect(JSON.stringify(found).length).toBeLessThan(32_768);
    expect(found).toMatchObject({ code: "request_invalid", pointer: "/a" });
    expect(found.detail).toMatch(/^The body has no member "AAA.* …$/);
    expect(found.errors?.length).toBeGreaterThan(5);
  });

  it("tells short faults whole and in order", () => {
    const errors = Array.from({ length: 20 }, (_, index) => ({
      code: "request_invalid",
      pointer: `/records/${index}`,
      detail: "A record is base64.",
    }));
    expect(problem("request_invalid", "x", { pointer: "", errors })).toMatchObject({
      detail: "x",
      pointer: "",
      errors,
    });
  });
});

describe("a refusal", () => {
  it("has a bounded detail, never half a character, and a pointer to something that is there", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 40 }).map((part) => part.repeat(40));
    fc.assert(
      fc.property(text, fc.array(text), (detail, names) => {
        const pointer = names.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
        const refusal = refuse("x", detail, pointer);
        expect(refusal.detail.length).toBeLessThanOrEqual(detailLengthMax);
        expect(refusal.detail.isWellFormed()).toBe(true);
        expect(refusal.pointer?.length).toBeLessThanOrEqual(pointerLengthMax);
        expect([...pointer, "/"].join("")).toContain(`${refusal.pointer}/`);
      }),
    );
  });

  it("keeps a pointer that is short enough", () => {
    expect(boundedPointer("/a/b~1c/0")).toBe("/a/b~1c/0");
    expect(boundedPointer(`/${long}`)).toBe("");
  });
});
