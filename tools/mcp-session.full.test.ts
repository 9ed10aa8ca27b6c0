// The session in docs/mcp.md is what `npm run mcp:session` writes beside a sandbox: a run compares both, and with SVC_WRITE_EXAMPLES=1 it
// writes the page. What differs between runs (keys, signatures, times) is compared by its form.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../cli/running-sandbox.fixture.ts";
import { parseSourceLine } from "../protocol/source-line.ts";
import { formOf } from "../stories/contract/example-forms.fixture.ts";
import { root, runNode } from "./process.ts";

const path = join(root, "docs/mcp.md");
const begin = "<!-- What `npm run mcp:session` wrote. -->\n\n";
let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox?.[Symbol.asyncDispose]());

/** A signature of a passkey has no fixed length. */
function shapeOf(text: string): string {
  const numbered = text.trimEnd().replaceAll(/\b1\d{9}\b/g, "<seconds>");
  return String(formOf(numbered.replaceAll(/\(\d+ characters\)/g, "(cut)")));
}

it("is on its page as it is: a diamond is found, fetched and verified, with its source line", async () => {
  const { code, output } = await runNode(["tools/mcp-session.ts", "--home", sandbox.home]);
  expect(code, output).toBe(0);
  const [head = "", kept = ""] = (await readFile(path, "utf8")).split(begin);
  if (process.env["SVC_WRITE_EXAMPLES"] === "1")
    await writeFile(path, `${head}${begin}${output.trimEnd()}\n`);
  else expect(shapeOf(output)).toBe(shapeOf(kept));
  const lines = output.split("\n").map((line) => line.replace(/^> /, ""));
  expect(lines.filter((line) => parseSourceLine(line).ok)).toHaveLength(1);
});
