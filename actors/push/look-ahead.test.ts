import { describe, expect, it } from "vitest";
import { createLookAhead } from "./look-ahead.ts";

describe("look-ahead", () => {
  it("gives what was begun once, and makes what was not", async () => {
    const ahead = createLookAhead<string>(2);
    let begun = 0;
    const early = async () => `early ${++begun}`;
    ahead.begin("a", early);
    ahead.begin("a", early);
    expect(await ahead.take("a", async () => "late")).toBe("early 1");
    expect(await ahead.take("a", async () => "late")).toBe("late");
    expect(begun).toBe(1);
  });

  it("makes anew what failed early, and lets a failure of its own be seen", async () => {
    const ahead = createLookAhead<string>(2);
    const fail = async (): Promise<string> => {
      throw new Error("no store");
    };
    ahead.begin("a", fail);
    expect(await ahead.take("a", async () => "late")).toBe("late");
    await expect(ahead.take("a", fail)).rejects.toThrow("no store");
  });

  it("keeps a bounded number, the newest", async () => {
    const ahead = createLookAhead<string>(2);
    for (const key of ["a", "b", "c"]) ahead.begin(key, async () => "early");
    expect(await Promise.all(["a", "b", "c"].map((key) => ahead.take(key, async () => "late")))).toEqual([
      "late",
      "early",
      "early",
    ]);
  });
});
