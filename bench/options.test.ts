import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseOptions, sectionNames } from "./options.ts";
import { peerNames } from "./peers/peers.ts";

describe("the options of the benchmark", () => {
  it("run what takes long only where it is named", () => {
    const named = ["cluster", "million", "large-business", "cluster-import", "storm"];
    expect(parseOptions([]).sections).toEqual(sectionNames.filter((name) => !named.includes(name)));
    expect(parseOptions(["--quick"]).sections).not.toContain("million");
    expect(parseOptions(["--only", "start,million"]).sections).toEqual(["start", "million"]);
  });

  it("say how many records a bulk file has, within what one may have", () => {
    expect(parseOptions([]).records).toBeNull();
    expect(parseOptions(["--records", "30000"]).records).toBe(30_000);
    for (const records of ["0", "1.5", "many", "100001"])
      expect(() => parseOptions(["--records", records])).toThrow("--records is a number from 1 to 100000");
  });

  it("name no section that there is not", () => {
    expect(() => parseOptions(["--only", "billion"])).toThrow("There is no section billion.");
  });

  it("say with which commit to compare, and what", () => {
    expect(parseOptions([]).against).toBeNull();
    const { against } = parseOptions(["--against", "HEAD~1"]);
    expect(against).toEqual({
      commit: "HEAD~1",
      pairs: 15,
      contests: ["fetch", "search", "push", "actors", "ads"],
    });
    const some = ["--against", "HEAD", "--only", "actors,fetch", "--pairs", "31"];
    expect(parseOptions(some).against).toMatchObject({ pairs: 31, contests: ["actors", "fetch"] });
    expect(() => parseOptions(["--against", "HEAD", "--pairs", "5"])).toThrow("from 6, not 5");
    expect(() => parseOptions(["--against", "HEAD", "--only", "start"])).toThrow("start cannot be compared");
  });

  it("measure peers instead of sections, all or those that are named", () => {
    expect(parseOptions(["--quick"]).peers).toBeNull();
    expect(parseOptions(["--peers"])).toMatchObject({ peers: peerNames, sections: [] });
    expect(parseOptions(["--peers", "--only", "sigstore,restate"]).peers).toEqual(["sigstore", "restate"]);
    expect(() => parseOptions(["--peers", "--only", "fetch"])).toThrow("There is no peer fetch.");
  });

  it("are those that the table of docs/production.md names, with the records of its figures", () => {
    const page = readFileSync(join(import.meta.dirname, "..", "docs", "production.md"), "utf8");
    const [, table = ""] = /^\| what \| measured \|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
    const rows = table
      .trim()
      .split("\n")
      .map((row) => row.split("|").map((cell) => cell.trim()));
    const named = rows.flatMap(([, , , options = "", figure = ""]) => {
      if (options === "") return [];
      const { sections, records } = parseOptions(`--only ${options.replaceAll("`", "")}`.split(" "));
      if (records !== null) expect(figure).toContain(records.toLocaleString("en"));
      return sections;
    });
    expect(named).toEqual(["million", "cluster-import", "cluster"]);
  });
});
