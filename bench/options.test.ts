import { describe, expect, it } from "vitest";
import { parseOptions, sectionNames } from "./options.ts";

describe("the options of the benchmark", () => {
  it("run the million records only where they are named", () => {
    expect(parseOptions([]).sections).toEqual(sectionNames.filter((name) => name !== "million"));
    expect(parseOptions(["--quick"]).sections).not.toContain("million");
    expect(parseOptions(["--only", "start,million"]).sections).toEqual(["start", "million"]);
  });

  it("name no section that there is not", () => {
    expect(() => parseOptions(["--only", "billion"])).toThrow("There is no section billion.");
  });
});
