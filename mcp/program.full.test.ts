// The program as it is started by itself (`svc-mcp`) and by `svc mcp`: what it prints, and how it ends when it cannot serve.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ProcessResult, root, run } from "../tools/process.ts";
import { configSchema, parseConfig } from "./config.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-mcp-program-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const names = Object.keys(process.env).filter((name) => /^(MASTERDB_|SVC_|VITEST|NODE_)/.test(name));
const env = Object.fromEntries(names.map((name) => [name, undefined]));
const programs: readonly (readonly [name: string, words: readonly string[]])[] = [
  ["svc-mcp", [join(root, "mcp/bin.mjs")]],
  ["svc mcp", [join(root, "cli/bin.mjs"), "mcp"]],
];

describe.each(programs)("%s", (_name, words) => {
  const start = (...more: readonly string[]): Promise<ProcessResult> =>
    run(process.execPath, [...words, ...more], { cwd: folder, env });

  it("prints the schema of its configuration, which accepts what is accepted", async () => {
    const { code, output } = await start("--print-config-schema");
    const schema = JSON.parse(output) as object;
    expect([code, schema]).toEqual([0, configSchema()]);
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    const own = { version: 1, api_base_url: "https://api.example", country: "GB", key: { file: "k" } };
    for (const [document, isAccepted] of [
      [own, true],
      [{ ...own, contry: "GB" }, false],
      [{ ...own, version: 2 }, false],
      [{ ...own, retry: { max_attempts: 11 } }, false],
      [{ country: "GB" }, false],
    ] as const)
      expect([validate(document), parseConfig(document, {}).ok]).toEqual([isAccepted, isAccepted]);
  });

  it.each<readonly [string, readonly string[], string]>([
    ["no configuration", [], "Use --sandbox with a node on this machine"],
    ["an unknown option", ["--sandbx"], "--sandbx"],
    ["a word that it does not know", ["serve"], "serve"],
    ["a file that is not there", ["--config", "none.json"], "none.json"],
    ["an unknown member", ["--config", "wrong.json"], "Did you mean country?"],
    ["a grant in production", ["--config", "grant.json"], "sandbox_key_grant is for the sandbox only"],
    ["a sandbox that is not there", ["--sandbox", "--home", "nowhere"], "Start a node with: npm start"],
  ])("ends with 2 and says the way out, given %s", async (_what, more, said) => {
    const own = { version: 1, api_base_url: "https://api.example" };
    await writeFile(join(folder, "wrong.json"), JSON.stringify({ ...own, contry: "GB" }));
    const grant = { sandbox_key_grant: "svc_sbxk1.a.b" };
    await writeFile(join(folder, "grant.json"), JSON.stringify({ ...own, ...grant }));
    const ended = await start(...more);
    expect(ended, ended.output).toMatchObject({ code: 2, output: expect.stringContaining(said) });
    expect(ended.output).not.toMatch(/^ +at /m);
  });
});
