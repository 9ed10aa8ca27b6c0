import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../protocol/hash.ts";
import { verifySignature } from "../protocol/signatures.ts";
import { root } from "./process.ts";
import { makeJudge } from "./vectors/judge.ts";
import { makeSuite, suiteTexts } from "./vectors/suite.fixture.ts";

const suite = makeSuite();
const judge = makeJudge(suite.trust.trust, { verify: verifySignature, sha256 });

describe("the public test vectors", () => {
  it("are what `npm run vectors` writes", () => {
    const folder = join(root, "vectors");
    const texts = suiteTexts(suite);
    const stored = readdirSync(folder).filter((name) => name.endsWith(".json"));
    expect(new Set(stored)).toEqual(new Set(texts.keys()));
    for (const [path, text] of texts)
      expect(readFileSync(join(folder, path), "utf8") === text, `${path} is another one`).toBe(true);
  });
});

describe.each([...suite.files])("the vectors of %s", (_path, file) => {
  it.each(file.cases.map((each) => [each.name, each] as const))("%s", (_name, vector) => {
    expect(judge.judge(vector)).toEqual(vector.expected);
  });
});
