// Programs that were not written here read `/openapi.json` of every surface as it is: the linter Spectral with its rules for OpenAPI, and
// two generators of clients.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningNode, startNode } from "../node/composition/start.ts";

const execute = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "svc-open-api-"));

/** Of registries, into a folder that is removed: no script of a package runs. */
async function fetched(name: string, command: string, args: readonly string[]): Promise<boolean> {
  try {
    await execute(command, args, { cwd: folder, timeout: 300_000 });
    return true;
  } catch {
    console.warn(`NOT TESTED: ${name} could not be fetched.`);
    return false;
  }
}

const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
await writeFile(join(folder, "package.json"), '{"private": true}');
const hasNode = await fetched("@stoplight/spectral-cli and @hey-api/openapi-ts", "npm", [
  ...install,
  "@stoplight/spectral-cli@6.16.3",
  "@hey-api/openapi-ts@0.99.0",
  "typescript@5.9.3",
]);
const hasPython =
  (await fetched("a virtual environment of Python", "python3", ["-m", "venv", "venv"])) &&
  (await fetched("openapi-python-client", join(folder, "venv/bin/pip"), [
    "install",
    "--quiet",
    "openapi-python-client==0.29.1",
  ]));
let node: RunningNode;
const surfaces = ["retrieval", "business", "verification", "tools", "ops", "portal"] as const;

beforeAll(async () => {
  node = await startNode({ home: join(folder, "home"), portBase: 0, logLevel: "error" });
  await node.seeded;
  const { base_url, business_url, verify_url, mcp_url, ops_url, portal_url } = node.urls;
  for (const [index, url] of [base_url, business_url, verify_url, mcp_url, ops_url, portal_url].entries()) {
    const document = await (await fetch(`${url}/openapi.json`)).text();
    await writeFile(join(folder, `${surfaces[index]}.json`), document);
  }
  await writeFile(join(folder, ".spectral.yaml"), 'extends: ["spectral:oas"]\n');
  await writeFile(join(folder, "python.yaml"), "post_hooks: []\n");
}, 120_000);

afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The output of a program; throws where it fails. */
async function run(command: string, args: readonly string[]): Promise<string> {
  const options = { cwd: folder, timeout: 300_000, maxBuffer: 67_108_864 };
  const { stdout, stderr } = await execute(command, args, options).catch((error: { stdout: string }) => {
    throw new Error(`${command} ${args.join(" ")}: ${error.stdout}`);
  });
  return stdout + stderr;
}

it.skipIf(!hasNode).each(surfaces)(
  "Spectral finds no error in what %s publishes",
  async (surface) => {
    const args = ["lint", `${surface}.json`, "--ruleset", ".spectral.yaml", "--fail-severity", "error"];
    await run("node_modules/.bin/spectral", [...args, "--format", "json", "--display-only-failures"]);
  },
  300_000,
);

it.skipIf(!hasNode)(
  "Spectral finds an operation without its path's parameter",
  async () => {
    const document = await (await fetch(`${node.urls.verify_url}/openapi.json`)).text();
    await writeFile(join(folder, "broken.json"), document.replaceAll('"name":"uuid"', '"name":"other"'));
    const args = ["lint", "broken.json", "--ruleset", ".spectral.yaml"];
    const found = await run("node_modules/.bin/spectral", args).catch(String);
    expect(found).toContain("path-params");
  },
  300_000,
);

/** Those that callers of other companies use. */
const forCallers = surfaces.slice(0, 3);

it.skipIf(!hasNode).each(forCallers)(
  "@hey-api/openapi-ts makes a client of %s that compiles",
  async (surface) => {
    await run("node_modules/.bin/openapi-ts", ["-i", `${surface}.json`, "-o", `ts-${surface}`]);
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "esnext", "--module", "esnext"];
    const place = ["--moduleResolution", "bundler", `ts-${surface}/index.ts`];
    await run("node_modules/.bin/tsc", [...options, ...place]);
  },
  300_000,
);

it.skipIf(!hasPython).each(forCallers)(
  "openapi-python-client makes a client of %s with every schema",
  async (surface) => {
    const options = ["--config", "python.yaml", "--meta", "none"];
    const place = ["--path", `${surface}.json`, "--output-path", `py_${surface}`];
    const said = await run("venv/bin/openapi-python-client", ["generate", ...options, ...place]);
    expect(said).not.toMatch(/Unable to process|Failed|ERROR/);
    await run("venv/bin/python", ["-c", `import py_${surface}.models`]);
  },
  300_000,
);
