// Every package, built, packed and installed from its file into an empty folder, with an empty home and without a network, on each Node that it
// supports: the program of its page runs against a sandbox, and its verifier judges the public test vectors.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../cli/running-sandbox.fixture.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { buildPackage, npmCommand, packages, registryEntries } from "./packages.ts";
import { type ProcessResult, root, run, runNode } from "./process.ts";
import { binOf } from "./steps.ts";

/** The releases that the packages support, and the version of each that npm has where none is in the search path. */
const releases = { 20: "20.20.2", 22: "22.23.5", 24: "24.22.3", 26: "26.10.0" } as const;
const ids = Object.keys(packages);

/** The Node that runs this test, those in the search path, and those of npm, kept beside the installed packages. */
async function findNodes(): Promise<readonly (readonly [release: string, node: string])[]> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = new Map<string, string>();
  for (const node of [process.execPath, ...folders.map((each) => join(each, "node"))]) {
    const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? "";
    const major = /^v([0-9]+)/.exec(version)?.[1] ?? "";
    if (!found.has(major)) found.set(major, node);
  }
  const nodes: (readonly [string, string])[] = [];
  for (const [release, version] of Object.entries(releases)) {
    const node = found.get(release) ?? (await nodeOfNpm(version));
    if (node === null) missing.push(release);
    else nodes.push([release, node]);
  }
  return nodes;
}

async function nodeOfNpm(version: string): Promise<string | null> {
  const folder = join(root, "node_modules", ".cache", `node-${version}`);
  const name = `node-${process.platform}-${process.arch}`;
  const node = join(folder, "node_modules", name, "bin", "node");
  if (spawnSync(node, ["--version"]).status === 0) return node;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{"private":true}');
  const [command = "npm", ...args] = npmCommand();
  await run(command, [...args, "install", "--ignore-scripts", `${name}@${version}`], { cwd: folder });
  return spawnSync(node, ["--version"]).status === 0 ? node : null;
}

/** Releases that cannot be had here. */
const missing: string[] = [];
const nodes = await findNodes();
let folder = "";
let sandbox: RunningSandbox;
const built = new Map<string, string>();
const packed = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-packages-"));
  await mkdir(join(folder, "home"));
  sandbox = await startSandbox();
  for (const id of ids) {
    const { folder: path, name, version } = await buildPackage(id, folder);
    built.set(id, path);
    await npm(process.execPath, folder, "pack", path);
    packed.set(id, join(folder, `${name.slice(1).replace("/", "-")}-${version}.tgz`));
  }
  for (const id of ids) await install(id);
}, 600_000);
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const app = (id: string): string => join(folder, `app-${id}`);

async function install(id: string): Promise<void> {
  await mkdir(app(id));
  await writeFile(join(app(id), "package.json"), '{"name":"app","private":true,"type":"module"}');
  await symlink(sandbox.home, join(app(id), ".svc"));
  const [, oldest = process.execPath] = nodes[0] ?? [];
  await npm(oldest, app(id), "install", "--offline", packed.get(id) ?? "");
}

/** A home without a configuration or a cache, and the Node first in the search path. */
const bare = (node: string) => ({
  HOME: join(folder, "home"),
  PATH: `${dirname(node)}${delimiter}${process.env["PATH"]}`,
  NODE_OPTIONS: undefined,
  NODE_COMPILE_CACHE: undefined,
  npm_config_cache: join(folder, "home", "cache"),
});

async function npm(node: string, cwd: string, ...words: readonly string[]): Promise<ProcessResult> {
  const [, npmScript = realpathSync(findNpm())] = npmCommand();
  const args = [npmScript, "--no-audit", "--no-fund", "--no-update-notifier", ...words];
  const ended = await run(node, args, { cwd, env: bare(node) });
  expect(ended.code, ended.output).toBe(0);
  return ended;
}

function findNpm(): string {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = folders
    .map((each) => join(each, "npm"))
    .find((path) => statSync(path, { throwIfNoEntry: false }));
  if (found === undefined) throw new Error("There is no npm.");
  return found;
}

async function runProgram(id: string, node: string, program: string): Promise<ProcessResult> {
  await writeFile(join(app(id), "program.js"), program);
  return await run(node, ["program.js"], { cwd: app(id), env: bare(node) });
}

const examplesOf = (page: string): string =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^```js\n([\s\S]*?)^```$/gm)]
    .map(([, each]) => each)
    .join("\n");

describe.each(ids)("the package %s", (id) => {
  const row = packages[id];
  const installed = () => join(app(id), "node_modules", "@unpublished", id);

  it("needs nothing, runs nothing at install, and cannot be published under a scope that is nobody's", async () => {
    const manifest = JSON.parse(await readFile(join(installed(), "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: `@unpublished/${id}`, private: true });
    for (const member of ["scripts", "dependencies", "optionalDependencies", "peerDependencies"])
      expect(manifest).not.toHaveProperty(member);
    expect(await readFile(join(installed(), "LICENSES-OF-OTHERS.txt"), "utf8")).toContain("@noble/curves");
    const scoped = await buildPackage(id, join(folder, "scoped"), "@acme");
    const own = JSON.parse(await readFile(join(scoped.folder, "package.json"), "utf8"));
    expect(own.name).toBe(`@acme/${id}`);
    expect(own).not.toHaveProperty("private");
    expect(await readFile(join(scoped.folder, "README.md"), "utf8")).not.toContain("@unpublished/");
  });

  it("is no larger than its row says", async () => {
    const files = readdirSync(installed(), { recursive: true, encoding: "utf8" });
    const bytes = files.reduce((sum, name) => sum + statSync(join(installed(), name)).size, 0);
    expect(bytes).toBeLessThan(row?.installedMax ?? 0);
    for (const [entry, max] of Object.entries(row?.compressedMax ?? {})) {
      const code = await minified(
        join(installed(), "dist", entry === "." ? "index.js" : `${entry.slice(2)}.js`),
      );
      expect(gzipSync(code, { level: 9 }).length, entry).toBeLessThanOrEqual(max);
    }
  });

  it("has a page whose links lead somewhere, and that names no command which it lacks", async () => {
    const page = await readFile(join(installed(), "README.md"), "utf8");
    const packed = new Set(readdirSync(installed(), { recursive: true, encoding: "utf8" }));
    const targets = [...page.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const lost = targets.filter((target) => !/^https:|^#/.test(target) && !packed.has(target));
    expect(lost).toEqual([]);
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(
      ([, words = ""]) =>
        `#${words
          .toLowerCase()
          .replace(/[^\w\- ]/g, "")
          .replaceAll(" ", "-")}`,
    );
    expect(targets.filter((target) => target.startsWith("#") && !headings.includes(target))).toEqual([]);
    if (row?.programs?.["svc"] === undefined) return;
    const program = join(installed(), "dist", "svc.js");
    const named = new Set([...page.matchAll(/(?<=[`\n] *)svc ([a-z][a-z-]+)/g)].map(([, word = ""]) => word));
    expect(named.size).toBeGreaterThan(20);
    named.delete("help");
    for (const word of named) {
      const ended = await run(process.execPath, [program, "help", word], { cwd: app(id) });
      expect([word, ended.code]).toEqual([word, 0]);
    }
  });

  it("imports nothing but the platform, and in a browser nothing at all", () => {
    const dist = join(installed(), "dist");
    const text = readdirSync(dist).map((name) => readFileSync(join(dist, name), "utf8"));
    const imported = text.flatMap((each) =>
      [...each.matchAll(/^(?:import|export)\b[^"'\n]*["']([^"'\n]+)["'];?$/gm)].map(([, name = ""]) => name),
    );
    const others = imported.filter((name) => !name.startsWith("./"));
    if (row?.platform === "neutral") expect(others).toEqual([]);
    else expect(others.filter((name) => !name.startsWith("node:"))).toEqual([]);
  });
});

async function minified(input: string): Promise<string> {
  const { output } = await build({ input, write: false, platform: "browser", output: { minify: true } });
  return output.map((each) => (each.type === "chunk" ? each.code : "")).join("");
}

const compile = async (id: string, lines: readonly string[]) => {
  await writeFile(join(app(id), "program.ts"), lines.join("\n"));
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", "--types", ""];
  return await runNode([binOf("typescript", "tsc"), ...options, "program.ts"], { cwd: app(id) });
};

it("the tool servers have entries for a registry, of which the local one is the package's own", async () => {
  const built = await buildPackage("svc", join(folder, "registry"), "@acme", "acme.example");
  const manifest = JSON.parse(await readFile(join(built.folder, "package.json"), "utf8"));
  const { local, hosted } = registryEntries(
    "acme.example",
    "https://tools.acme.example/v1/mcp/public",
    built,
  );
  const { version } = built;
  expect(manifest.mcpName).toBe("example.acme/svc-mcp");
  expect(local).toMatchObject({
    name: manifest.mcpName,
    version,
    packages: [{ identifier: "@acme/svc", version }],
  });
  expect(hosted.remotes).toEqual([
    { type: "streamable-http", url: "https://tools.acme.example/v1/mcp/public" },
  ]);
  for (const { name, description } of [local, hosted]) {
    expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(description.length).toBeLessThanOrEqual(100);
  }
});

it("the client has declarations that a program compiles against", async () => {
  const program = [
    'import { type Business, createBusiness, importSigningKey, SvcProblemError } from "@unpublished/client";',
    "export const open = async (jwk: unknown): Promise<Business> =>",
    '  createBusiness({ businessUrl: "https://business.example", key: await importSigningKey(jwk) });',
    "export const codeOf = (error: unknown): string | null =>",
    "  error instanceof SvcProblemError ? error.code : null;",
  ];
  const mistaken = [...program, 'createBusiness({ businesUrl: "https://business.example" });'];
  expect(await compile("client", program)).toMatchObject({ code: 0, output: "" });
  expect((await compile("client", mistaken)).output).toContain("businessUrl");
});

it("the client's declarations know what each collection may be asked, and what it answers", async () => {
  const program = `
    import type { SvcClient } from "@unpublished/client";
    export async function ask(client: SvcClient) {
      const filter = { all: [{ country: "GB" }, { price_amount: { lte: "9.90" } }] } as const;
      const { body } = await client.search({ collection: "products", filter, sort_by: "price_amount:asc" });
      for (const row of body.rows) console.log(row.product_name.length, row.price_GB?.toFixed(2), row.gtin);
      // WRONG: a collection that does not exist
      await client.search({ collection: "gadgets", filter, sort_by: "published_at:asc" });
      // WRONG: a sort key of jobs
      await client.search({ collection: "products", filter, sort_by: "salary_min:asc" });
      // WRONG: a field of events
      await client.search({ collection: "products", filter: { all: [{ ticketed: true }] }, sort_by: "published_at:asc" });
      // WRONG: brands have no order
      await client.search({ collection: "products", filter: { all: [{ brand: { lt: "b" } }] }, sort_by: "published_at:asc" });
      // WRONG: no text field of products
      await client.search({ collection: "products", filter, sort_by: "published_at:asc", q: "a", query_by: ["title"] });
      // WRONG: rows of products have no salary
      console.log(body.rows[0]?.salary_min);
      const { body: fetched } = await client.fetchRecord("svc_");
      if (fetched.type === "products") console.log(fetched.record.prices[0]?.amount);
      // WRONG: only products have prices
      if (fetched.type === "jobs") console.log(fetched.record.prices);
    }
    declare const console: { log(...values: unknown[]): void };`;
  // Written in two parts, because nothing in this project is silenced.
  const lines = [program.replaceAll("WRONG", `@ts-expect${"-error"}`)];
  expect(await compile("client", lines)).toMatchObject({ code: 0, output: "" });
});

it("the verifier's entry for rows is one file without ML-DSA and certificates, and small as it is packed", async () => {
  const code = await readFile(
    join(app("verifier"), "node_modules/@unpublished/verifier/dist/rows.js"),
    "utf8",
  );
  expect(code).not.toMatch(/^import |import\(|ml_dsa|splitHybrid|verifyKeySet/m);
  expect(gzipSync(code).length).toBeLessThanOrEqual(60_000);
});

it("the verifier has declarations that a program compiles against", async () => {
  const program = [
    'import { type Report, verify } from "@unpublished/verifier";',
    'import { createRowVerifier, type RowVerifier, type Verdict } from "@unpublished/verifier/rows";',
    'export const report: Report = verify("{}", "{}", { allowSandbox: true });',
    "export const rows: Verdict<RowVerifier> = createRowVerifier({}, { allowSandbox: true });",
  ];
  expect(await compile("verifier", program)).toMatchObject({ code: 0, output: "" });
  expect((await compile("verifier", [...program, 'verify("{}", "{}", { sandbox: 1 });'])).code).not.toBe(0);
});

const without = missing.map((release) => `, without Node ${release}, which cannot be had here`).join("");
it.skipIf(missing.length > 0)(`packages are tested on every release that they support${without}`, () => {
  expect(nodes.map(([release]) => release)).toEqual(Object.keys(releases));
});

describe.each(nodes)("on Node %s", (release, node) => {
  // The client has the same verifier, so the oldest release is asked for both.
  const judging = release === nodes[0]?.[0] ? ["client", "verifier"] : ["verifier"];
  it.each(judging)("the %s finds what the public test vectors say", async (id) => {
    const ended = await runProgram(
      id,
      node,
      `import { readFileSync } from "node:fs";
      import { runVectors } from "@unpublished/${id}/vectors";
      const { judged, differing } = runVectors((path) =>
        JSON.parse(readFileSync(${JSON.stringify(join(root, "vectors"))} + "/" + path, "utf8")));
      console.log(process.version, judged, "judged,", differing);`,
    );
    expect(ended.output).toMatch(new RegExp(`^v${release}\\.[0-9.]+ [1-9][0-9]{2} judged, \\[\\]\\n$`));
  });

  it("the entry for rows finds what the public test vectors say of its checks", async () => {
    const ended = await runProgram(
      "verifier",
      node,
      `import { readFileSync } from "node:fs";
      import { createRowVerifier } from "@unpublished/verifier/rows";
      import { runVectors } from "@unpublished/verifier/vectors";
      const { judged, differing } = runVectors((path) =>
        JSON.parse(readFileSync(${JSON.stringify(join(root, "vectors"))} + "/" + path, "utf8")), createRowVerifier);
      console.log(judged, "judged,", differing);`,
    );
    expect(ended.output).toMatch(/^[1-9][0-9] judged, \[\]\n$/);
  });

  it("the entry for rows judges rows and their receipt by accepted keys, and by nothing else", async () => {
    const cwd = app("verifier");
    const saved = join(cwd, "search.json");
    await sandbox.svc("search", "products", "--country", "US", "--save", saved);
    const { search } = JSON.parse(await readFile(saved, "utf8"));
    const [{ record_id: recordId }] = search.rows;
    await sandbox.svc("fetch", recordId, "--save", join(cwd, "fetched.json"));
    const fetched = exactMember(await readFile(join(cwd, "fetched.json"), "utf8"), "fetched") ?? "";
    await writeFile(join(cwd, "record.json"), exactMember(fetched, "record") ?? "");
    const { anchors } = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8"));
    await writeFile(join(cwd, "anchors.json"), JSON.stringify(anchors));
    await runProgram(
      "verifier",
      node,
      `import { readFileSync, writeFileSync } from "node:fs";
      import { acceptedKeys } from "@unpublished/verifier";
      const { key_set: keySet } = JSON.parse(readFileSync("search.json", "utf8"));
      const accepted = acceptedKeys(keySet, readFileSync("anchors.json"), { allowSandbox: true });
      writeFileSync("accepted.json", JSON.stringify(accepted.value));`,
    );
    const ended = await runProgram(
      "verifier",
      node,
      `import { readFileSync } from "node:fs";
      import { createRowVerifier } from "@unpublished/verifier/rows";
      const read = (name) => JSON.parse(readFileSync(name, "utf8"));
      const { key_set: keySet, search: { receipt, rows } } = read("search.json");
      const { value: verifier } = createRowVerifier(read("accepted.json"), { allowSandbox: true });
      const served = verifier.served(receipt, rows, { isWhole: true });
      const callerKeyId = served.value.receipt.key_id;
      const verdicts = [
        verifier.served(receipt, rows, { callerKeyId }),
        verifier.projection(served.value.rows[0], readFileSync("record.json")),
        verifier.served(receipt, [{ ...rows[0], published_at: 1 }]),
        verifier.served(receipt, rows, { callerKeyId: "x".repeat(43) }),
        createRowVerifier(keySet, { allowSandbox: true }),
        createRowVerifier(read("accepted.json")),
      ];
      console.log(verdicts.map((each) => each.ok ? "ok" : each.code).join(" "));`,
    );
    expect(ended.output).toBe(
      "ok ok row_signature_invalid receipt_caller_mismatch trust_chain_broken key_unknown\n",
    );
  });

  it("the verifier's page judges what a search and a fetch saved", async () => {
    const { anchors } = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8"));
    await writeFile(join(app("verifier"), "anchors.json"), JSON.stringify(anchors));
    const recordId = /fetch (\S+) --save/.exec(sandbox.tour)?.[1] ?? "";
    const file = join(app("verifier"), "evidence.json");
    for (const words of [
      ["fetch", recordId],
      ["search", "products", "--country", "US"],
    ]) {
      const saved = await sandbox.svc(...words, "--save", file);
      expect(saved.code, saved.output).toBe(0);
      const ended = await runProgram("verifier", node, examplesOf("verifier/README.md"));
      expect(ended.output).toMatch(/^true true$/m);
      if (words[0] === "search") expect(ended.output).toMatch(/^[1-9][0-9]* rows stand$/m);
      await writeFile(
        file,
        (await readFile(file, "utf8")).replace(/"adl_origin": ?"sha256:|"record_id": ?"/, "$&0"),
      );
      const changed = await runProgram("verifier", node, examplesOf("verifier/README.md"));
      expect(changed.output).toMatch(/^false /m);
    }
  });

  it("the client runs the program of its page", async () => {
    for (const name of ["loaf.push.json", "business.json", "business.key.json", "business.owner.json"])
      await rm(join(app("client"), name), { force: true });
    const names = ["--name", "My Bakery", "--country", "GB"];
    const granted = await sandbox.svc("grant", ...names, "--out", join(app("client"), "business.json"));
    expect(granted.code, granted.output).toBe(0);
    const ended = await runProgram("client", node, examplesOf("client/README.md"));
    expect(ended, ended.output).toMatchObject({ code: 0 });
    expect(ended.output.match(/^verified true [0-9]+$/gm)).toHaveLength(2);
    expect(ended.output).toMatch(/^bat_[0-9a-f]{24} complete [01] 0$/m);
    expect(ended.output).toContain("/category groceries");
    expect(ended.output).toContain("1 false member_missing");
    expect(ended.output).toContain("withdraw []");
    expect(ended.output).toContain("delete []");
    expect(ended.output).toContain("409 push_not_cancellable");
    expect(ended.output).toMatch(/^200 [0-9]+$/m);
  });

  it("the programs start by npx, publish, search, verify, and serve an assistant", async () => {
    const cwd = join(folder, `npx-${release}`);
    await mkdir(cwd);
    const npx = (...words: readonly string[]) =>
      npm(node, cwd, "exec", "--offline", "--yes", "--package", packed.get("svc") ?? "", "--", ...words);
    const home = ["--home", sandbox.home];
    expect((await npx("svc", "--version")).output).toContain("svc 0.1.0");
    await writeFile(
      join(cwd, "loaf.csv"),
      [
        "business_product_id,product_name,language,vertical,category,channel,brand,short_description,on_sale,availability,product_url,price_GB,price_currency_GB",
        `loaf-${release},Oat loaf,en,food_drink,fresh_food,in_store,Saltmarsh,A soft loaf.,no,in_stock,https://saltmarsh-bakery.example/oat,4.60,GBP`,
      ].join("\n"),
    );
    expect((await npx("svc", "push", "loaf.csv", "--business", "2", ...home)).output).toContain("1 ");
    await npx("svc", "search", "products", "--country", "US", "--save", "found.json", ...home);
    expect((await npx("svc", "verify", "found.json", "--sandbox", ...home)).output).toMatch(/^Valid\.$/m);
    const checked = await npx("svc-mcp", "--sandbox", "--check", ...home);
    expect(checked.output).toContain("verified under the anchors");
  });
});
