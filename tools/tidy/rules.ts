// The house rules about one file: its size, its docstrings, its purity, and words that are not allowed.

import type { Node } from "oxc-parser";
import { isTestFile, matchesAny, pureFolders } from "./import-table.ts";
import { type Fault, type SourceFile, visit } from "./source.ts";

export const fileLinesMax = 700;
export const functionLinesMax = 120;

/** Folders whose exported functions say what they give. */
const documentedFolders = ["protocol", "verifier", "client", "api", "service", "actors"];

/** Every fault of a file except those of its imports. */
export function sourceFaults(file: SourceFile): readonly Fault[] {
  return [
    ...sizeFaults(file),
    ...docstringFaults(file),
    ...purityFaults(file),
    ...runtimeFaults(file),
    ...testFaults(file),
    ...claimFaults(file),
    ...spreadFaults(file),
    ...textFaults(file),
  ];
}

// ---- Size ----

type FunctionNode = Extract<
  Node,
  { type: "FunctionDeclaration" | "FunctionExpression" | "ArrowFunctionExpression" }
>;

function isFunction(node: Node): node is FunctionNode {
  return /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);
}

export function sizeFaults(file: SourceFile): readonly Fault[] {
  const faults: Fault[] = [];
  const lines = file.text.trimEnd().split("\n").length;
  if (lines > fileLinesMax) faults.push(at(file, "file-size", 1, `${lines} lines, at most ${fileLinesMax}`));
  visit(file.program, (node) => {
    if (!isFunction(node) || (isTestFile(file.path) && declaresTests(node))) return;
    const line = file.lineAt(node.start);
    const length = file.lineAt(node.end) - line + 1;
    if (length <= functionLinesMax) return;
    faults.push(
      at(file, "function-size", line, `a function of ${length} lines, at most ${functionLinesMax}`),
    );
  });
  return faults;
}

/** Whether a function declares tests or test vectors: it is as long as they are, each of which is measured separately. */
function declaresTests(node: FunctionNode): boolean {
  let found = false;
  visit(node, (each) => {
    if (each.type === "CallExpression" && /^(describe|it|test|casesOf)\b/.test(calleeName(each.callee)))
      found = true;
  });
  return found;
}

/** The callee as `a.b.c`, also through calls such as `it.each(table)`; empty for anything else. */
function calleeName(node: Node): string {
  if (node.type === "Identifier") return node.name;
  if (node.type === "CallExpression") return calleeName(node.callee);
  if (node.type === "TaggedTemplateExpression") return calleeName(node.tag);
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return "";
  return `${calleeName(node.object)}.${node.property.name}`;
}

// ---- Docstrings ----

export function docstringFaults(file: SourceFile): readonly Fault[] {
  if (!matchesAny(file.path, documentedFolders) || isTestFile(file.path)) return [];
  const named = new Set<string>();
  for (const node of file.program.body) {
    if (node.type !== "ExportNamedDeclaration" || node.source !== null) continue;
    for (const each of node.specifiers) if (each.local.type === "Identifier") named.add(each.local.name);
  }
  const faults: Fault[] = [];
  const described = new Set<string>();
  for (const node of file.program.body) {
    const declaration = node.type === "ExportNamedDeclaration" ? node.declaration : node;
    const name = declaration === null ? null : functionName(declaration);
    if (name === null || (declaration === node && !named.has(name)) || described.has(name)) continue;
    // The docstring of the first overload covers all of them.
    described.add(name);
    if (!hasDocstring(file, node))
      faults.push(at(file, "docstring", file.lineAt(node.start), `${name} has no docstring`));
  }
  return faults;
}

function functionName(node: Node): string | null {
  if (node.type === "FunctionDeclaration" || node.type === "TSDeclareFunction") return node.id?.name ?? null;
  if (node.type !== "VariableDeclaration") return null;
  const only = node.declarations[0];
  return only?.init != null && isFunction(only.init) && only.id.type === "Identifier" ? only.id.name : null;
}

function hasDocstring(file: SourceFile, node: Node): boolean {
  return file.comments.some(
    (each) =>
      each.type === "Block" &&
      each.value.startsWith("*") &&
      each.end <= node.start &&
      file.text.slice(each.end, node.start).trim() === "",
  );
}

// ---- Purity ----

const impureNames = new Set([
  ..."performance setTimeout setInterval setImmediate queueMicrotask process Buffer fetch".split(" "),
  "globalThis",
]);
const impureMembers = new Set([
  "Date.now",
  "Math.random",
  "crypto.getRandomValues",
  "crypto.randomUUID",
  "crypto.subtle",
]);

export function purityFaults(file: SourceFile): readonly Fault[] {
  if (!matchesAny(file.path, pureFolders) || isTestFile(file.path)) return [];
  const faults: Fault[] = [];
  visit(file.program, (node, parent) => {
    const found = impurity(node, parent);
    if (found !== null) faults.push(at(file, "purity", file.lineAt(node.start), `${found} in a pure folder`));
  });
  return faults;
}

function impurity(node: Node, parent: Node | null): string | null {
  if (node.type === "MemberExpression") return impureMembers.has(calleeName(node)) ? calleeName(node) : null;
  const isDate = "callee" in node && node.callee.type === "Identifier" && node.callee.name === "Date";
  if (node.type === "NewExpression" && isDate && node.arguments.length === 0) return "new Date()";
  if (node.type === "CallExpression" && isDate) return "Date()";
  return node.type === "Identifier" && impureNames.has(node.name) && isFree(node, parent) ? node.name : null;
}

/** Whether the node is not the name of a member, the key of an object, or a member of a type. */
function isFree(node: Node, parent: Node | null): boolean {
  if (parent === null) return true;
  if (parent.type === "MemberExpression") return parent.object === node || parent.computed;
  if ("key" in parent && parent.key === node) return "computed" in parent && parent.computed === true;
  return (
    !parent.type.startsWith("TS") && !parent.type.startsWith("Import") && !parent.type.startsWith("Export")
  );
}

// ---- Claims about types ----

/** Calls whose reply type follows from the request: to name it would be an unchecked claim. */
const inferringCalls = /(^|\.)(ask|askSpeculative)$/;

/**
 * `as never` and `as Message` accept anything, and a reply type that is named at the call is only a hope. Tests that send
 * invalid data mark it with `rubbish` (protocol/rubbish.fixture.ts).
 */
export function claimFaults(file: SourceFile): readonly Fault[] {
  const faults: Fault[] = [];
  visit(file.program, (node) => {
    const found = claimOf(node);
    if (found !== null) faults.push(at(file, "type-claim", file.lineAt(node.start), found));
  });
  return faults;
}

function claimOf(node: Node): string | null {
  if (node.type === "TSAsExpression") {
    const { typeAnnotation: to } = node;
    if (to.type === "TSNeverKeyword") return "`as never`";
    const isMessage =
      to.type === "TSTypeReference" && to.typeName.type === "Identifier" && to.typeName.name === "Message";
    return isMessage ? "`as Message`" : null;
  }
  const claims =
    node.type === "CallExpression" &&
    node.typeArguments != null &&
    inferringCalls.test(calleeName(node.callee));
  return claims ? "the reply's type is named, not inferred" : null;
}

// ---- Spreads ----

/** A literal that is spread into a literal of its kind says nothing but where lines are to break, which the formatter decides. */
export function spreadFaults(file: SourceFile): readonly Fault[] {
  const faults: Fault[] = [];
  visit(file.program, (node, parent) => {
    if (node.type !== "SpreadElement") return;
    const { type } = node.argument;
    const isObject = type === "ObjectExpression" && parent?.type === "ObjectExpression";
    if (!isObject && !(type === "ArrayExpression" && parent?.type !== "ObjectExpression")) return;
    faults.push(at(file, "spread", file.lineAt(node.start), "a literal is spread into a literal"));
  });
  return faults;
}

// ---- Tests ----

export function testFaults(file: SourceFile): readonly Fault[] {
  if (!isTestFile(file.path)) return [];
  const faults: Fault[] = [];
  visit(file.program, (node) => {
    if (node.type !== "CallExpression") return;
    const match = /^(?:describe|it|test|suite|bench)\.(?:\w+\.)*(only|skip|todo|fails)\b/.exec(
      calleeName(node.callee),
    );
    if (match !== null)
      faults.push(at(file, "left-out-test", file.lineAt(node.start), `.${match[1]} is left in`));
  });
  return faults;
}

// ---- Words ----

// Written in two parts, so that this file does not find itself.
const forbiddenWords: readonly { readonly rule: string; readonly pattern: RegExp }[] = [
  { rule: "unfinished", pattern: new RegExp(`\\b(TO${"DO"}|FIX${"ME"}|XX${"X"})\\b`) },
  {
    rule: "machine-path",
    pattern: new RegExp(`(?<![\\w.~-])/(?:wo${"rk"}|ro${"ot"}|ho${"me"}|tm${"p"}|Us${"ers"})/[\\w.]`),
  },
  {
    rule: "silenced",
    pattern: new RegExp(`@ts-${"(ignore|expect-error|nocheck)"}|bio${"me-ignore"}|esl${"int-disable"}`),
  },
];

/** Checks the words in any text file of the project, including prose and scripts. */
export function textFaults(file: { readonly path: string; readonly text: string }): readonly Fault[] {
  return file.text.split("\n").flatMap((line, index) =>
    forbiddenWords.flatMap(({ rule, pattern }) => {
      const match = pattern.exec(line);
      return match === null ? [] : [{ rule, path: file.path, line: index + 1, detail: match[0] }];
    }),
  );
}

function at(file: SourceFile, rule: string, line: number, detail: string): Fault {
  return { rule, path: file.path, line, detail };
}

// The house rule about the runtime: what is packed for others runs on Node 20, whose library is the oldest that anybody may have.

/** What the client's package takes its files from. */
const packedFolders = ["client", "protocol", "std", "verifier"];

/** Converts bytes natively where the runtime can, and says how where it cannot. */
const converting = "protocol/bytes.ts";

/** Runs in the service's own threads only. */
const unpacked = ["std/worker-calls.ts"];

/** Objects and classes that Node 20 does not have. */
const newNames = new Set([
  "AsyncDisposableStack",
  "DisposableStack",
  "Float16Array",
  "Iterator",
  "SuppressedError",
  "Temporal",
  "CloseEvent",
  "EventSource",
  "WebSocket",
  "navigator",
  "localStorage",
  "sessionStorage",
]);

/** Functions that Node 20 lacks on objects which it has. */
const newFunctions = new Set([
  "Array.fromAsync",
  "Error.isError",
  "JSON.isRawJSON",
  "JSON.rawJSON",
  "Map.groupBy",
  "Math.f16round",
  "Math.sumPrecise",
  "Object.groupBy",
  "Promise.try",
  "Promise.withResolvers",
  "RegExp.escape",
  "URL.parse",
  "Uint8Array.fromBase64",
  "Uint8Array.fromHex",
  "meta.main",
]);

/** Methods that Node 20 lacks, by names that nothing else here has. */
const newMethods = new Set([
  "setFromBase64",
  "setFromHex",
  "toBase64",
  "toHex",
  ..."difference intersection isDisjointFrom isSubsetOf isSupersetOf symmetricDifference union".split(" "),
  "getOrInsert",
  "getOrInsertComputed",
  "toArray",
  "transferToFixedLength",
]);

/** What yields an iterator, and the methods of an iterator that Node 20 lacks; most are an array's too. */
const iterating = new Set(["entries", "keys", "matchAll", "values"]);
const iteratorHelpers = new Set([
  "drop",
  "every",
  "filter",
  "find",
  "flatMap",
  "forEach",
  "map",
  "reduce",
  "some",
  "take",
]);

function runtimeFaults(file: SourceFile): readonly Fault[] {
  const isPacked = matchesAny(file.path, packedFolders) && !matchesAny(file.path, [converting, ...unpacked]);
  if (!isPacked || isTestFile(file.path)) return [];
  const faults: Fault[] = [];
  visit(file.program, (node, parent) => {
    const found = newOf(node, parent);
    if (found === null) return;
    const detail = `${found} is not in Node 20, which the packed client supports`;
    faults.push({ rule: "runtime", path: file.path, line: file.lineAt(node.start), detail });
  });
  return faults;
}

function newOf(node: Node, parent: Node | null): string | null {
  if (node.type === "Identifier") {
    const isObject = parent?.type === "MemberExpression" && parent.object === node;
    const isMade = parent?.type === "NewExpression" && parent.callee === node;
    return newNames.has(node.name) && (isObject || isMade) ? node.name : null;
  }
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return null;
  const { name } = node.property;
  const whole = `${nameOf(node.object)}.${name}`;
  if (newFunctions.has(whole)) return whole;
  return newMethods.has(name) || (iteratorHelpers.has(name) && isIterator(node.object)) ? `.${name}()` : null;
}

function nameOf(node: Node): string {
  if (node.type === "MetaProperty") return "meta";
  return node.type === "Identifier" ? node.name : "";
}

/** `Object.values` and its like give arrays, all others an iterator. */
function isIterator(node: Node): boolean {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return false;
  const { object, property } = node.callee;
  return property.type === "Identifier" && iterating.has(property.name) && nameOf(object) !== "Object";
}
