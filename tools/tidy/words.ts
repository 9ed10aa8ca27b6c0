// Words that are not plain modern English, searched for in pages, in comments and in the texts of the program.

import { isTestFile } from "./import-table.ts";
import { type Fault, type SourceFile, visit } from "./source.ts";

/** Written in two parts, so that this file does not find itself. */
const words: readonly (readonly [pattern: RegExp, plain: string])[] = [
  [new RegExp(`\\bane${"w"}\\b`, "i"), "again"],
  [new RegExp(`\\bwho${"ever"}\\b`, "i"), "anyone who, or what it is"],
  [new RegExp(`\\bof befo${"re"}\\b`, "i"), "earlier, previous"],
  [new RegExp(`\\bbef(?:a${"ll"}|e${"ll"})s?\\b`, "i"), "happens to"],
  [new RegExp(`\\bafre${"sh"}\\b`, "i"), "again"],
  [new RegExp(`\\bsays noth${"ing"}\\b (?:of|to)\\b`, "i"), "does not mention, has no effect"],
  [new RegExp(`\\bthis is n${"o"} `, "i"), "this is not a valid"],
  [new RegExp(`[a-z»\`)], to${"o"}[.;]`), "also, as well"],
];

function faultsIn(path: string, text: string, lineAt: (offset: number) => number): readonly Fault[] {
  return words.flatMap(([pattern, plain]) =>
    [...text.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map((match) => ({
      rule: "words",
      path,
      line: lineAt(match.index),
      detail: `«${match[0]}»: ${plain}`,
    })),
  );
}

/** Faults of a page. A quotation between « and » comes from elsewhere, such as a commit or a test, and is skipped. */
export function pageWordFaults(file: { readonly path: string; readonly text: string }): readonly Fault[] {
  if (!file.path.endsWith(".md")) return [];
  return file.text
    .split("\n")
    .flatMap((line, index) => faultsIn(file.path, line.replaceAll(/«[^»]*»/g, "«»"), () => index + 1));
}

/** What stands between « and », replaced by as many spaces, so that what follows it keeps its line. */
function inside(quoted: string): string {
  return quoted.replaceAll(/[^\n]/g, " ");
}

/** Faults of the comments and texts in a source file. Titles and inputs of tests are left out: they may quote anything. */
export function textWordFaults(file: SourceFile): readonly Fault[] {
  const faults = file.comments.flatMap(({ value, start }) =>
    faultsIn(file.path, value.replaceAll(/«[^»]*»/gs, inside), (offset) => file.lineAt(start + 2 + offset)),
  );
  if (isTestFile(file.path)) return faults;
  visit(file.program, (node) => {
    const text =
      node.type === "Literal" && typeof node.value === "string"
        ? node.value
        : node.type === "TemplateElement"
          ? node.value.raw
          : "";
    faults.push(...faultsIn(file.path, text, () => file.lineAt(node.start)));
  });
  return faults;
}
