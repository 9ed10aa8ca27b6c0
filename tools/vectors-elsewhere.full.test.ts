// The public test vectors in other places than Node: our verifier in a real browser, and a second one, in Go, that was written from the
// specification and its documentation alone.

import { execFile, spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBrowser, runInBrowser } from "./browser.ts";
import { buildGoPrograms, type GoPrograms } from "./go-programs.ts";
import { root } from "./process.ts";
import { testSeed } from "./test-seed.ts";
import type { VectorCase, VectorFile } from "./vectors/case.ts";
import { makeVirtualEnvironment } from "./virtual-environment.fixture.ts";

const folder = join(root, "vectors");
const browser = findBrowser();
if (browser === null)
  console.warn("NOT TESTED: no Chromium on this machine, so the test vectors were not run in a browser.");
/** What the verifier uses where it is given nothing else. */
const primitives = ["protocol/keys/signatures.ts", "protocol/bytes.ts"];
let home = "";
let go: GoPrograms<"second"> | null = null;
let cases: readonly VectorCase[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-vectors-"));
  go = await buildGoPrograms({ second: "." }, "second-verifier");
  const { files } = JSON.parse(await readFile(join(folder, "index.json"), "utf8"));
  const texts = await Promise.all(
    files.map(({ path }: { path: string }) => readFile(join(folder, path), "utf8")),
  );
  cases = texts.flatMap((text) => (JSON.parse(text) as Partial<VectorFile>).cases ?? []);
});

afterAll(async () => {
  await rm(home, { recursive: true, force: true });
  if (go !== null) await rm(go.folder, { recursive: true, force: true });
});

interface SecondReport {
  readonly run: number;
  readonly not_implemented: Readonly<Record<string, number>>;
  readonly failed: readonly { readonly name: string; readonly expected: unknown; readonly found: unknown }[];
}

async function second(of: string): Promise<SecondReport> {
  const { stdout } = await promisify(execFile)(go?.paths.second ?? "", [of], { maxBuffer: 1 << 26 });
  return JSON.parse(stdout) as SecondReport;
}

describe("the second verifier", () => {
  it("finds what the vectors say, in every case", async ({ skip }) => {
    if (go === null) skip();
    const report = await second(folder);
    expect(report.failed).toEqual([]);
    expect(report.not_implemented).toEqual({});
    expect(report.run).toBe(cases.length);
  });

  it("tells a case that says something else, and a file that is not the index's", async ({ skip }) => {
    if (go === null) skip();
    const copy = join(home, "changed");
    await cp(folder, copy, { recursive: true });
    const path = join(copy, "certificate.json");
    const text = (await readFile(path, "utf8")).replace(
      '"reason": "post_quantum_required"',
      '"reason": "key_unknown"',
    );
    await writeFile(path, text);
    await expect(second(copy)).rejects.toThrow("another file than the index says");
    const index = JSON.parse(await readFile(join(copy, "index.json"), "utf8"));
    const { createHash } = await import("node:crypto");
    for (const file of index.files)
      if (file.path === "certificate.json") file.sha256 = createHash("sha256").update(text).digest("hex");
    await writeFile(join(copy, "index.json"), JSON.stringify(index));
    expect((await second(copy)).failed).toMatchObject([{ found: { reason: "post_quantum_required" } }]);
  });
});

/** The program that docs/first-answer.md shows. */
async function priceProgram(): Promise<string> {
  const page = await readFile(join(root, "docs/first-answer.md"), "utf8");
  const path = join(home, "price.py");
  await writeFile(path, /^cat > price\.py <<'END'\n([\s\S]*?)^END$/m.exec(page)?.[1] ?? "");
  return path;
}

describe("the program in Python for the proof of a shown price", () => {
  it("finds what the vectors say, in every case", async ({ skip }) => {
    const requirements = join(root, "tools/dsse-judge/requirements.txt");
    const environment = await makeVirtualEnvironment(requirements, "cryptography");
    if (environment === null) return skip();
    await using _environment = environment;
    const program = await priceProgram();
    const { trust } = JSON.parse(await readFile(join(folder, "trust.json"), "utf8"));
    const prices = cases.filter(({ name }) => name.startsWith("evidence: price: "));
    expect(prices.length).toBeGreaterThan(30);
    for (const { name, trust: of, input, expected } of prices) {
      const paths = ["proof.json", "anchors.json", "key-set.json"].map((each) => join(home, each));
      const [proof = "", anchors = "", keySet = ""] = paths;
      await writeFile(proof, Buffer.from(String(input["file_base64"]), "base64"));
      await writeFile(anchors, JSON.stringify(trust[of ?? ""].anchors));
      await writeFile(keySet, JSON.stringify(input["key_set"] ?? null));
      const args = [program, proof, anchors, ...(input["key_set"] === undefined ? [] : [keySet])];
      const { status } = spawnSync(environment.python, args);
      expect(status === 0, name).toBe(expected.valid);
    }
  }, 300_000);
});

/** Evidence with the proofs of the log, and the anchors under which it is believed. */
async function wholeEvidence(): Promise<{ readonly file: string; readonly anchors: string }> {
  const whole = cases.find(({ name }) => name === "evidence: proofs: whole");
  const { trust } = JSON.parse(await readFile(join(folder, "trust.json"), "utf8"));
  return {
    file: Buffer.from(String(whole?.input["file_base64"]), "base64").toString("utf8"),
    anchors: JSON.stringify(trust[whole?.trust ?? ""].anchors),
  };
}

/** Node changes every byte (stories/verification/proof-file-bytes.full.test.ts); elsewhere each commit changes others of them. */
const step = 8;
const first = testSeed(process.env) % step;
const changedOf = (bytes: number, from: number, every: number): number => Math.ceil((bytes - from) / every);

describe("evidence with the proofs of the log", () => {
  it("is refused by the second verifier with any one byte changed", async ({ skip }) => {
    if (go === null) skip();
    const { file, anchors } = await wholeEvidence();
    const paths = [join(home, "anchors.json"), join(home, "evidence.json")] as const;
    await writeFile(paths[0], anchors);
    await writeFile(paths[1], file);
    const args = [...paths, String(first), String(step)];
    const { stdout } = await promisify(execFile)(go?.paths.second ?? "", args);
    const changed = changedOf(Buffer.byteLength(file), first, step);
    expect(JSON.parse(stdout)).toEqual({ valid: true, changed, accepted: [] });
  }, 1_800_000);

  it.skipIf(browser === null && process.env["CI"] === undefined)(
    "is refused by the verifier in a browser with any one byte changed",
    async () => {
      const { file, anchors } = await wholeEvidence();
      const bytes = Buffer.byteLength(file);
      const starts = [first, first + step];
      const halves = await Promise.all(
        starts.map((start) =>
          runInBrowser({
            browser: browser ?? "",
            modules: ["tools/changed-bytes.ts", ...primitives],
            files: { "/anchors": anchors, "/file": file },
            run: `async ({ unnoticedChanges }, { verifySignature: verify }, { sha256 }) => {
              const anchors = await fetch("/anchors").then((answer) => answer.json());
              const file = new Uint8Array(await fetch("/file").then((answer) => answer.arrayBuffer()));
              const places = [...file.keys()].filter((at) => at >= ${start} && (at - ${start}) % ${2 * step} === 0);
              return unnoticedChanges({ anchors, file, places, verify, sha256 });
            }`,
          }),
        ),
      );
      expect(halves).toEqual(
        starts.map((start) => ({ changed: changedOf(bytes, start, 2 * step), believed: [] })),
      );
    },
    1_800_000,
  );
});

describe("the verifier in a browser", () => {
  it.skipIf(browser === null && process.env["CI"] === undefined)("finds what the vectors say", async () => {
    const { files } = JSON.parse(await readFile(join(folder, "index.json"), "utf8"));
    const texts = await Promise.all(
      ["index.json", ...files.map(({ path }: { path: string }) => path)].map(
        async (path) => [`/${path}`, await readFile(join(folder, path), "utf8")] as const,
      ),
    );
    const found = await runInBrowser({
      browser: browser ?? "",
      modules: ["tools/vectors/judge.ts", ...primitives],
      files: Object.fromEntries(texts),
      run: `async ({ makeJudge }, { verifySignature }, { sha256 }) => {
        const read = (path) => fetch("/" + path).then((answer) => answer.json());
        const index = await read("index.json");
        const files = await Promise.all(index.files.map(({ path }) => read(path)));
        const { trust } = files.find((file) => file.trust !== undefined);
        const judge = makeJudge(trust, { verify: verifySignature, sha256 });
        const failed = [];
        let run = 0;
        const sorted = (value) => JSON.stringify(value, (_, each) => each === null || typeof each !== "object" || Array.isArray(each) ? each : Object.fromEntries(Object.entries(each).sort()));
        for (const vector of files.flatMap((file) => file.cases ?? [])) {
          const found = judge.judge(vector);
          run += 1;
          if (sorted(found) !== sorted(vector.expected)) failed.push(vector.name);
        }
        return { run, failed };
      }`,
    });
    expect(found).toEqual({ run: cases.length, failed: [] });
  });
});
