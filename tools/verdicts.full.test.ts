// Two verifiers, one verdict: what nobody wrote down as a test vector is judged alike by this project's verifier and by the one in
// Go, which was written from the specification alone. What they differ about becomes a vector (tools/vectors) and is mended.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nativePorts } from "../crypto/native.fixture.ts";
import { sha256 } from "../protocol/bytes.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { buildGoPrograms, type GoPrograms } from "./go-programs.ts";
import { testSeed } from "./test-seed.ts";
import type { VectorCase } from "./vectors/case.ts";
import { makeJudge } from "./vectors/judge.ts";
import { makeSuite, trustPath } from "./vectors/suite.fixture.ts";
import { variations } from "./vectors/variations.fixture.ts";
import { makeWorld } from "./vectors/world.fixture.ts";

const amounts = { signatures: 400, envelopes: 1_500, assertions: 300, notes: 600, answers: 600 };
let home = "";
let go: GoPrograms<"second"> | null = null;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-verdicts-"));
  go = await buildGoPrograms({ second: "." }, "second-verifier");
});

afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  if (go !== null) await rm(go.folder, { recursive: true, force: true });
});

it("judges what it never saw as the verifier in Go does, portably and natively", async ({ skip }) => {
  if (go === null) skip();
  const suite = await makeSuite();
  const known = [...suite.files.values()].flatMap(({ cases }) => cases);
  const seed = testSeed(process.env);
  const drawn = variations({ world: makeWorld(), cases: known, seed }, amounts);
  const [portable, ...native] = [verifySignature, ...nativePorts.map(({ verify }) => verify)].map((verify) =>
    makeJudge(suite.trust.trust, { verify, sha256 }),
  );
  const cases = drawn.map((each): VectorCase => {
    const vector = { ...each, expected: { valid: true } };
    const expected = portable?.judge(vector);
    for (const { judge } of native) expect(judge(vector), each.name).toEqual(expected);
    return { ...vector, expected: expected ?? vector.expected };
  });
  expect(new Set(cases.map(({ expected }) => expected.valid))).toEqual(new Set([true, false]));
  // The verifier in Go takes what it projects rows by from the vectors, each held to its pinned hash.
  const documents = known.filter(({ check }) => check === "projection_document");
  const given = [...documents, ...cases];
  expect(await second({ [trustPath]: suite.trust, "drawn.json": { v: 1, cases: given } })).toEqual({
    run: given.length,
    not_implemented: {},
    failed: [],
  });
});

/** What the verifier in Go says of files in the form of the vectors. */
async function second(files: Readonly<Record<string, object>>): Promise<unknown> {
  const folder = join(home, "drawn");
  await mkdir(folder);
  const listed = [];
  for (const [path, file] of Object.entries(files)) {
    const text = JSON.stringify(file);
    await writeFile(join(folder, path), text);
    const cases = "cases" in file && Array.isArray(file.cases) ? file.cases.length : 0;
    listed.push({ path, sha256: createHash("sha256").update(text).digest("hex"), cases });
  }
  await writeFile(join(folder, "index.json"), JSON.stringify({ v: 1, files: listed }));
  const { stdout } = await promisify(execFile)(go?.paths.second ?? "", [folder], { maxBuffer: 1 << 26 });
  return JSON.parse(stdout);
}
