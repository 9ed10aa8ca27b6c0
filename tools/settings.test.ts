// Every setting is read under one name, described on a page, and known to the doctor.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { settingNames } from "../node/doctor/settings.ts";
import { root } from "./process.ts";
import { listFiles } from "./tidy/source.ts";

const text = (path: string): string => readFileSync(join(root, path), "utf8");
const namesIn = (source: string, pattern: RegExp): readonly string[] =>
  [...source.matchAll(pattern)].map(([, name = ""]) => name);

const program = /^(?:node|ops|cli|api|transport|storage|cluster|service|client|crypto|verifier)\//;
const sources = listFiles(root, [".ts"]).filter(
  (path) =>
    program.test(path) &&
    !/\.(?:test|fixture|conformance)\.ts$/.test(path) &&
    // The settings that the doctor names belong to others, and the codes of the client's errors are not settings.
    !path.startsWith("node/doctor/") &&
    path !== "client/errors.ts",
);
const quoted = sources.flatMap((path) => namesIn(text(path), /"(SVC_[A-Z0-9_]+)"/g));
const members = sources.flatMap((path) => namesIn(text(path), /(?:^\s*|env\.)(SVC_[A-Z0-9_]+)\b(?=:|\))/gm));
const read = new Set([...quoted, ...members]);

/** Pages for operators of the service; CONTRIBUTING.md and bench/ also name settings of tests. */
const pages = [
  ...listFiles(root, [".md"]).filter((path) => path.startsWith("docs/")),
  "README.md",
  "ARCHITECTURE.md",
  "SECURITY.md",
  "compose.yaml",
  "Dockerfile",
];

describe("settings", () => {
  it("that the source reads are those that the doctor knows", () => {
    expect(read.size).toBeGreaterThan(50);
    expect([...read].filter((name) => !settingNames.includes(name))).toEqual([]);
    expect(settingNames.filter((name) => !read.has(name))).toEqual([]);
    expect(settingNames).toEqual([...new Set(settingNames)].sort());
  });

  it("stand in the lists of docs/production.md, each once and under its whole name", () => {
    const rows = text("docs/production.md")
      .split("\n")
      .filter((line) => line.startsWith("- `SVC_"));
    const named = rows.flatMap((row) => namesIn(row.split(": ")[0] ?? "", /`(SVC_[A-Z0-9_]+)`/g));
    expect(settingNames.filter((name) => !named.includes(name))).toEqual([]);
    expect(named.filter((name, at) => named.indexOf(name) !== at)).toEqual([]);
  });

  it("that a page names are read", () => {
    const named = pages.flatMap((path) =>
      namesIn(text(path), /\b(SVC_[A-Z0-9_]*[A-Z0-9])\b/g).map((name) => `${path}: ${name}`),
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((each) => !settingNames.includes(each.split(": ")[1] ?? ""))).toEqual([]);
  });
});
