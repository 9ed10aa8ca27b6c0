// Follows docs/first-answer.md beside a running sandbox: its blocks as a newcomer copies them, each way in a shell of its own.

import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Block, playedBlocks } from "../node/keys/runbook.fixture.ts";
import { type ProcessResult, root, runNode } from "../tools/process.ts";
import { binOf } from "../tools/steps.ts";
import {
  type FollowedCheckout,
  hasShellTools,
  leaveOut,
  openFollowedCheckout,
} from "./running-sandbox.fixture.ts";

const sections = await playedBlocks("first-answer.md");
const played = new Set<string>();
let checkout: FollowedCheckout;

/** The folder that the page makes. */
const work = (): string => join(checkout.folder, "first-answer");

beforeAll(async () => {
  checkout = await openFollowedCheckout(["cli", "tools"]);
});
afterAll(() => checkout?.[Symbol.asyncDispose]());

/** The blocks under a title of one kind, which is empty for those that are simply run. */
function scriptOf(title: string, kind = ""): string {
  const blocks: readonly Block[] = sections.get(title) ?? [];
  const chosen = blocks.filter((block) => block.kind === kind).map(({ script }) => script);
  if (chosen.length === 0) throw new Error(`docs/first-answer.md has no such commands under ${title}`);
  played.add(`${title} ${kind}`);
  return chosen.join("");
}

/** Runs a script after the page's start. */
const play = (script: string): Promise<ProcessResult> => checkout.play(`${scriptOf("Start")}${script}`);

/** What every way comes to: a search and a fetch in which no check failed or was left out. */
function expectVerified({ code, output }: ProcessResult): void {
  expect(code, output).toBe(0);
  expect(output.match(/^Valid\.$/gm), output).toHaveLength(2);
  expect(output).not.toMatch(/not checked|FAILED/);
  expect(output.match(/^ok +rows\/[012] /gm)).toHaveLength(3);
  for (const check of ["seal", "certificate", "business_keys", "sidecar", "ai_policy", "key_custody"])
    expect(output.match(new RegExp(`^ok +${check} `, "gm")), check).toHaveLength(1);
  expect(output.match(/^ok +receipt +Served at /gm)).toHaveLength(2);
}

/** Whether a request hash of another request would have been noticed. */
async function expectBoundToTheRequest(name: string): Promise<void> {
  const text = await readFile(join(work(), `${name}.json`), "utf8");
  const changed = text.replace(/("request_hash":\s*"sha256:)[0-9a-f]{64}/, `$1${"0".repeat(64)}`);
  expect(changed).not.toBe(text);
  await writeFile(join(work(), "other-request.json"), changed);
  const ended = await play("svc verify other-request.json --sandbox");
  expect(ended, ended.output).toMatchObject({ code: 1, output: expect.stringMatching(/^FAILED +receipt/m) });
}

describe("docs/first-answer.md", () => {
  it("leads to verified answers with curl, and shows that a changed one is refused", async ({ skip }) => {
    const [curl, refused] = [scriptOf("curl"), scriptOf("What was verified", "refused")];
    if (!hasShellTools) {
      leaveOut("curl, jq and openssl are needed for the way with curl of docs/first-answer.md");
      return skip();
    }
    expectVerified(await play(curl));
    await expectBoundToTheRequest("curl-search");
    const changed = await play(refused);
    expect(changed, changed.output).toMatchObject({ code: 1 });
    const failed = [...changed.output.matchAll(/^FAILED +(\w+) /gm)].map(([, name]) => name);
    expect(failed.sort()).toEqual(["receipt", "seal", "sidecar", "source_line"]);
  });

  it("leads to verified answers with TypeScript", async () => {
    const install = scriptOf("TypeScript", "install");
    const { devDependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const name = "http-message-signatures";
    expect(install).toContain(` ${name}@${devDependencies[name]}\n`);
    // The packages are those that are installed here, so that no registry is needed.
    await mkdir(join(work(), "node_modules"), { recursive: true });
    for (const each of [name, "structured-headers"])
      await symlink(join(root, "node_modules", each), join(work(), "node_modules", each));
    expectVerified(await play(scriptOf("TypeScript")));
    await expectBoundToTheRequest("ts-record");
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules", "@types")];
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", ...types];
    const checked = await runNode([binOf("typescript", "tsc"), ...options, "answer.mts"], { cwd: work() });
    expect(checked, checked.output).toMatchObject({ code: 0, output: "" });
  });

  it("leads to verified answers with Python", async ({ skip }) => {
    const [install, python] = [scriptOf("Python", "install"), scriptOf("Python")];
    const installed = await play(install);
    if (installed.code !== 0) {
      leaveOut(`cryptography cannot be installed for Python: ${installed.output}`);
      return skip();
    }
    expectVerified(await play(python));
    await expectBoundToTheRequest("py-search");
  });

  it("leads to the proof of one price, which is judged in Python as well", async ({ skip }) => {
    const price = scriptOf("One price");
    const python = join(work(), ".venv", "bin", "python");
    if (!existsSync(python)) return skip();
    const proven = await play(price);
    expect(proven, proven.output).toMatchObject({ code: 0 });
    expect(proven.output).toMatch(/^Price in US: [0-9.]+ USD\.$/m);
    expect(proven.output).toMatch(/^Valid, by 8 signatures\.$/m);
  });

  it("is followed to the end", () => {
    const kinds = [...sections].flatMap(([title, blocks]) => blocks.map(({ kind }) => `${title} ${kind}`));
    expect(kinds.filter((each) => !played.has(each))).toEqual([]);
  });
});
