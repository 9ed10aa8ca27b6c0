// A production node is killed again and again while an AI company asks, runs out of money and pays in: the ledger is exact to the
// last millionth all the same, and equal to the usage and to the receipts.

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { createSvcClient, type SvcClient } from "../client/service-client.ts";
import { signedIn } from "../ops/sign-in.fixture.ts";
import { root } from "../tools/process.ts";
import { type BilledNode, billedRegion, openBilledNode } from "./billed-node.fixture.ts";

const lives = 5;
const askersAtOnce = 8;
let billed: BilledNode;
let child: ChildProcess | null = null;

beforeAll(async () => {
  billed = await openBilledNode();
});
afterAll(async () => {
  child?.kill("SIGKILL");
  await billed.close();
});

interface Life {
  readonly client: SvcClient;
  readonly opsUrl: string;
  kill(): Promise<void>;
}

/** The node as a process of its own, on the same home. */
async function live(): Promise<Life> {
  const env = {
    ...process.env,
    ...billed.settings,
    ...{
      SVC_ENVIRONMENT: "production",
      SVC_REGION: billedRegion,
      SVC_LOG_TO: "file",
      SVC_DOMAIN_CHECKS: "no",
    },
  };
  const args = [
    "cli/main.ts",
    "start",
    "--home",
    billed.home,
    "--port-base",
    String(30_000 + 5 * randomInt(2_000)),
  ];
  const started = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  child = started;
  const baseUrl = await new Promise<string>((resolve, reject) => {
    let text = "";
    started.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const [, url] = /running: (\S+)/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    started.once("exit", (code) => reject(new Error(`the node ended with ${code}: ${text}`)));
  });
  const key = billed.parties.company;
  const urls = { baseUrl, businessUrl: baseUrl, verifyUrl: baseUrl };
  return {
    client: createSvcClient({ fetch: (url, init) => fetch(url, init), key, ...urls }),
    opsUrl: (await readFile(join(billed.home, "ops-url"), "utf8")).trim(),
    kill: async () => {
      const ended = new Promise((resolve) => started.once("exit", resolve));
      started.kill("SIGKILL");
      await ended;
      child = null;
    },
  };
}

async function payIn(opsUrl: string, entryId: string, amount: string): Promise<void> {
  const token = (await readFile(join(billed.home, "ops-token"), "utf8")).trim();
  const entry = { kind: "top_up", amount, currency: "EUR", reason: "invoice" };
  const path = `/ops/ledgers/${company}/entries`;
  // Sent twice, as after a lost answer: it is made once.
  for (let time = 0; time < 2; time += 1) {
    const answer = await fetch(`${opsUrl}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: signedIn(token) },
      body: JSON.stringify({ entry_id: entryId, ...entry }),
    });
    expect(answer.status).toBe(200);
  }
}

let company = "";
const seen = { searches: 0, fetches: 0, exhausted: 0 };

/** Asks until the node is gone or the money is. */
async function ask({ client }: Life): Promise<void> {
  const { brand, recordId } = billed.found;
  const query = {
    ...{ collection: "products", sort_by: "published_at:desc" },
    filter: { all: [{ country: "US" }, { brand }] },
  };
  for (;;) {
    try {
      await client.search(query);
      seen.searches += 1;
      if (seen.searches % 7 === 0) {
        await client.fetchRecord(recordId);
        seen.fetches += 1;
      }
    } catch (error) {
      if (error instanceof SvcConnectionError) return;
      if (!(error instanceof SvcProblemError)) throw error;
      if (error.code !== "allowance_exhausted" && error.status < 500) throw error;
      if (error.code !== "allowance_exhausted") continue;
      seen.exhausted += 1;
      return;
    }
  }
}

describe("a ledger", () => {
  it("is exact after every crash, and equal to the usage and to the receipts", {
    timeout: 300_000,
  }, async () => {
    company = await billed.companyUuid();
    await billed.stop();
    for (let turn = 0; turn < lives; turn += 1) {
      const life = await live();
      await payIn(life.opsUrl, `payment-${turn}`, turn === lives - 1 ? "3" : "12.5");
      const asking = Array.from({ length: askersAtOnce }, () => ask(life));
      // The last life spends what there is; the others end in the middle of it, at another moment each time.
      if (turn < lives - 1) {
        await new Promise((resolve) => setTimeout(resolve, 150 + randomInt(600)));
        await life.kill();
      }
      await Promise.all(asking);
      if (turn === lives - 1) await life.kill();
    }
    expect(seen.searches).toBeGreaterThan(50);
    expect(seen.exhausted).toBeGreaterThan(0);
    await billed.start();
    await billed.charge();
    const { body: usage } = await billed.asker.usage();
    const billable = (kind: string): number =>
      usage.usage.reduce((sum, line) => sum + (line.kind === kind ? line.billable : 0), 0);
    let receipts = 0;
    for (let cursor: string | null = null, more = true; more; ) {
      const page = await billed.asker.receiptsPage({ ...(cursor === null ? {} : { cursor }), limit: 50 });
      receipts += page.body.receipts.filter((each) => each.billable).length;
      cursor = page.body.next_cursor;
      more = cursor !== null;
    }
    expect(receipts).toBe(billable("search") + billable("fetch"));
    // What was answered is there; what was killed in between may have a receipt that nobody got.
    expect(billable("search")).toBeGreaterThanOrEqual(seen.searches);
    expect(billable("fetch")).toBeGreaterThanOrEqual(seen.fetches);
    const paidIn = 12_500_000 * (lives - 1) + 3_000_000;
    const charged = 100_000 * billable("search") + 1_000_000 * billable("fetch");
    const { account } = (await billed.asker.allowance()).body;
    expect(Math.round(1e6 * Number(account?.balance))).toBe(paidIn - charged);
    expect(account).toMatchObject({ reserved: "0" });
    expect(paidIn - charged).toBeGreaterThanOrEqual(0);
    const month = new Date(billed.running.services.clock.now()).toISOString().slice(0, 7);
    expect((await billed.asker.statement(month)).body).toMatchObject({ closing: account?.balance });
  });
});
