// The client as a package: built, packed and installed into an empty folder without a network, where the program of its README
// runs against a sandbox and its verifier judges the public test vectors, on every Node at hand that the package supports.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../cli/running-sandbox.fixture.ts";
import {
  buildClientPackage,
  clientManifest,
  compileInto,
  importedPackages,
  npmCommand,
} from "../tools/client-package.ts";
import { root, run, runNode } from "../tools/process.ts";
import { binOf } from "../tools/steps.ts";

let folder = "";
let built = "";
let sandbox: RunningSandbox;
let readme = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-package-"));
  [built, sandbox, readme] = await Promise.all([
    buildClientPackage(folder),
    startSandbox(),
    readFile(join(root, "client", "README.md"), "utf8"),
  ]);
  await install();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const app = (): string => join(folder, "app");

/** Installs the packed package; its dependencies come from what is installed here. */
async function install(): Promise<void> {
  await mkdir(app());
  await writeFile(join(app(), "package.json"), '{"name":"app","private":true,"type":"module"}');
  await symlink(sandbox.home, join(app(), ".svc"));
  const sources = [built, ...dependenciesOf(built)];
  const packed = await npm(folder, "pack", "--silent", ...sources);
  const files = packed.split("\n").filter((line) => line.endsWith(".tgz"));
  expect(files).toHaveLength(sources.length);
  await npm(app(), "install", "--offline", "--silent", ...files.map((name) => join(folder, name)));
}

/** The folders of all the packages that a package needs, as they are installed here. */
function dependenciesOf(packageFolder: string, known = new Set<string>()): ReadonlySet<string> {
  const { dependencies = {} } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) {
    const path = join(root, "node_modules", name);
    if (known.has(path)) continue;
    known.add(path);
    dependenciesOf(path, known);
  }
  return known;
}

async function npm(cwd: string, ...words: readonly string[]): Promise<string> {
  const [command = "npm", ...args] = npmCommand();
  const ended = await run(command, [...args, ...words, "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd,
  });
  expect(ended.code, ended.output).toBe(0);
  return ended.output;
}

/** The Node that runs this test, and every other one in the search path; one of each version, from 20 on. */
function nodes(): readonly (readonly [version: string, node: string])[] {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = new Map([[process.version, process.execPath]]);
  for (const node of folders.map((each) => join(each, "node"))) {
    const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout?.trim() ?? "";
    const major = Number(/^v([0-9]+)/.exec(version)?.[1] ?? 0);
    if (major >= 20 && !found.has(version)) found.set(version, node);
  }
  return [...found];
}

/** Judges all the vectors in the folder that it is given, and says which ones it finds otherwise. */
const vectorsProgram = `
import { readFileSync } from "node:fs";
import { makeJudge } from "./node_modules/svc-client/dist/tools/vectors/judge.js";
import { verifySignature } from "./node_modules/svc-client/dist/protocol/keys/signatures.js";
import { sha256 } from "./node_modules/svc-client/dist/protocol/bytes.js";
const read = (path) => JSON.parse(readFileSync(process.argv[2] + "/" + path, "utf8"));
const judge = makeJudge(read("trust.json").trust, { verify: verifySignature, sha256 });
const cases = read("index.json").files.flatMap(({ path }) => read(path).cases ?? []);
const sorted = (found) => JSON.stringify(found, (_, each) =>
  each?.constructor === Object ? Object.fromEntries(Object.entries(each).sort()) : each);
const outcome = (each) => {
  try { return sorted(judge.judge(each)); } catch (error) { return String(error); }
};
const differing = cases.filter((each) => outcome(each) !== sorted(each.expected));
for (const each of differing) console.log(each.name, outcome(each));
console.log(cases.length, "judged,", differing.length, "otherwise");
`;

describe("the package", () => {
  it("declares what it imports, in the versions that are tested here", async () => {
    const { dependencies } = clientManifest();
    expect([...importedPackages(join(built, "dist"))].sort()).toEqual(Object.keys(dependencies).sort());
    const project = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      readonly version: string;
      readonly dependencies: Readonly<Record<string, string>>;
    };
    expect(clientManifest().version).toBe(project.version);
    for (const [name, version] of Object.entries(dependencies))
      expect(project.dependencies[name]).toBe(version);
  });

  it("has declarations that a program compiles against", async () => {
    const program = [
      'import { type Business, createBusiness, importSigningKey, SvcProblemError } from "svc-client";',
      "export const open = async (jwk: unknown): Promise<Business> =>",
      '  createBusiness({ businessUrl: "https://business.example", key: await importSigningKey(jwk) });',
      "export const codeOf = (error: unknown): string | null =>",
      "  error instanceof SvcProblemError ? error.code : null;",
    ];
    const mistaken = [...program, 'createBusiness({ businesUrl: "https://business.example" });'];
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--types", ""];
    const compile = async (lines: readonly string[]) => {
      await writeFile(join(app(), "program.ts"), lines.join("\n"));
      return await runNode([binOf("typescript", "tsc"), ...options, "program.ts"], { cwd: app() });
    };
    expect(await compile(program)).toMatchObject({ code: 0, output: "" });
    expect((await compile(mistaken)).output).toContain("businessUrl");
  });

  it("has a verifier that finds what the public test vectors say, on every Node", async () => {
    // The judge asks what is installed: of its own compilation only files that the package does not have are added.
    const judging = join(folder, "judging");
    await mkdir(judging);
    await compileInto(judging, "tools/vectors/judge.ts");
    const installed = join(app(), "node_modules", "svc-client", "dist");
    await cp(join(judging, "dist"), installed, { recursive: true, force: false });
    await writeFile(join(app(), "vectors.js"), vectorsProgram);
    for (const [version, node] of nodes()) {
      const ended = await run(node, ["vectors.js", join(root, "vectors")], { cwd: app() });
      expect(ended.output, version).toMatch(/^[1-9][0-9]* judged, 0 otherwise\n$/);
    }
  });

  it.each(nodes())("runs the program of its README on Node %s", async (_version, node) => {
    const examples = [...readme.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
    expect(examples.length).toBeGreaterThan(6);
    await rm(join(app(), "loaf.push.json"), { force: true });
    await rm(join(app(), "business.json"), { force: true });
    await rm(join(app(), "business.key.json"), { force: true });
    await rm(join(app(), "business.owner.json"), { force: true });
    const names = ["--name", "My Bakery", "--country", "GB"];
    const granted = await sandbox.svc("grant", ...names, "--out", join(app(), "business.json"));
    expect(granted.code, granted.output).toBe(0);
    await writeFile(join(app(), "readme.js"), examples.join("\n"));
    const ended = await run(node, ["readme.js"], { cwd: app() });
    expect(ended, ended.output).toMatchObject({ code: 0 });
    expect(ended.output).toMatch(/^bat_[0-9a-f]{24} complete [01] 0$/m);
    expect(ended.output).toContain("/category groceries");
    expect(ended.output).toContain("1 false member_missing");
    expect(ended.output).toContain("withdraw []");
    expect(ended.output).toContain("delete []");
    expect(ended.output).toContain("409 push_not_cancellable");
    expect(ended.output).toMatch(/^200 [0-9]+$/m);
  });
});
