// `svc log audit` as separate processes against a sandbox node, one of them killed.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { logRef } from "../actors/messages/refs.ts";
import { type RunningNode, startNode } from "../node/composition/start.ts";
import { formatHash, sha256, utf8 } from "../protocol/bytes.ts";
import { verifierKeyOf } from "../protocol/log/note.ts";
import { noteKey } from "../protocol/log/signed-log.fixture.ts";
import { root, runNode } from "../tools/process.ts";

let home = "";
let node: RunningNode;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-audit-"));
  process.env["SVC_LOG_INTERVAL_SECONDS"] = "0";
  node = await startNode({ home, portBase: 0, logLevel: "error" });
  delete process.env["SVC_LOG_INTERVAL_SECONDS"];
  await node.seeded;
});

afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

async function audit(args: readonly string[], killAfterMs: number | null = null) {
  const state = join(home, "audit.json");
  const words = ["cli/main.ts", "log", "audit", "--sandbox", "--home", home, "--state", state, ...args];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += String(chunk)));
  child.stderr.on("data", (chunk) => (err += String(chunk)));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  if (killAfterMs !== null) {
    await wait(killAfterMs);
    child.kill("SIGKILL");
  }
  return { code: await ended, out, err, state };
}

it("follows the sandbox's log from one audit to the next, and is not stopped by a kill", async () => {
  const business = (await node.seeded)?.sandbox.businesses[0]?.business_uuid ?? "";
  await audit(["--json"], 200);
  const first = await audit(["--json", "--business", business]);
  expect(first).toMatchObject({ code: 0, err: "" });
  const read = JSON.parse(first.out);
  expect(read).toMatchObject({ valid: true, from: 0, more: 0 });
  const types = read.entries.map((each: { leaf_type: string }) => each.leaf_type);
  expect(types).toEqual(expect.arrayContaining(["key_event", "certificate", "seal"]));
  expect(read.entries.every((each: { subject: string }) => each.subject === business)).toBe(true);
  for (const delay of [150, 400, 800]) await audit(["--json"], delay);
  const second = JSON.parse((await audit(["--json"])).out);
  expect(second.valid).toBe(true);
  expect(second.from).toBeGreaterThanOrEqual(read.size);
});

it("refuses the log for a state of another log, with its code", async () => {
  const { state } = await audit([]);
  const kept = await readFile(state, "utf8");
  await writeFile(state, kept.replace('"checkpoint":"', '"checkpoint":"other.'));
  expect(await audit(["--json"])).toMatchObject({
    code: 1,
    out: expect.stringContaining('"code":"log_origin_other"'),
  });
  await writeFile(state, kept);
});

const file = (name: string): string => join(home, name);
const svc = (...words: string[]) => runNode(["cli/main.ts", ...words, "--home", home]);

interface Accounted {
  readonly entries: readonly { readonly leaf: string; readonly leaf_type: string }[];
  readonly unaccounted: readonly { readonly leaf: string; readonly leaf_type: string }[];
  readonly to_look_at: readonly unknown[];
}

async function audited(state: string, configs: readonly string[], ...more: string[]) {
  const { code, output } = await svc(
    "log",
    "audit",
    "--sandbox",
    "--state",
    file(`${state}.json`),
    "--json",
    ...more,
    ...configs.flatMap((each) => ["--config", file(each)]),
  );
  return { exit: code, ...(JSON.parse(output) as Accounted) };
}

/** Each time from the first entry on, until the business has so many entries. */
async function auditedWith(count: number, configs: readonly string[], ...more: string[]) {
  for (let round = 0; ; round += 1) {
    const made = await audited(`from-start-${Math.random()}`, configs, ...more);
    if (made.entries.length >= count || round > 40) return made;
    await wait(250);
  }
}

async function done(...words: string[]): Promise<void> {
  const { code, output } = await svc(...words);
  expect(code, output).toBe(0);
}

const loaf = {
  schema: "svc/products/1",
  language: "en",
  countries: ["GB"],
  business_product_id: "loaf-one",
  product_name: "Audited loaf",
  brand: "Mine",
  tags: ["bread"],
  vertical: "food_drink",
  category: "fresh_food",
  channel: "in_store",
  short_description: "A loaf of spelt.",
  prices: [{ country: "GB", currency: "GBP", amount: "4.80" }],
  on_sale: false,
  availability: "in_stock",
  product_url: "https://audited-bakery.example/loaf",
};

it("accounts for what the business did, and names what it did not", async () => {
  await done("grant", "--name", "Audited Bakery", "--country", "GB", "--out", file("business.json"));
  await writeFile(file("loaf.ndjson"), `${JSON.stringify(loaf)}\n`);
  await done("push", file("loaf.ndjson"), "--config", file("business.json"));
  await done("withdraw", "loaf-one", "--config", file("business.json"));
  // Two keys, the certificate, the push and its withdrawal.
  const own = await auditedWith(5, ["business.json"]);
  expect(own).toMatchObject({ exit: 0, valid: true, unaccounted: [], unaccounted_more: 0 });
  const looked = own.to_look_at.map((each) => (each as { leaf_type: string }).leaf_type);
  expect(looked).toContain("certificate");
  expect(own.entries.filter(({ leaf_type }) => leaf_type === "seal")).toHaveLength(2);

  // The same log, with nothing known of the seals.
  await rename(file("own-seals.txt"), file("elsewhere.txt"));
  await rename(file("pushes"), file("pushes-elsewhere"));
  const unknown = await audited("unknown", ["business.json"]);
  expect(unknown).toMatchObject({ exit: 1, valid: true, code: "entries_unaccounted" });
  expect(unknown.unaccounted.map(({ leaf_type }) => leaf_type)).toEqual(["seal", "seal"]);
  // It was told, and the log is whole: the next audit goes on from there.
  expect(await audited("unknown", ["business.json"])).toMatchObject({ exit: 0, unaccounted: [] });
  const listed = await audited("listed", ["business.json"], "--leaves", file("elsewhere.txt"));
  expect(listed).toMatchObject({ exit: 0, unaccounted: [] });
  await rename(file("elsewhere.txt"), file("own-seals.txt"));

  await done("grant", "--join", "--config", file("business.json"), "--out", file("second.json"));
  // The service registers a key with its first use.
  await writeFile(file("more.ndjson"), `${JSON.stringify({ ...loaf, business_product_id: "loaf-two" })}\n`);
  await done("push", file("more.ndjson"), "--config", file("second.json"));
  const other = await auditedWith(own.entries.length + 2, ["business.json"]);
  expect(other).toMatchObject({ exit: 1, code: "entries_unaccounted" });
  expect(new Set(other.unaccounted.map(({ leaf_type }) => leaf_type))).toEqual(new Set(["key_event"]));
  expect(await auditedWith(own.entries.length + 2, ["business.json", "second.json"])).toMatchObject({
    exit: 0,
    unaccounted: [],
  });
  const uuid = "00000000-0000-4000-8000-000000000000";
  const wrong = await svc("log", "audit", "--sandbox", "--business", uuid, "--config", file("business.json"));
  expect(wrong).toMatchObject({ code: 2, output: expect.stringContaining("is not of the business") });
});

it("takes a checkpoint that the named witnesses cosigned, and refuses one that others had to cosign", async () => {
  const policy = await (await fetch(`${node.urls.verify_url}/v1/log/witnesses`)).text();
  await writeFile(file("witnesses.json"), policy);
  expect(await audit(["--json", "--witnesses", file("witnesses.json")])).toMatchObject({ code: 0 });
  const stranger = verifierKeyOf(noteKey("witness.test/w1", "cosignature", 1), sha256);
  const asked = { quorum: 1, witnesses: [{ name: "witness.test/w1", key: stranger }] };
  await writeFile(file("strangers.json"), JSON.stringify(asked));
  expect(await audit(["--json", "--witnesses", file("strangers.json")])).toMatchObject({
    code: 1,
    out: expect.stringContaining('"code":"checkpoint_invalid"'),
  });
  await writeFile(file("none.json"), "{}");
  expect(await audit(["--witnesses", file("none.json")])).toMatchObject({ code: 2 });
});

describe("with --follow", () => {
  let mood: "away" | "true" | "lies" = "away";
  let asked = 0;
  const proxy = createServer(async (request, response) => {
    asked += 1;
    if (mood === "away") return void response.writeHead(503).end();
    const path = request.url ?? "/";
    if (mood === "lies" && path === "/checkpoint") return void response.end("nothing");
    const answer = await fetch(`${node.urls.verify_url}${path}`);
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  });
  beforeAll(() => new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve)));
  afterAll(() => proxy.close());

  function start() {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const words = ["log", "audit", "--sandbox", "--home", home, "--url", url, "--json", "--follow"];
    const state = file(`follow-${Math.random()}.json`);
    const child = spawn(process.execPath, ["cli/main.ts", ...words, "--interval", "1", "--state", state], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { out: "", err: "" };
    child.stdout.on("data", (chunk) => (said.out += String(chunk)));
    child.stderr.on("data", (chunk) => (said.err += String(chunk)));
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    return { child, said, ended, state };
  }
  const lines = ({ out }: { out: string }) => out.split("\n").filter((line) => line !== "");
  const until = (isSo: () => boolean) => vi.waitUntil(isSo, { timeout: 30_000, interval: 50 });

  it("tries again while the log is away, says each new checkpoint once, and ends by a fault's code", async () => {
    mood = "away";
    const { said, ended } = start();
    await until(() => said.err.includes("Trying again in 2 s"));
    mood = "true";
    await until(() => lines(said).length === 1);
    const before = asked;
    await until(() => asked > before + 4);
    expect(JSON.parse(lines(said).at(-1) ?? "")).toMatchObject({ valid: true, from: 0 });
    await node.services.actors.ask(logRef(), {
      type: "log.append",
      entries: [{ leaf: formatHash(sha256(utf8("further"))), leaf_type: "seal", subject: "b" }],
    });
    await until(() => lines(said).length >= 2);
    const [first, next] = lines(said).map((line) => JSON.parse(line));
    expect(next).toMatchObject({ valid: true, from: first.size });
    mood = "lies";
    expect(await ended).toBe(1);
    expect(JSON.parse(lines(said).at(-1) ?? "")).toMatchObject({ code: "checkpoint_malformed" });
  });

  it("ends by a signal, with its state kept", async () => {
    mood = "true";
    const { child, said, ended, state } = start();
    await until(() => lines(said).length === 1 && existsSync(state));
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(JSON.parse(await readFile(state, "utf8"))).toMatchObject({ version: 1 });
  });
});
