import { describe, expect, it } from "vitest";
import { applyChange, guardChanges } from "./guards/guard-sites.ts";
import { filesThatReach } from "./guards/users-of.ts";
import { parseSource } from "./tidy/source.ts";

const changesOf = (text: string) =>
  guardChanges(parseSource("a.ts", text)).map((change) => applyChange(text, change));

describe("the guards of a source", () => {
  it("are conditions behind which nothing goes on: deleted, and turned round (G1, G2)", () => {
    expect(changesOf("for (;;) { if (a > 1) continue; b(); }")).toEqual([
      "for (;;) { if (false) continue; b(); }",
      "for (;;) { if (!(a > 1)) continue; b(); }",
    ]);
    expect(changesOf("if (a) { b(); throw c; }")).toHaveLength(2);
    expect(changesOf("if (a) { b(); } else throw c;")).toEqual([]);
  });

  it("are operands, each of them missing in turn (G1, G2)", () => {
    expect(changesOf("const a = b && (c || d);")).toEqual([
      "const a = (b);",
      "const a = ((c || d));",
      "const a = b && ((c));",
      "const a = b && ((d));",
    ]);
    expect(changesOf("const a = b ?? c;")).toEqual([]);
  });

  it("are told by where they stand", () => {
    const [change] = guardChanges(parseSource("a.ts", "const a = 1;\nif (!a) throw a;"));
    expect(change).toMatchObject({ path: "a.ts", line: 2, was: "!a", becomes: "false" });
  });
});

describe("tests that could notice a change", () => {
  it("reach the source by imports, not by types alone", () => {
    const sources = [
      parseSource("x/a.ts", "export const a = 1;"),
      parseSource("x/b.ts", `import { a } from "./a.ts";`),
      parseSource("y/b.test.ts", `import "../x/b.ts";`),
      parseSource("x/types.test.ts", `import type { A } from "./a.ts";`),
      parseSource("x/c.test.ts", `import "./c.ts";`),
      parseSource("x/d.ts", `import { c } from "./c.ts";`),
    ];
    expect(filesThatReach("x/a.ts", sources)).toEqual({
      tests: ["y/b.test.ts"],
      others: ["x/a.ts", "x/b.ts"],
    });
  });
});
