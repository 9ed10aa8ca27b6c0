// The guards of a source and the ways to break each: what `npm run guards` changes, one at a time.
//   G1. A guard is the condition of an `if` that returns, throws or skips, or one operand of `&&` or `||`.
//   G2. Its condition may never hold, or be inverted; an operand may be missing.

import type { Node } from "oxc-parser";
import { type SourceFile, visit } from "../tidy/source.ts";

export interface GuardChange {
  readonly path: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  /** The current text, and the text that replaces it. */
  readonly was: string;
  readonly becomes: string;
}

/** All possible changes to the guards of a source, in order. */
export function guardChanges(source: SourceFile): readonly GuardChange[] {
  const found: GuardChange[] = [];
  const textOf = (node: Node): string => source.text.slice(node.start, node.end);
  const add = (node: Node, becomes: string): void => {
    const { start, end } = node;
    found.push({ path: source.path, line: source.lineAt(start), start, end, was: textOf(node), becomes });
  };
  visit(source.program, (node) => {
    if (node.type === "IfStatement" && leaves(node.consequent)) {
      add(node.test, "false");
      add(node.test, `!(${textOf(node.test)})`);
    }
    if (node.type === "LogicalExpression" && node.operator !== "??") {
      add(node, `(${textOf(node.left)})`);
      add(node, `(${textOf(node.right)})`);
    }
  });
  return found;
}

export function applyChange(text: string, { start, end, becomes }: GuardChange): string {
  return text.slice(0, start) + becomes + text.slice(end);
}

/** Whether control never reaches what follows the statement. */
function leaves(statement: Node): boolean {
  if (statement.type === "BlockStatement") {
    const last = statement.body.at(-1);
    return last !== undefined && leaves(last);
  }
  return ["ReturnStatement", "ThrowStatement", "ContinueStatement", "BreakStatement"].includes(
    statement.type,
  );
}
