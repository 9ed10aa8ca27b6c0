// Checked against an independent reader: jsonc-parser keeps every member it saw, duplicates included.

import judge from "canonicalize";
import fc from "fast-check";
import { type Node, parseTree } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { utf8 } from "../bytes.ts";
import { canonicalize } from "./canonical-json.ts";
import { parseStrictJson } from "./strict-json.ts";

/** What the independent reader finds in a text that is JSON: the codes of all its faults. */
function faultsIn(node: Node, found = new Set<string>()): ReadonlySet<string> {
  const value: unknown = node.value;
  if (typeof value === "string" && !value.isWellFormed()) found.add("surrogate_lone");
  if (typeof value === "number" && !Number.isFinite(value)) found.add("json_malformed");
  if (node.type === "object") {
    const names = (node.children ?? []).map((member) => member.children?.[0]?.value as string);
    if (new Set(names).size < names.length) found.add("member_duplicated");
  }
  for (const child of node.children ?? []) faultsIn(child, found);
  return found;
}

/**
 * A value with maps in place of objects, built from the independent reader's tree or from the parsed value: no name is
 * special in a map.
 */
function mapped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapped);
  if (typeof value !== "object" || value === null) return value;
  return new Map(Object.entries(value).map(([name, member]) => [name, mapped(member)]));
}
function mappedTree(node: Node): unknown {
  const children = node.children ?? [];
  if (node.type === "array") return children.map(mappedTree);
  if (node.type !== "object") return node.value;
  return new Map(
    children.map(({ children: [name, value] = [] }) => [name?.value, value && mappedTree(value)]),
  );
}

/** Members are written one by one, so that a name can occur twice and in several spellings. */
const jsonText = fc.letrec<{ value: string }>((tie) => {
  const space = fc.constantFrom("", "", " ", "\n\t");
  const name = fc.constantFrom(
    '"a"',
    '"\\u0061"',
    '"b"',
    '"__proto__"',
    '"\\\\"',
    '"\\u005c"',
    '"\\""',
    '""',
    '"a:{,["',
    '"\\ud83d\\ude00"',
    '"😀"',
  );
  const scalar = fc.constantFrom(
    "1",
    "-0",
    "1e5",
    "1e400",
    "true",
    "null",
    '"x"',
    '"\\ud800"',
    '"\\"},:"',
    '"\\\\"',
    '"é"',
  );
  const member = fc
    .tuple(name, space, tie("value"), space)
    .map(([key, before, value, after]) => `${before}${key}${after}:${before}${value}${after}`);
  return {
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { arbitrary: scalar, weight: 3 },
      {
        arbitrary: fc.array(tie("value"), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
        weight: 1,
      },
      { arbitrary: fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(",")}}`), weight: 2 },
    ),
  };
}).value;

describe("strict JSON", () => {
  it("finds exactly the faults that jsonc-parser's tree shows", () => {
    let faulty = 0;
    fc.assert(
      fc.property(jsonText, (text) => {
        const tree = parseTree(text);
        const faults = tree === undefined ? new Set(["unreadable"]) : faultsIn(tree);
        const parsed = parseStrictJson(utf8(text));
        if (parsed.ok) {
          expect([...faults]).toEqual([]);
          expect(mapped(parsed.value)).toEqual(tree && mappedTree(tree));
        } else {
          faulty += 1;
          expect(faults).toContain(parsed.code);
        }
      }),
      { numRuns: 5000 },
    );
    // Both outcomes must have occurred.
    expect(faulty).toBeGreaterThan(250);
    expect(faulty).toBeLessThan(4750);
  });

  it("takes no text that JSON.parse refuses, and reads what it takes alike", () => {
    const pieces = fc.constantFrom(
      ...'{}[],:"\\ \n1-.eE+tfnul/',
      "true",
      "null",
      '"a"',
      '"a":',
      "\\u",
      "d800",
      "{}",
      "[]",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        const parsed = parseStrictJson(utf8(text));
        if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(text));
      }),
      { numRuns: 5000 },
    );
  });

  it("takes all that JSON.stringify writes", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: "binary", maxDepth: 10 }),
        fc.constantFrom(0, 2),
        (value, indent) => {
          const parsed = parseStrictJson(utf8(JSON.stringify(value, null, indent)));
          // Not compared with JSON.parse: see the test of escaped member names.
          expect(parsed.ok && canonicalize(parsed.value)).toBe(judge(value));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
