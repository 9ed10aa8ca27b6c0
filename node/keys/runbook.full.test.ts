import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
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
import type { RunningNode } from "../composition/start.ts";
import { ceremonies, Runbook } from "./runbook.fixture.ts";

const region = "eu-west1";
const takeOverMs = 20_000;
let runbook: Runbook;
let folder: string;
let node: RunningNode;
let parties: ProductionParties;
const kept: KeptAnswers[] = [];
let keySet = "";

const play = (script: string): Promise<string> => runbook.play(script);
const playSection = (title: string): Promise<string> => runbook.playSection(title);

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
  runbook = await Runbook.open("keys.md");
  folder = runbook.folder;
});
afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await runbook?.[Symbol.asyncDispose]();
});

describe("docs/keys.md", () => {
  it("brings a production node up, whose answers verify under the anchors", async () => {
    for (const title of ceremonies.slice(0, 3)) await playSection(title);
    const said = await play("svc keys show key-set-1.json --anchors anchors.json");
    expect(said).toMatch(/^Issued at \S+; verifies under production anchors\.$/m);
    expect(said.match(/ pinned$/gm)).toHaveLength(2);
    expect(said).toMatch(/^receipt eu-west1 +\S{43} Ed25519 +valid until/m);
    await playSection("The issuance process");
    const given = await runbook.settings("The issuance process");
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
    expect(
      [...runbook.sections].filter(([title, blocks]) => blocks.length > 0 && !runbook.played.has(title)),
    ).toEqual([]);
  });
});
