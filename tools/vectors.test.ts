import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { reasonCodes } from "../protocol/reason-codes.ts";
import { createRowVerifier } from "../verifier/rows.ts";
import { root } from "./process.ts";
import { checkNames } from "./vectors/case.ts";
import { makeJudge } from "./vectors/judge.ts";
import { runVectors } from "./vectors/run.ts";
import { makeSuite, suiteTexts } from "./vectors/suite.fixture.ts";

const suite = await makeSuite();
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

describe("the cases", () => {
  const cases = [...suite.files.values()].flatMap((file) => file.cases);

  it("have one name each", () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
  });

  it("have every reason of a verifier", () => {
    const given = new Set(
      cases.flatMap(({ expected }) => [expected.reason, ...Object.values(expected.checks ?? {})]),
    );
    expect(reasonCodes.filter((code) => !given.has(code))).toEqual([]);
  });

  it("make every check, well and badly", () => {
    for (const check of checkNames) {
      const outcomes = new Set(
        cases.filter((each) => each.check === check).map(({ expected }) => expected.valid),
      );
      expect([...outcomes].sort(), check).toEqual([false, true]);
    }
  });

  it("contain every payload type, in a case that is good", () => {
    const texts =
      JSON.stringify(cases.filter(({ expected }) => expected.valid)) + JSON.stringify(suite.trust);
    const decoded = [...texts.matchAll(/"(?:payload|body_base64|file_base64)":"([A-Za-z0-9+/=]+)"/g)].map(
      ([, text = ""]) => Buffer.from(text, "base64").toString(),
    );
    const all = [texts, ...decoded].join("");
    for (const type of Object.values(payloadTypes)) expect(all.includes(type), type).toBe(true);
  });
});

it("the entry for rows finds what its cases say", () => {
  const read = (path: string): unknown => JSON.parse(readFileSync(join(root, "vectors", path), "utf8"));
  expect(runVectors(read, createRowVerifier)).toEqual({ judged: 75, differing: [] });
});

describe.each([...suite.files])("the vectors of %s", (_path, file) => {
  it.each(file.cases.map((each) => [each.name, each] as const))("%s", (_name, vector) => {
    expect(judge.judge(vector)).toEqual(vector.expected);
  });
});
