// Follows docs/production.md: its commands in order, after those of docs/keys.md that it refers to, and then the doctor
// with the settings that it gives.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig, loadSecrets } from "../configuration/config.ts";
import { playedBlocks, shellPrelude } from "../keys/runbook.fixture.ts";

let folder: string;
/** The settings as the page's process manager would set them. */
let settings: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-followed-"));
  const keys = await playedBlocks("keys.md");
  const ceremonies = [
    "The root",
    "The issuance pair",
    "Working keys and the first key set",
    "The issuance process",
  ];
  for (const title of ceremonies) await playAll(keys.get(title) ?? []);
  const node = (await playedBlocks("production.md")).get("A node, step by step") ?? [];
  await playAll(node);
  const exports = node.filter(({ kind }) => kind === "settings").map(({ script }) => script);
  const lines = (await play(`${exports.join("\n")}\nenv`))
    .split("\n")
    .filter((line) => line.startsWith("SVC_"));
  settings = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function playAll(blocks: readonly { readonly kind: string; readonly script: string }[]): Promise<void> {
  const commands = blocks.filter(({ kind }) => kind === "");
  expect(commands.length).toBeGreaterThan(0);
  for (const { script } of commands) await play(script);
}

async function play(
  script: string,
  given: Readonly<Record<string, string | undefined>> = {},
): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: folder, NO_COLOR: "1", ...given };
  const run = promisify(execFile)("bash", ["-c", `umask 022\n${shellPrelude}${script}`], {
    cwd: folder,
    env,
  });
  return (await run).stdout;
}

/** The output and exit code of the page's doctor block. */
async function consult(changes: Readonly<Record<string, string | undefined>> = {}) {
  const blocks = (await playedBlocks("production.md")).get("A node, step by step") ?? [];
  const script = blocks.find(({ kind }) => kind === "doctor")?.script ?? "false";
  const given = { ...settings, ...changes };
  return await play(script, given).then(
    (said) => ({ code: 0, said }),
    (error: { readonly code: number; readonly stdout: string }) => ({ code: error.code, said: error.stdout }),
  );
}

describe("a production node made by following docs/production.md", () => {
  it("is what a node takes", () => {
    const config = loadConfig({}, settings);
    expect(config).toMatchObject({ environment: "production", region: "eu-west1", plainText: [] });
    expect(loadSecrets(config, settings)?.cassandraPassword).toMatch(/.{32}/);
  });

  it("passes the doctor", async () => {
    const { code, said } = await consult();
    expect(code).toBe(0);
    // Witnesses are others' to run, so the steps name none.
    expect(said.split("\n")).toEqual([
      expect.stringMatching(/^warning log_unwitnessed {2}SVC_LOG_WITNESSES .* 0 of 0 cosignatures/),
      expect.stringMatching(/^ {2}Name witnesses that others run/),
      "Nothing unsafe was found.",
      "",
    ]);
  });

  it("no longer passes with one thing left out or changed", async () => {
    const { code, said } = await consult({ SVC_TRUSTED_PROXIES: undefined, SVC_CASSANDRA_INSECURE: "yes" });
    expect(code).toBe(1);
    expect(said).toMatch(/^plain_text_allowed {2}SVC_CASSANDRA_INSECURE /m);
    expect(said).toMatch(/^proxies_missing {2}SVC_TRUSTED_PROXIES .*\n {2}Name the addresses/m);
    expect(said).toMatch(/^2 settings are unsafe\.$/m);
  });
});
