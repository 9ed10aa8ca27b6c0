// Runs docs/keys.md: its commands in order, in a separate folder, around a production node that stays up throughout. The
// offline verifier judges what the node signed, after each ceremony and under every later key set.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { createSigner } from "../../crypto/private-jwk.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { receiptPayload } from "../../protocol/receipt.fixture.ts";
import { openReceipt } from "../../protocol/receipt.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import {
  judge,
  type KeptAnswers,
  type ProductionParties,
  publishAndAsk,
  registerParties,
  startProductionNode,
} from "../../stories/operators/production-node.fixture.ts";
import { root } from "../../tools/process.ts";
import type { RunningNode } from "../composition/start.ts";
import { playedBlocks, shellPrelude } from "./runbook.fixture.ts";

const region = "eu-west1";
const takeOverMs = 20_000;
const sections = await playedBlocks("keys.md");
let folder: string;
let node: RunningNode;
let parties: ProductionParties;
let issuance: ChildProcess | null = null;
const kept: KeptAnswers[] = [];
let keySet = "";

async function play(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-c", shellPrelude + script], {
    cwd: folder,
    env: quiet(),
  });
  return stdout;
}

function quiet(): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(([name]) => !/^(SVC_|VITEST|NODE_)/.test(name));
  return { ...Object.fromEntries(env), NO_COLOR: "1" };
}

/** Starts the node that `script` runs, in place of the previous one. */
async function serve(script: string): Promise<void> {
  await stop();
  const command = script
    .trim()
    .replace(/^svc /, `exec "${process.execPath}" "${join(root, "cli", "main.ts")}" `);
  const child = spawn("bash", ["-c", command], {
    cwd: folder,
    env: quiet(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  issuance = child;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.stdout.on("data", (chunk: Buffer) =>
    /^Issuing with/.test(chunk.toString()) ? resolve() : undefined,
  );
  child.once("exit", (code) => reject(new Error(`the issuance process ended with ${code}`)));
  await promise;
}

async function stop(): Promise<void> {
  const child = issuance;
  issuance = null;
  if (child === null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** Runs the commands under a title; returns their output. */
async function playSection(title: string): Promise<string> {
  const blocks = sections.get(title);
  if (blocks === undefined || blocks.length === 0)
    throw new Error(`docs/keys.md has no commands under ${title}`);
  played.add(title);
  // The script's times are in whole seconds; what was signed earlier is from the previous second.
  await nextSecond();
  let said = "";
  for (const { kind, script } of blocks) {
    if (kind === "service") await serve(script);
    else if (kind === "") said += await play(script);
  }
  return said;
}

const played = new Set<string>();

async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  while (Math.floor(Date.now() / 1_000) === second) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Resolves once the node has adopted the set in its folder on its own. */
async function takenOver(): Promise<void> {
  keySet = await readFile(join(folder, region, "key-set.json"), "utf8");
  const lateMs = Date.now() + takeOverMs;
  for (;;) {
    const served = await (await contractFetch(`${node.urls.verify_url}/.well-known/keys`)).text();
    if (served === keySet) return;
    if (Date.now() > lateMs) throw new Error("the node did not take over the key set");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function judgeNow(answers: KeptAnswers, anchors = "anchors.json") {
  return judge(answers, { anchorsText: await readFile(join(folder, anchors), "utf8"), keySetText: keySet });
}

/** Requests something new from the node, and judges everything that it ever returned. */
async function expectAllHold(anchors: readonly string[] = ["anchors.json"]): Promise<void> {
  kept.push(await publishAndAsk(node, parties));
  for (const file of anchors) for (const answers of kept) expect(await judgeNow(answers, file)).toEqual({});
}

function receiptOf({ searched }: KeptAnswers): Envelope {
  return JSON.parse(searched).search.receipt as Envelope;
}

function receiptKeyOf(answers: KeptAnswers): string {
  return receiptOf(answers).signatures[0]?.keyid ?? "";
}

/** What a thief of the receipt key makes of an answer: a receipt for a minute from now. */
async function forge(answers: KeptAnswers): Promise<KeptAnswers> {
  const genuine = receiptOf(answers);
  const receipt = openReceipt(genuine);
  if (!receipt.ok) throw new Error(receipt.detail);
  const payload = receiptPayload({ ...receipt.value, served_at: formatTimestamp(Date.now() + 60_000) });
  const store = await FileKeyStore.open(join(folder, region));
  for (const name of await store.names()) {
    const jwk = await store.load(name);
    if (jwk === null) continue;
    const signer = createSigner(jwk);
    if (signer.keyId !== receiptKeyOf(answers)) continue;
    const forged = await signEnvelope(genuine.payloadType, payload, [signer]);
    const searched = answers.searched.replace(JSON.stringify(genuine), JSON.stringify(forged));
    return { ...answers, searched };
  }
  throw new Error("the receipt key is not in the folder");
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-runbook-"));
});
afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await stop();
  await rm(folder, { recursive: true, force: true });
});

describe("docs/keys.md", () => {
  it("brings a production node up, whose answers verify under the anchors", async () => {
    for (const title of ["The root", "The issuance pair", "Working keys and the first key set"])
      await playSection(title);
    const said = await play("svc keys show key-set-1.json --anchors anchors.json");
    expect(said).toMatch(/^Issued at \S+; verifies under production anchors\.$/m);
    expect(said.match(/ pinned$/gm)).toHaveLength(2);
    expect(said).toMatch(/^receipt eu-west1 +\S{43} Ed25519 +valid until/m);
    await playSection("The issuance process");
    const settings = sections.get("The issuance process")?.find(({ kind }) => kind === "settings");
    const env = (await play(`${settings?.script}env`)).split("\n").filter((line) => line.startsWith("SVC_"));
    const given = Object.fromEntries(env.map((line) => line.split(/=(.*)/s).slice(0, 2)));
    node = await startProductionNode(join(folder, "home"), region, given);
    parties = await registerParties(node);
    keySet = await readFile(join(folder, region, "key-set.json"), "utf8");
    await expectAllHold();
    const log = (await readFile(join(folder, "issuance-audit.log"), "utf8")).trim().split("\n");
    expect(log.map((line) => JSON.parse(line).asked_by)).toEqual(log.map(() => "eu-west1-a"));
  });

  it("shows nobody else a private half", async () => {
    for (const kept of ["offline/root-1", "issuance-1", region]) {
      for (const name of (await readdir(join(folder, kept))).filter((each) => each.endsWith(".jwk")))
        expect((await stat(join(folder, kept, name))).mode & 0o777).toBe(0o600);
    }
  });

  it("rotates working keys while the node serves", async () => {
    const before = receiptKeyOf(kept.at(-1) as KeptAnswers);
    await playSection("Working keys rotate");
    await takenOver();
    await expectAllHold();
    expect(receiptKeyOf(kept.at(-1) as KeptAnswers)).not.toBe(before);
    const files = (await readdir(join(folder, region))).filter((name) => name.endsWith(".jwk"));
    expect(files).toHaveLength(6);
  });

  it("ends what a compromised key says from then on, and nothing else", async () => {
    const forged = await forge(kept.at(-1) as KeptAnswers);
    expect(await judgeNow(forged)).toEqual({});
    await playSection("A working key is compromised");
    await takenOver();
    await expectAllHold();
    expect(await judgeNow(forged)).toMatchObject({ receipt: "key_compromised" });
  });

  it("rotates the issuance pair, ends the old one, and survives its compromise", async () => {
    for (const title of ["The issuance pair rotates", "The issuance pair is compromised"]) {
      await playSection(title);
      await takenOver();
      parties = await registerParties(node);
      await expectAllHold();
    }
  });

  it("lets a root follow a root, and survives the compromise of the first", async () => {
    for (const title of ["A root succeeds another", "A root is compromised"]) {
      await playSection(title);
      await takenOver();
      await expectAllHold(["anchors.json", "anchors-2.json"]);
    }
  });

  it("is played to the end", async () => {
    await playSection("The cluster's secret");
    expect((await readFile(join(folder, "cluster-secret-2"), "utf8")).trim().length).toBeGreaterThanOrEqual(
      32,
    );
    expect([...sections].filter(([title, blocks]) => blocks.length > 0 && !played.has(title))).toEqual([]);
  });
});
