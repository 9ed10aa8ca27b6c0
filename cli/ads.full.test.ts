// `svc ads`, `svc ledger` and `svc allowance` against a running sandbox, as their users type them.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adRecord, campaignRecord } from "../stories/ads/ads.fixture.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
  await writeFile(join(sandbox.home, "campaign.json"), JSON.stringify(campaignRecord(Date.now())));
  await writeFile(join(sandbox.home, "ad.json"), JSON.stringify(adRecord("first")));
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const svc = (...words: readonly string[]) => sandbox.svc(...words);
const file = (name: string): string => join(sandbox.home, name);

describe("svc ads", () => {
  it("publishes a campaign and an ad, asks for a pool, and confirms a render and a click", async () => {
    expect(await svc("ads", "publish", file("campaign.json"))).toMatchObject({
      code: 0,
      output: "spring  running\n",
    });
    const published = await svc("ads", "publish", file("ad.json"));
    expect(published.output).toMatch(/^ad_[a-z2-7]{26} {2}version 1, live\n$/);
    const pool = await vi.waitFor(
      async () => {
        const found = await svc("ads", "pool", "running shoes", "--session", "chat-1");
        expect(found.code, found.output).toBe(0);
        return found;
      },
      { timeout: 30_000 },
    );
    expect(pool.output).toContain("Shoes for first");
    const saved = await svc("ads", "pool", "running shoes", "--save", file("pool.json"));
    expect(saved.output, saved.output).toContain("Saved. Verify it offline with: svc verify ");
    const verified = await svc("verify", file("pool.json"), "--sandbox");
    expect(verified, verified.output).toMatchObject({ code: 0, output: expect.stringMatching(/^Valid\.$/m) });
    const [, token = ""] = /(svc_adr1\.\S+)/.exec(pool.output) ?? [];
    const rendered = await svc("ads", "render", token, "--format", "card");
    expect(rendered).toMatchObject({ code: 0, output: expect.stringContaining("Sponsored: ") });
    const [, click = ""] = /(svc_adc1\.\S+)/.exec(rendered.output) ?? [];
    expect((await svc("ads", "click", click)).output).toMatch(/^ad_\S+ clicked at /);
    await vi.waitFor(
      async () => expect((await svc("ads", "pool", "running shoes", "--session", "chat-1")).code).toBe(1),
      { timeout: 30_000 },
    );
  });

  it.each<readonly [string, readonly string[], RegExp]>([
    ["no subject", ["pool"], /at least one subject/],
    ["a format that there is not", ["render", "svc_adr1.a.b", "--format", "hologram"], /--format is one of/],
    ["a file that is not there", ["publish", "/no/such/file"], /cannot be read/],
  ])("says how to put right %s", async (_what, words, said) => {
    const { code, output } = await svc("ads", ...words);
    expect([code, said.test(output)], output).toEqual([2, true]);
  });
});

describe("svc ledger and svc allowance", () => {
  it("pay in, correct and show an account to operators and to its company", async () => {
    const { ai_companies } = JSON.parse(await readFile(file("sandbox.json"), "utf8")) as {
      readonly ai_companies: readonly { readonly ai_company_uuid: string }[];
    };
    const uuid = ai_companies[0]?.ai_company_uuid ?? "";
    const act = ["--currency", "EUR", "--by", "Ada", "--reason", "invoice 4711"];
    const paid = await svc("ledger", "top-up", uuid, "250", "--id", "payment-1", ...act);
    expect(paid.output, paid.output).toBe("balance 250 EUR, of which 0 is reserved: 250 is available\n");
    await svc("ledger", "top-up", uuid, "250", "--id", "payment-1", ...act);
    const corrected = await svc("ledger", "correct", uuid, "2.5", "--id", "c1", ...act);
    expect(corrected.output, corrected.output).toContain("balance 252.5 EUR");
    expect((await svc("ledger", "show", uuid)).output).toContain("balance 252.5 EUR");
    const month = new Date().toISOString().slice(0, 7);
    expect((await svc("ledger", "statement", uuid, month)).output).toMatch(/closing +not final +252\.5/);
    expect((await svc("allowance")).output).toBe(
      "Nothing is charged here.\navailable 252.5 EUR (balance 252.5, reserved 0)\n",
    );
    expect((await svc("allowance", month, "--csv")).output).toContain("top_up,");
    expect((await svc("ledger", "drain", uuid)).code).toBe(2);
  });
});
