// An AI company's script against a production node with the embedded default, which is killed twice at random moments meanwhile: every
// answer verifies offline, and its receipts, its usage, its statement and its account agree to the last millionth.

import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testSeed } from "../../node/composition/cluster.fixture.ts";
import { parseAnchors } from "../../protocol/keys/anchors.ts";
import { freePorts, surfacePorts } from "../../tools/free-ports.ts";
import { root } from "../../tools/process.ts";
import { subjects } from "../ads/company-advertiser.fixture.ts";
import { type BilledNode, billedRegion, openBilledNode } from "../money/billed-node.fixture.ts";
import { type AiCompany, type Door, openAiCompany } from "./ai-company.fixture.ts";
import { enterPayment, tellCompanyStory } from "./company-story.fixture.ts";

const { random } = testSeed("an AI company on the embedded default", 20_261_124);
const brand = "Embedded";
let billed: BilledNode;
let child: ChildProcess | null = null;
let isInThisProcess = false;
let portBase = 0;
let company: AiCompany;

beforeAll(async () => {
  billed = await openBilledNode();
  await billed.stop();
  portBase = await freePorts(surfacePorts);
  await start();
  const anchors = parseAnchors(
    JSON.parse(await readFile(join(billed.settings["SVC_KEYS"] ?? "", "anchors.json"), "utf8")),
  );
  if (!anchors.ok) throw new Error(anchors.detail);
  company = openAiCompany({
    anchors: anchors.value,
    key: billed.parties.company,
    doors,
    brand,
    random,
    payIn,
    subject: subjects.many,
    now: () => billed.now(),
  });
});
afterAll(async () => {
  await kill();
  await billed.close();
});

/** The process, or in the end the node in this one. */
function doors(): readonly Door[] {
  if (isInThisProcess) {
    const { base_url: baseUrl, business_url: businessUrl, verify_url: verifyUrl } = billed.running.urls;
    return [{ region: billedRegion, baseUrl, businessUrl, verifyUrl }];
  }
  const [baseUrl = "", businessUrl = "", verifyUrl = ""] = surfaceUrls();
  return [{ region: billedRegion, baseUrl, businessUrl, verifyUrl }];
}

function surfaceUrls(): readonly string[] {
  return Array.from({ length: surfacePorts }, (_, at) => `http://127.0.0.1:${portBase + at}`);
}

/** The node as a process of its own, always on the same home and ports. */
async function start(): Promise<void> {
  const env = {
    ...process.env,
    ...billed.settings,
    SVC_ENVIRONMENT: "production",
    SVC_REGION: billedRegion,
    SVC_LOG_TO: "file",
    SVC_DOMAIN_CHECKS: "no",
  };
  const args = ["cli/main.ts", "start", "--home", billed.home, "--port-base", String(portBase)];
  const started = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  child = started;
  await new Promise<void>((resolve, reject) => {
    let text = "";
    started.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("running: ")) resolve();
    });
    started.once("exit", (code) => reject(new Error(`the node ended with ${code}: ${text}`)));
  });
}

async function kill(): Promise<void> {
  const running = child;
  if (running === null || running.exitCode !== null) return;
  const ended = new Promise((resolve) => running.once("exit", resolve));
  running.kill("SIGKILL");
  await ended;
  child = null;
}

const payIn = (entryId: string, amount: string): Promise<void> =>
  enterPayment({ company: billed.parties.companyUuid, entryId, amount }, () => [
    { url: surfaceUrls()[4] ?? "", token: () => readFile(join(billed.home, "ops-token"), "utf8") },
  ]);

describe("on the embedded default, an AI company", () => {
  it("verifies everything, runs out, pays in, and is charged exactly its receipts, whatever is killed", {
    timeout: 300_000,
  }, async () => {
    const settled = await tellCompanyStory({
      company,
      advertiser: { key: billed.parties.integration, owner: billed.parties.owner, brand },
      random,
      victims: Array.from({ length: 2 }, () => doors()[0]?.baseUrl ?? ""),
      disturb: async () => {
        await kill();
        await start();
      },
      later: async () => {
        await kill();
        isInThisProcess = true;
        await billed.startLater();
      },
    });
    expect(settled.reserved).toBe(0n);
  });
});
