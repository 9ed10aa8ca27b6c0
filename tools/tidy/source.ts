// The project's TypeScript files, read and parsed once for all rules.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Comment, type Node, type ParseResult, parseSync, visitorKeys } from "oxc-parser";

export interface SourceImport {
  readonly specifier: string;
  readonly line: number;
  /** True when nothing of the import is left at run time. */
  readonly typeOnly: boolean;
}

export interface SourceFile {
  /** Path from the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly program: ParseResult["program"];
  readonly comments: readonly Comment[];
  readonly imports: readonly SourceImport[];
  /** Line of a character offset, counted from 1. */
  lineAt(offset: number): number;
}

export interface Fault {
  readonly rule: string;
  readonly path: string;
  readonly line: number;
  readonly detail: string;
}

const skippedFolders = new Set(["node_modules", "coverage"]);

/** Paths from `root` of files whose name ends in one of `extensions`, sorted; hidden folders except `.ci` are skipped. */
export function listFiles(root: string, extensions: readonly string[], folder = ""): readonly string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    const hidden = entry.name.startsWith(".") && entry.name !== ".ci";
    if (entry.isDirectory() && !hidden && !skippedFolders.has(entry.name)) {
      found.push(...listFiles(root, extensions, path));
    } else if (entry.isFile() && extensions.some((extension) => entry.name.endsWith(extension))) {
      found.push(path);
    }
  }
  return found.sort();
}

/** Reads and parses a file of the project. */
export function loadSource(root: string, path: string): SourceFile {
  return parseSource(path, readFileSync(join(root, path), "utf8"));
}

/** Parses TypeScript. Throws on a syntax error: a file that cannot be parsed cannot be judged. */
export function parseSource(path: string, text: string): SourceFile {
  const parsed = parseSync(path, text);
  const error = parsed.errors[0];
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`);
  const lineAt = lineFinder(text);
  return {
    path,
    text,
    program: parsed.program,
    comments: parsed.comments,
    imports: importsOf(parsed, lineAt),
    lineAt,
  };
}

function importsOf(parsed: ParseResult, lineAt: (offset: number) => number): readonly SourceImport[] {
  const found: SourceImport[] = [];
  visit(parsed.program, (node) => {
    const source = sourceOf(node);
    if (source !== null)
      found.push({ specifier: source, line: lineAt(node.start), typeOnly: isTypeOnly(node) });
  });
  return found;
}

/** The specifier of an import or re-export; a computed one is returned as its own text, so that no rule allows it. */
function sourceOf(node: Node): string | null {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
      return node.source.value;
    case "ExportNamedDeclaration":
      return node.source?.value ?? null;
    case "ImportExpression":
      return node.source.type === "Literal" && typeof node.source.value === "string"
        ? node.source.value
        : "computed";
    case "TSImportType":
      return node.source.value;
    default:
      return null;
  }
}

function isTypeOnly(node: Node): boolean {
  if (node.type === "TSImportType") return true;
  if (node.type === "ImportDeclaration") return node.importKind === "type" || hasOnlyTypes(node.specifiers);
  if (node.type === "ExportNamedDeclaration") return node.exportKind === "type";
  return node.type === "ExportAllDeclaration" && node.exportKind === "type";
}

function hasOnlyTypes(
  specifiers: readonly { readonly type: string; readonly importKind?: string | null }[],
): boolean {
  return specifiers.length > 0 && specifiers.every((each) => each.importKind === "type");
}

function lineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** Calls `enter` for a node and all nodes below it, parents first. */
export function visit(
  node: Node,
  enter: (node: Node, parent: Node | null) => void,
  parent: Node | null = null,
): void {
  enter(node, parent);
  const members = node as unknown as Record<string, unknown>;
  for (const key of visitorKeys[node.type] ?? []) {
    const child = members[key];
    for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) visit(each, enter, node);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}
