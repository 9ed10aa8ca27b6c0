// Which files import a source, directly or indirectly: the tests that could detect a change in it.

import { posix } from "node:path";
import { isTestFile } from "../tidy/import-table.ts";
import type { SourceFile } from "../tidy/source.ts";

/** The test files that reach `path` through their imports. */
export function testsThatReach(path: string, sources: readonly SourceFile[]): readonly string[] {
  const importers = new Map<string, string[]>();
  for (const { path: importer, imports } of sources) {
    for (const { specifier, typeOnly } of imports) {
      if (typeOnly || !specifier.startsWith(".")) continue;
      const imported = posix.join(posix.dirname(importer), specifier);
      importers.set(imported, [...(importers.get(imported) ?? []), importer]);
    }
  }
  const reached = new Set([path]);
  for (const each of reached) for (const importer of importers.get(each) ?? []) reached.add(importer);
  return [...reached].filter((each) => isTestFile(each) && each.endsWith(".test.ts")).sort();
}
