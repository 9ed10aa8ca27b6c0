import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./process.ts";
import { exemptions } from "./tidy/exemptions.ts";
import { importFaults, importTable, stalePatterns } from "./tidy/import-table.ts";
import { labelFaults } from "./tidy/labels.ts";
import { sourceFaults, textFaults } from "./tidy/rules.ts";
import { type Fault, listFiles, loadSource, parseSource } from "./tidy/source.ts";
import { pageWordFaults, textWordFaults } from "./tidy/words.ts";

/** The tree has always had more files than this: if fewer are found, the walk is broken. */
const fileCountMin = 200;

const files = listFiles(root, [".ts"]).map((path) => loadSource(root, path));
const prose = listFiles(root, [".md", ".mjs", ".yaml", ".yml", ".json", ".sh", ".py", ".cql", ".html"])
  .filter((path) => path !== "package-lock.json" && !/(^vectors\/.*\.json$)|\/vectors\//.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
const found: readonly Fault[] = [
  ...files.flatMap((file) => [...importFaults(file), ...sourceFaults(file), ...textWordFaults(file)]),
  ...prose.flatMap((file) => [...textFaults(file), ...pageWordFaults(file)]),
  ...labelFaults(files),
];

function isExempt(fault: Fault): boolean {
  return exemptions.some((each) => each.path === fault.path && each.rule === fault.rule);
}

describe("the project", () => {
  it("was really walked", () => {
    const paths = files.map((file) => file.path);
    expect(paths.length).toBeGreaterThan(fileCountMin);
    for (const known of [
      "protocol/result.ts",
      "crypto/port.ts",
      "tools/tidy/rules.ts",
      "storage/sqlite/database.ts",
    ]) {
      expect(paths).toContain(known);
    }
    expect(files.reduce((sum, file) => sum + file.imports.length, 0)).toBeGreaterThan(fileCountMin);
    expect(prose.map((file) => file.path)).toContain("tools/run.mjs");
  });

  it("keeps its rules", () => {
    const faults = found.filter((each) => !isExempt(each));
    expect(faults.map((each) => `${each.path}:${each.line} ${each.rule}: ${each.detail}`)).toEqual([]);
  });

  it("has no exemption that nothing needs", () => {
    const needless = exemptions.filter(
      (each) => !found.some((f) => f.path === each.path && f.rule === each.rule),
    );
    expect(needless).toEqual([]);
    for (const each of exemptions) expect(each.reason.length).toBeGreaterThan(20);
  });

  it("has a row in the import table for each of its folders, and no row twice", () => {
    expect(new Set(importTable.map((row) => row.of)).size).toBe(importTable.length);
  });

  it("has nothing in the import table that is not there", () => {
    expect(stalePatterns([...files, ...prose].map(({ path }) => path))).toEqual([]);
  });
});

/** The rules that `text` breaks as the file `path`. */
function rulesBroken(path: string, text: string): readonly string[] {
  const file = parseSource(path, text);
  return [...importFaults(file), ...sourceFaults(file)].map((each) => each.rule);
}

describe("the import table", () => {
  it("is told of rows and of folders within rows that no file is in", () => {
    const table = [
      { of: "gone", may: [], packages: [] },
      { of: "here", may: ["here/a.ts", "lost/*"], mayTypes: ["here/b.ts"], butNot: ["away"], packages: [] },
    ];
    const stale = ["gone: gone", "here: lost/*", "here: here/b.ts", "here: away"];
    expect(stalePatterns(["here/a.ts", "lost/a.ts"], table)).toEqual(stale);
  });

  it.each([
    ["protocol/a.ts", 'import { b } from "../collections/b.ts";'],
    ["protocol/a.ts", 'export { b } from "../verifier/b.ts";'],
    ["protocol/a.ts", 'export * from "../verifier/b.ts";'],
    ["protocol/a.ts", 'const b = await import("../client/b.ts");'],
    ["protocol/a.ts", "declare const name: string; const b = await import(name);"],
    ["protocol/a.ts", 'type B = import("../client/b.ts").B;'],
    ["protocol/a.ts", 'import { readFileSync } from "node:fs";'],
    ["protocol/a.ts", 'import fastify from "fastify";'],
    ["protocol/a.ts", 'import { b } from "./b";'],
    ["std/a.ts", 'import { b } from "../protocol/b.ts";'],
    ["std/a.ts", 'import type { Worker } from "node:worker_threads";'],
    ["std/a.ts", 'import { sha256 } from "@noble/hashes/sha2.js";'],
    ["protocol/a.ts", 'import { b } from "./b.test.ts";'],
    ["protocol/a.ts", 'import { b } from "./b.fixture.ts";'],
    ["collections/a.ts", 'import { matches } from "../storage/row-index.ts";'],
    ["collections/a.ts", 'import type { Actor } from "../storage/actor-store.ts";'],
    ["actors/push/a.ts", 'import { b } from "../business/b.ts";'],
    ["actors/push/a.ts", 'import { b } from "../system/mailbox.ts";'],
    ["actors/push/a.ts", 'import { b } from "../../storage/sqlite/b.ts";'],
    ["actors/system/a.ts", 'import { machine } from "../../machines/push.ts";'],
    ["storage/a.ts", 'import { b } from "./sqlite/b.ts";'],
    ["storage/sqlite/a.ts", 'import { b } from "../cassandra/b.ts";'],
    ["service/a.ts", 'import { nativeCrypto } from "../crypto/native.ts";'],
    ["verifier/a.ts", 'import { b } from "../service/b.ts";'],
    ["cli/a.ts", 'import { b } from "../sim/b.ts";'],
    ["node/a.ts", 'import { b } from "../sim/b.ts";'],
    ["sim/a.ts", 'import { b } from "../storage/sqlite/b.ts";'],
    ["sim/a.ts", 'import { b } from "../crypto/native.ts";'],
    ["sim/a.ts", 'import { b } from "../transport/ws/b.ts";'],
    ["unknown/a.ts", ""],
  ])("refuses in %s: %s", (path, text) => {
    expect(rulesBroken(path, text)).toEqual(["imports"]);
  });

  it.each([
    ["protocol/a.ts", 'import { sha256 } from "@noble/hashes/sha2.js"; import { b } from "./records/b.ts";'],
    ["protocol/a.ts", 'import { b } from "../std/b.ts";'],
    ["verifier/a.ts", 'import { b } from "../std/b.ts";'],
    ["std/a.ts", 'import { b } from "./b.ts";'],
    ["protocol/a.test.ts", 'import { it } from "vitest"; import { b } from "../verifier/b.ts";'],
    ["collections/a.ts", 'import type { IndexRow } from "../storage/row-index.ts";'],
    [
      "actors/push/a.ts",
      'import { b } from "../messages/push.ts"; import type { S } from "../../storage/record-store.ts";',
    ],
    ["actors/system/a.ts", 'import { type Machine } from "../../machines/push.ts";'],
    [
      "storage/sqlite/a.ts",
      'import { DatabaseSync } from "node:sqlite"; import { b } from "./b.ts"; import "../a.ts";',
    ],
    ["crypto/native.ts", 'import { sign } from "node:crypto"; import type { C } from "./port.ts";'],
    [
      "sim/a.ts",
      'import type { Clock } from "../crypto/port.ts"; import { b } from "../storage/record-store.ts";',
    ],
    ["node/a.ts", 'import { b } from "../storage/sqlite/b.ts";'],
  ])("allows in %s: %s", (path, text) => {
    expect(rulesBroken(path, text)).toEqual([]);
  });
});

describe("the rules about a file", () => {
  const lines = (count: number): string => "  f();\n".repeat(count);

  it("measure files and functions, but not suites", () => {
    expect(rulesBroken("node/a.ts", "f();\n".repeat(701))).toEqual(["file-size"]);
    expect(rulesBroken("node/a.ts", "f();\n".repeat(700))).toEqual([]);
    expect(rulesBroken("node/a.ts", `function g() {\n${lines(119)}}`)).toEqual(["function-size"]);
    expect(rulesBroken("node/a.ts", `function g() {\n${lines(118)}}`)).toEqual([]);
    expect(rulesBroken("node/a.ts", `class A {\n  #m = () => {\n${lines(120)}  };\n}`)).toEqual([
      "function-size",
    ]);
    expect(
      rulesBroken("node/a.test.ts", `describe("a", () => {\n  it("b", () => {});\n${lines(120)}});`),
    ).toEqual([]);
    expect(rulesBroken("node/a.test.ts", `it("a", () => {\n${lines(120)}});`)).toEqual(["function-size"]);
  });

  it.each([
    "Date.now();",
    "Math.random();",
    "new Date();",
    "Date();",
    "performance.now();",
    "setTimeout(() => {}, 1);",
    "globalThis.Date;",
    "f(process);",
    "crypto.randomUUID();",
  ])("refuse %s in a pure folder only", (text) => {
    expect(rulesBroken("machines/a.ts", text)).toEqual(["purity"]);
    expect(rulesBroken("machines/a.test.ts", text)).toEqual([]);
    expect(rulesBroken("node/a.ts", text)).toEqual([]);
  });

  it("let a pure folder name its own members as it likes", () => {
    const text = "const a = { fetch: 1, process() {} }; a.fetch; new Date(0); interface B { crypto: string }";
    expect(rulesBroken("service/a.ts", text)).toEqual([]);
  });

  it.each([
    "a.toBase64();",
    "a?.toHex();",
    "Uint8Array.fromBase64(a);",
    "Promise.try(f);",
    "Promise.withResolvers();",
    "Array.fromAsync(a);",
    "Object.groupBy(a, f);",
    "a.union(b);",
    "a.isSubsetOf(b);",
    "Iterator.from(a);",
    "a.values().map(f);",
    "a.matchAll(b).toArray();",
    "new DisposableStack();",
    "import.meta.main;",
  ])("refuse %s, which Node 20 lacks, in what is packed for others", (text) => {
    for (const folder of ["client", "client/feeds", "protocol", "std", "verifier"])
      expect(rulesBroken(`${folder}/a.ts`, text), folder).toEqual(["runtime"]);
    for (const path of ["protocol/bytes.ts", "protocol/a.test.ts", "node/a.ts"])
      expect(rulesBroken(path, text), path).toEqual([]);
  });

  it("let what is packed use what Node 20 has", () => {
    const text =
      "toHex(a); Object.values(a).map(f); a.map(f).filter(g); b.toSorted(); [...a.values()].some(f);";
    expect(rulesBroken("client/a.ts", text)).toEqual([]);
    expect(rulesBroken("client/a.ts", "type A = { toHex: string; union: Iterator<string> };")).toEqual([]);
  });

  it("want a docstring on what protocol and verifier export", () => {
    expect(rulesBroken("protocol/a.ts", "export function f() {}")).toEqual(["docstring"]);
    expect(rulesBroken("verifier/a.ts", "/** Far away. */\nconst b = 1;\nexport const f = () => b;")).toEqual(
      ["docstring"],
    );
    expect(rulesBroken("protocol/a.ts", "// Not one.\nexport function f() {}")).toEqual(["docstring"]);
    expect(rulesBroken("protocol/a.ts", "function f() {}\nexport { f };")).toEqual(["docstring"]);
    expect(rulesBroken("protocol/a.ts", "/** Does it. */\nexport function f() {}\nfunction g() {}")).toEqual(
      [],
    );
  });

  it.each([
    "f(a as never);",
    "const message = { type: 1 } as Message;",
    "actors.ask<PushReport>(ref, command);",
    "node.services?.actors.askSpeculative<PushReport>(ref, command);",
  ])("refuse to claim a type, in tests too: %s", (text) => {
    expect(rulesBroken("service/a.ts", text)).toEqual(["type-claim"]);
    expect(rulesBroken("service/a.test.ts", text)).toEqual(["type-claim"]);
  });

  it.each(["f({ ...{ a, b } });", "f([...[a, b], c]);", "f(...[a, b]);"])(
    "refuse a literal that is spread into one, in tests too: %s",
    (text) => {
      expect(rulesBroken("service/a.ts", text)).toEqual(["spread"]);
      expect(rulesBroken("service/a.test.ts", text)).toEqual(["spread"]);
    },
  );

  it("let a value be spread, and a literal on a condition", () => {
    const text = "f({ ...a, ...(b ? { c } : {}) }, ...d, [...e, ...(g ? [h] : [])]);";
    expect(rulesBroken("service/a.ts", text)).toEqual([]);
  });

  it("let a reply be inferred, and a value be never", () => {
    const text =
      "const r = actors.ask(ref, c); const f = (): never => { throw g as Error; }; const m: Message = r;";
    expect(rulesBroken("service/a.ts", text)).toEqual([]);
  });

  it("refuse tests that are left out", () => {
    for (const call of [
      'it.only("a", f)',
      'describe.skip("a", f)',
      'it.skip.each([1])("a", f)',
      'test.todo("a")',
    ]) {
      expect(rulesBroken("node/a.test.ts", call)).toContain("left-out-test");
    }
    expect(rulesBroken("node/a.test.ts", 'describe.skipIf(!hasJava)("a", f)')).toEqual([]);
  });

  it("refuse words that may not stay", () => {
    expect(textFaults({ path: "a.md", text: `x\nTO${"DO"}: y` })).toMatchObject([
      { rule: "unfinished", line: 2 },
    ]);
    expect(textFaults({ path: "a.md", text: `in /ho${"me"}/someone` })).toMatchObject([
      { rule: "machine-path" },
    ]);
    expect(textFaults({ path: "a.ts", text: `// @ts-${"ignore"}` })).toMatchObject([{ rule: "silenced" }]);
    expect(textFaults({ path: "a.md", text: "https://example.com/home/x and ./tmp/x" })).toEqual([]);
  });

  it.each([
    `The index is built ane${"w"}.`,
    `Who${"ever"} has the key is the party.`,
    `The row of befo${"re"} stays.`,
    `This is n${"o"} record id.`,
    `Tests are run, to${"o"}.`,
  ])("refuse in pages and texts: %s", (text) => {
    expect(pageWordFaults({ path: "a.md", text: `x\n${text}` })).toMatchObject([{ rule: "words", line: 2 }]);
    for (const quoted of [JSON.stringify(text), `\`\${x} ${text}\``]) {
      expect(textWordFaults(parseSource("node/a.ts", `f(\n${quoted});`))).toMatchObject([
        { rule: "words", line: 2 },
      ]);
      expect(textWordFaults(parseSource("node/a.test.ts", `f(${quoted});`))).toEqual([]);
    }
    for (const path of ["node/a.ts", "node/a.test.ts"]) {
      const comment = `/*\n «${text}\n»\n ${text} */`;
      expect(textWordFaults(parseSource(path, comment))).toMatchObject([{ rule: "words", line: 4 }]);
    }
    expect(pageWordFaults({ path: "a.md", text: `«${text}»` })).toEqual([]);
  });

  it("want a label once in its file, and where it is cited from", () => {
    const port = parseSource("storage/port.ts", "// A port.\n//   S1. Kept.\n//   S2. In order.\n");
    const cite = (path: string, text: string) =>
      labelFaults([port, parseSource(path, text)]).map((each) => each.detail);
    const nameOf = (label: string, name: string): string =>
      `// See ${label} in ${name}.ts and of ${name}.ts.`;
    expect(cite("storage/a.ts", nameOf("S1", "port"))).toEqual([]);
    expect(cite("node/a.ts", nameOf("S2", "storage/port"))).toEqual([]);
    expect(cite("node/a.ts", nameOf("S2", "port"))).toEqual([]);
    expect(cite("node/a.ts", nameOf("S3", "port"))).toEqual([`S3 ${"in"} port.ts is not given there`]);
    expect(cite("node/a.ts", nameOf("S1", "gone"))).toEqual([`S1 ${"in"} gone.ts is not given there`]);
    for (const title of [`is kept (${"S1"}, S2)`, `${"S2"}: is in order`]) {
      expect(cite("storage/a.test.ts", `it("${title}", f);`)).toEqual([]);
      expect(cite("node/a.test.ts", `import "../storage/port.ts";\nit("${title}", f);`)).toEqual([]);
      expect(cite("node/a.test.ts", `it("${title}", f);`)).toContain("S2 is given nowhere near");
    }
    expect(cite("storage/a.test.ts", 'it("is kept (S3)", f);')).toEqual(["S3 is given nowhere near"]);
    expect(labelFaults([parseSource("a/a.ts", "//   S1. One.\n//   S1. Two.\n")])).toMatchObject([
      { rule: "labels", detail: "S1 is given twice" },
    ]);
  });

  it("throw on what cannot be parsed", () => {
    expect(() => parseSource("a.ts", "const = ;")).toThrow(SyntaxError);
  });
});
