// Which files import a source, directly or indirectly: the tests that could detect a change in it.

import { posix } from "node:path";
import { isTestFile } from "../tidy/import-table.ts";
import type { SourceFile } from "../tidy/source.ts";

/** The files that reach `path` through their imports. */
export function filesThatReach(path: string, sources: readonly SourceFile[]): Reaching {
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
  const [others, forTests] = [
    [...reached].filter((each) => !isTestFile(each)),
    [...reached].filter(isTestFile),
  ];
  return { tests: forTests.filter((each) => each.endsWith(".test.ts")).sort(), others };
}

interface Reaching {
  readonly tests: readonly string[];
  readonly others: readonly string[];
}
