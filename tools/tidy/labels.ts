// Invariants stand at the top of a file under labels such as S5, and comments and tests cite them.
//   K1. A label is defined once in a file, so that a citation refers to one sentence.
//   K2. A label cited together with the name of another file is defined in that file.
//   K3. A label cited in the title of a test, as «(K1, K2)» at its end or «K1: » at its start, is defined in the test
//       itself, in its folder, in a file that its comments name, or in a file that it imports or that one of those imports.

import { posix } from "node:path";
import { isTestFile } from "./import-table.ts";
import { type Fault, type SourceFile, visit } from "./source.ts";

/** Matches «//   S5. Text» at the top of a file; the text may start with a quoted name or a member. */
const given = /^(?:\/\/| \*) +([A-Z]{1,2}[0-9]{1,2})\. \S/gm;
const titled = /^([A-Z]{1,2}[0-9]{1,2}): |\(((?:[A-Z]{1,2}[0-9]{1,2}(?:, |\)$))+)/;
const cited = /\b([A-Z]{1,2}[0-9]{1,2}) (?:in|of) ((?:[\w-]+\/)*[\w.-]+\.ts)\b/g;

/** Labels that are defined twice in a file, or cited from a file that does not define them. */
export function labelFaults(files: readonly SourceFile[]): readonly Fault[] {
  const labels = new Map(
    files.map(({ path, text }) => [path, [...text.matchAll(given)].map(([, label = ""]) => label)]),
  );
  const byPath = new Map(files.map((file) => [file.path, file]));
  return files.flatMap((file) => {
    const own = labels.get(file.path) ?? [];
    const twice = own.filter((label, at) => own.indexOf(label) !== at);
    const missing = [...file.text.matchAll(cited)].filter(([, label = "", name = ""]) => {
      const found = fileNamed(name, file.path, labels);
      return found === null || !found.includes(label);
    });
    return [
      ...twice.map((label) => fault(file, 0, `${label} is given twice`)),
      ...missing.map((match) => fault(file, match.index, `${match[0]} is not given there`)),
      ...titleFaults(file, labels, byPath),
    ];
  });
}

function titleFaults(
  file: SourceFile,
  labels: ReadonlyMap<string, readonly string[]>,
  byPath: ReadonlyMap<string, SourceFile>,
): readonly Fault[] {
  if (!isTestFile(file.path)) return [];
  const imported = importsOf(file);
  const further = imported.flatMap((path) => importsOf(byPath.get(path)));
  const reached = new Set([...imported, ...further]);
  const near = [...labels].filter(
    ([path]) =>
      posix.dirname(path) === posix.dirname(file.path) || reached.has(path) || file.text.includes(path),
  );
  const known = new Set(near.flatMap(([, own]) => own));
  const faults: Fault[] = [];
  visit(file.program, (node) => {
    if (node.type !== "Literal" || typeof node.value !== "string") return;
    const [, first = "", last = ""] = titled.exec(node.value) ?? [];
    for (const [label] of `${first} ${last}`.matchAll(/[A-Z]+[0-9]+/g))
      if (!known.has(label)) faults.push(fault(file, node.start, `${label} is given nowhere near`));
  });
  return faults;
}

function importsOf(file: SourceFile | undefined): readonly string[] {
  return (file?.imports ?? []).map(({ specifier }) => posix.join(posix.dirname(file?.path ?? ""), specifier));
}

/** Resolves a path from the root or from the citing file's folder, or a name that only one file has. */
function fileNamed(
  name: string,
  from: string,
  labels: ReadonlyMap<string, readonly string[]>,
): readonly string[] | null {
  const near = labels.get(posix.join(posix.dirname(from), name)) ?? labels.get(name);
  if (near !== undefined) return near;
  const paths = [...labels.keys()].filter((path) => path.endsWith(`/${name}`));
  return paths.length === 1 ? (labels.get(paths[0] as string) ?? null) : null;
}

function fault(file: SourceFile, offset: number, detail: string): Fault {
  return { rule: "labels", path: file.path, line: file.lineAt(offset), detail };
}
