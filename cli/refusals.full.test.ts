// What the README and the tour of a fresh sandbox say about refusals, copied verbatim.

import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../tools/process.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
const readme = readFileSync(join(root, "README.md"), "utf8");

beforeAll(async () => {
  sandbox = await startSandbox();
  const [, csv = ""] = /<<'CSV'\n([\s\S]*?)\n {4}CSV\n/.exec(readme) ?? [];
  await writeFile(join(sandbox.home, "loaf.csv"), csv.replaceAll(/^ {4}/gm, ""));
});
afterAll(() => sandbox[Symbol.asyncDispose]());

/** The words after `npm run -s svc --`, with the file's path in this test. */
function wordsOf(line: string): readonly string[] {
  const words = line.replace(/^.*npm run -s svc -- /, "").replace(/ --home .*$/, "");
  return words.split(" ").map((word) => (word === "loaf.csv" ? join(sandbox.home, word) : word));
}

it.each([
  ["push loaf.csv --business 7", 3, "403 business_not_verified"],
  ["push loaf.csv --business 5 --key 9", 3, "403 source_not_allowed"],
  ["try nonce_reused", 0, "401 nonce_reused"],
])("the README's %s is refused", async (command, code, said) => {
  const line = `    npm run -s svc -- ${command}`;
  expect(readme.split("\n")).toContain(line);
  const { output, ...ended } = await sandbox.svc(...wordsOf(line));
  expect(ended.code, output).toBe(code);
  expect(output).toContain(said);
});

it("the tour's refusals are refused, and it names the sample parties", async () => {
  const { tour, svc } = sandbox;
  const lines = tour.split("\n").filter((line) => line.includes("svc -- try "));
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(await svc(...wordsOf(line))).toMatchObject({ code: 0 });
  expect(tour).toContain("Harbour Lane Books Inc.\n");
  expect(tour).toContain("8 parties for trying out refusals");
});

it("try lists what can be tried, and says why something cannot", async () => {
  const { svc } = sandbox;
  expect(await svc("try")).toMatchObject({
    code: 0,
    output: expect.stringContaining("verify/hash_mismatch"),
  });
  expect(await svc("try", "internal_error")).toMatchObject({
    code: 2,
    output: expect.stringContaining("cannot be tried"),
  });
  expect(await svc("try", "nonsense")).toMatchObject({ code: 2 });
  const json = await svc("try", "seal_invalid/sealed_at_skew", "--json");
  expect(JSON.parse(json.output)).toMatchObject({
    status: 422,
    code: "seal_invalid",
    reason: "sealed_at_skew",
  });
});
