// The house rule about the runtime: what is packed for others runs on Node 20, whose library is the oldest that anybody may have.

import type { Node } from "oxc-parser";
import { isTestFile, matchesAny } from "./import-table.ts";
import { type Fault, type SourceFile, visit } from "./source.ts";

/** What the client's package takes its files from. */
const packedFolders = ["client", "protocol", "std", "verifier"];

/** Converts bytes natively where the runtime can, and says how where it cannot. */
const converting = "protocol/bytes.ts";

/** Runs in the service's own threads only. */
const unpacked = ["std/worker-calls.ts"];

/** Objects and classes that Node 20 does not have. */
const newNames = new Set([
  ...["AsyncDisposableStack", "DisposableStack", "Float16Array", "Iterator", "SuppressedError", "Temporal"],
  ...["CloseEvent", "EventSource", "WebSocket", "navigator", "localStorage", "sessionStorage"],
]);

/** Functions that Node 20 lacks on objects which it has. */
const newFunctions = new Set([
  ...["Array.fromAsync", "Error.isError", "JSON.isRawJSON", "JSON.rawJSON", "Map.groupBy", "Math.f16round"],
  ...[
    "Math.sumPrecise",
    "Object.groupBy",
    "Promise.try",
    "Promise.withResolvers",
    "RegExp.escape",
    "URL.parse",
  ],
  ...["Uint8Array.fromBase64", "Uint8Array.fromHex", "meta.main"],
]);

/** Methods that Node 20 lacks, by names that nothing else here has. */
const newMethods = new Set([
  ...["setFromBase64", "setFromHex", "toBase64", "toHex"],
  ...[
    "difference",
    "intersection",
    "isDisjointFrom",
    "isSubsetOf",
    "isSupersetOf",
    "symmetricDifference",
    "union",
  ],
  ...["getOrInsert", "getOrInsertComputed", "toArray", "transferToFixedLength"],
]);

/** What yields an iterator, and the methods of an iterator that Node 20 lacks; most are an array's too. */
const iterating = new Set(["entries", "keys", "matchAll", "values"]);
const iteratorHelpers = new Set([
  ...["drop", "every", "filter", "find", "flatMap", "forEach", "map", "reduce", "some", "take"],
]);

export function runtimeFaults(file: SourceFile): readonly Fault[] {
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
