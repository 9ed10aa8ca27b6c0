import { expect, it } from "vitest";
import { root } from "../../tools/process.ts";
import { listFiles, loadSource, parseSource, type SourceFile, visit } from "../../tools/tidy/source.ts";

/** Texts among the children of `h(…)`: words that a reader would see and that are not in the catalogue. */
function wordsIn(file: SourceFile): readonly string[] {
  const found: string[] = [];
  const note = (node: unknown): void => {
    const { type, value, quasis, elements } = node as Readonly<Record<string, unknown>>;
    if (type === "Literal" && typeof value === "string" && /\p{L}/u.test(value)) found.push(value);
    if (type === "TemplateLiteral")
      for (const { value: raw } of quasis as { value: { cooked: string } }[])
        if (/\p{L}{2}/u.test(raw.cooked)) found.push(raw.cooked);
    if (type === "ArrayExpression") for (const each of elements as unknown[]) note(each);
  };
  visit(file.program, (node) => {
    if (node.type !== "CallExpression" || node.callee.type !== "Identifier" || node.callee.name !== "h")
      return;
    for (const child of node.arguments.slice(2)) note(child);
  });
  return found;
}

it("every word that a page shows is in the catalogue", () => {
  const pages = listFiles(root, [".ts"]).filter(
    (path) =>
      /^(web|ops\/pages|api\/pages|portal)\//.test(path) &&
      !path.endsWith(".test.ts") &&
      !path.startsWith("web/texts/"),
  );
  expect(pages.length).toBeGreaterThan(20);
  const words = pages.flatMap((path) => wordsIn(loadSource(root, path)).map((each) => `${path}: ${each}`));
  // Units are the same in every language that is written here.
  expect(words.filter((each) => !/: ( MiB| ms| s| %| UTC)$/.test(each))).toEqual([]);
});

it("a word that is written into a page is found", () => {
  expect(wordsIn(parseSource("ops/pages/x.ts", `h("p", null, "Hello", [\`\${a} and \${b}\`])`))).toEqual([
    "Hello",
    " and ",
  ]);
});

it("no page writes HTML as text", () => {
  const pages = listFiles(root, [".ts"]).filter(
    (path) => /^(web|ops|api)\//.test(path) && !path.endsWith(".test.ts"),
  );
  const raw = pages.filter((path) =>
    /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write/.test(loadSource(root, path).text),
  );
  expect(raw).toEqual([]);
});
