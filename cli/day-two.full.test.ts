// Follows docs/first-push.md from «Every night» on beside a running sandbox: the nightly job with a shop's feed, from cron and as GitHub Actions run it, what
// was asked, and another key.

import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playedBlocks } from "../node/keys/runbook.fixture.ts";
import { root, run } from "../tools/process.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

const page = await readFile(join(root, "docs", "first-push.md"), "utf8");
const sections = await playedBlocks("first-push.md");
let sandbox: RunningSandbox;
let shop: Server;
/** The first key of the business. */
let keyId = "";
/** What the shop answers: its feed, or null for an error. */
let feed: string | null = null;
const work = (): string => join(sandbox.home, "feed");

function scriptOf(title: string, kind: string): string {
  const found = sections.get(title)?.find((block) => block.kind === kind);
  if (found === undefined) throw new Error(`docs/first-push.md has no block ${kind} under ${title}.`);
  return found.script;
}

beforeAll(async () => {
  sandbox = await startSandbox();
  shop = createServer((_, answer) => {
    if (feed === null) answer.writeHead(404);
    answer.end(feed ?? "");
  });
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  await mkdir(join(work(), "bin"), { recursive: true });
  await program("bin/svc", `#!/bin/sh\nexec "${process.execPath}" "${join(root, "cli", "main.ts")}" "$@"\n`);
  await program("nightly.sh", scriptOf("Every night", "nightly"));
  const out = join(work(), "business.json");
  const granted = await sandbox.svc("grant", "--name", "Every Day", "--country", "US", "--out", out);
  expect(granted.code, granted.output).toBe(0);
  keyId = /The key ([A-Za-z0-9_-]{43}) is in/.exec(granted.output)?.[1] ?? "";
});
afterAll(async () => {
  shop?.close();
  await sandbox?.[Symbol.asyncDispose]();
});

async function program(name: string, text: string): Promise<void> {
  await writeFile(join(work(), name), text);
  await chmod(join(work(), name), 0o755);
}

function play(script: string, more: Readonly<Record<string, string>> = {}) {
  const env = {
    PATH: `${join(work(), "bin")}${delimiter}${process.env["PATH"]}`,
    USER: "tester",
    SVC_HOME: sandbox.home,
    FEED_URL: `http://127.0.0.1:${(shop.address() as AddressInfo).port}/google.txt`,
    ...more,
  };
  return run("sh", ["-eu", "-c", script], { cwd: work(), env });
}

function feedOf(count: number, price = "59.00"): string {
  const header =
    "id\ttitle\tdescription\tlink\tprice\tavailability\tbrand\tgoogle product category\tshipping(country:price)";
  const item = (index: number): string =>
    `lamp-${index}\tDesk lamp\tA lamp.\thttps://lamps.example/${index}\t${price} USD\tin stock\tGlim\t594\tUS:4.00 USD`;
  return [header, ...Array.from({ length: count }, (_, index) => item(100 + index))].join("\n");
}

const hasCurl = spawnSync("curl", ["--version"]).error === undefined;

describe.skipIf(!hasCurl && process.env["CI"] === undefined)("docs/first-push.md, every day", () => {
  it("publishes a feed every night from cron, and withdraws what it no longer has, within the limit", async () => {
    const cron = scriptOf("Every night", "cron").trimEnd().split("\n").at(-1) ?? "";
    const [, command = ""] = /^17 3 \* \* \* (.*)$/.exec(cron) ?? [];
    const night = () => play(command.replace("/srv/feed", work()));
    feed = feedOf(40);
    const first = await night();
    expect(first, first.output).toMatchObject({ code: 0, output: expect.stringContaining("40 published") });
    const second = await night();
    expect(second, second.output).toMatchObject({
      code: 0,
      output: expect.stringContaining("40 unchanged."),
    });
    feed = feedOf(39);
    const third = await night();
    expect(third).toMatchObject({ code: 0, output: expect.stringContaining("39 unchanged, 1 withdrawn.") });
    feed = feedOf(36);
    const cut = await night();
    expect(cut, cut.output).toMatchObject({
      code: 1,
      output: expect.stringContaining("3 are more than --remove-at-most allows."),
    });
    expect(await readFile(join(work(), "report.ndjson"), "utf8")).toMatch(/"id":"lamp-138".*"not_in_file"/);
    feed = null;
    expect((await night()).code).toBe(22);
  });

  it("does the same as GitHub Actions run it, with the key in a variable", async () => {
    const [, command = ""] = /^ {6}- run: (.*)$/m.exec(page) ?? [];
    expect(command).toContain("./nightly.sh");
    const path = join(work(), "business.json");
    const text = await readFile(path, "utf8");
    const config = JSON.parse(text) as Record<string, unknown>;
    const key = await readFile(join(work(), "business.key.json"), "utf8");
    feed = feedOf(39, "59.50");
    await writeFile(path, JSON.stringify({ ...config, key: { env: "FEED_KEY" } }));
    const ended = await play(command, { FEED_KEY: key });
    await writeFile(path, text);
    // All prices of the catalogue change, which an owner confirms.
    expect(ended.output).toContain("held: price_changes");
    expect(ended.output).toContain("Nothing was withdrawn, since not all of the file is published.");
    expect(ended.code).toBe(1);
  });

  it("shows how the business is found", async () => {
    const found = scriptOf("How you are found", "found").trimEnd().split("\n");
    const nothing = await play(found[0] ?? "");
    expect(nothing).toMatchObject({ code: 1, output: expect.stringContaining("in 0 searches, with 0 rows") });
    const words = ["products", "desk", "lamp", "--country", "US", "--sort", "_text_match:desc"];
    const asked = await sandbox.svc("search", ...words);
    expect(asked.code, asked.output).toBe(0);
    await expect.poll(async () => (await play(found[0] ?? "")).code, { timeout: 30_000 }).toBe(0);
    const days = await play(found[0] ?? "");
    expect(days.output).toMatch(/^DAY +TYPE +COUNTRY +SEARCHES +ROWS +FETCHES$/m);
    expect(days.output).toMatch(/^\d{4}-\d\d-\d\d +products +US +1 +\d+ +0$/m);
    expect((await play(found[1] ?? "")).output).toMatch(/^COMPANY +SEARCHES +ROWS +FETCHES +DAYS$/m);
    const asks = await play(found[2] ?? "");
    expect(asks).toMatchObject({ code: 1, output: expect.stringContaining("3 companies named it") });
    const json = await play(`${found[0]} --json`);
    expect(JSON.parse(json.output)).toMatchObject({ totals: { searches: 1 } });
    for (const [wrong, said] of [
      [`${found[0]} --type things`, "business_files"],
      ["svc demand --config business.json", "--country and --type"],
    ] as const)
      expect(await play(wrong)).toMatchObject({ code: 2, output: expect.stringContaining(said) });
  });

  it("replaces a key by overlap", async () => {
    feed = feedOf(39);
    await writeFile(join(work(), "feed"), feed);
    const both = await play(scriptOf("Another key", "another"));
    expect(both, both.output).toMatchObject({ code: 0, output: expect.stringContaining("39 updated") });
    const push = (config: string) => play(`svc push feed --config ${config} --set language=en --again`);
    const overlap = await push("business.json");
    expect(overlap.code, overlap.output).toBe(0);
    const ended = await play(`${scriptOf("Another key", "revoke").trimEnd().replace("KEY_ID", keyId)} --yes`);
    expect(ended.code, ended.output).toBe(0);
    await expect
      .poll(async () => (await push("business.json")).output, { timeout: 30_000 })
      .toContain("key_unknown");
    expect(await push("business-2.json")).toMatchObject({ code: 0 });
  });
});
