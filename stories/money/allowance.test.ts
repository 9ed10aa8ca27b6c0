// The prepaid allowance of an AI company on a production node over HTTP: what is served is paid, charged once, and shown to the
// last millionth.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { SvcProblemError } from "../../client/errors.ts";
import type { listHistory } from "../../ops/shapes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { Of } from "../../protocol/shape.ts";
import { type BilledNode, openBilledNode, prices } from "./billed-node.fixture.ts";

let billed: BilledNode;

beforeAll(async () => {
  billed = await openBilledNode();
});
afterAll(() => billed.close());

const entry = (amount: string, entry_id: string, changes: object = {}) => ({
  entry_id,
  kind: "top_up",
  amount,
  currency: "EUR",
  reason: "invoice",
  ...changes,
});
const enter = async (amount: string, entry_id: string, changes: object = {}) =>
  billed.ops(`/ops/ledgers/${await billed.companyUuid()}/entries`, entry(amount, entry_id, changes));

const search = (brand = billed.found.brand) =>
  billed.asker.search({
    collection: "products",
    sort_by: "published_at:desc",
    filter: { all: [{ country: "US" }, { brand }] },
  });
const fetchIt = (recordId = billed.found.recordId) => billed.asker.fetchRecord(recordId);

async function codeOf(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return "served";
  } catch (error) {
    if (error instanceof SvcProblemError) return error.code;
    throw error;
  }
}

describe("an AI company", () => {
  it("is served nothing that is charged before it has paid in, and everything that is free", async () => {
    expect(await codeOf(search())).toBe("allowance_exhausted");
    expect(await codeOf(fetchIt())).toBe("allowance_exhausted");
    const free = { collection: "business_files", sort_by: "published_at:desc" } as const;
    expect(await codeOf(billed.asker.search({ ...free, filter: { all: [{ country: "US" }] } }))).toBe(
      "served",
    );
    expect(await billed.asker.allowance()).toMatchObject({
      body: { billed: true, account: null, prices: { currency: "EUR", versions: [{ fetch: "1" }] } },
    });
    const pool = { country: "US", keywords: ["shoes"], sort_by: "random:asc" };
    expect(await codeOf(billed.asker.adPool(pool))).toBe("served");
    const { asker } = billed;
    for (const read of [asker.receiptsPage(), asker.usage(), asker.eventsPage()])
      expect(await codeOf(read)).toBe("served");
    expect(await codeOf(billed.asker.statement("2026-11"))).toBe("not_found");
  });

  it("is served until its money is spent, and again once it has paid in", async () => {
    expect(await enter("2.5", "payment-1")).toMatchObject({
      status: 200,
      json: { account: { currency: "EUR", balance: "2.5", available: "2.5" } },
    });
    await expect.poll(() => codeOf(search()), { timeout: 10_000 }).toBe("served");
    expect(await codeOf(fetchIt())).toBe("served");
    expect(await codeOf(fetchIt())).toBe("served");
    expect(await codeOf(search())).toBe("served");
    expect(await codeOf(fetchIt())).toBe("allowance_exhausted");
    // 0.3 is left: neither a search without rows nor a record that does not exist costs any of it.
    for (let time = 0; time < 5; time += 1) expect(await codeOf(search("no such brand"))).toBe("served");
    expect(await enter("1", "payment-2")).toMatchObject({ status: 200 });
    expect(await codeOf(fetchIt(`svc_${"a".repeat(26)}`))).toMatch(/not_found|allowance_exhausted/);
    await expect.poll(() => codeOf(fetchIt()), { timeout: 10_000 }).toBe("served");
    expect(await codeOf(fetchIt(`svc_${"a".repeat(26)}`))).toBe("allowance_exhausted");
  });

  it("is charged exactly for the receipts that it was given, once, across a restart", async () => {
    await billed.charge();
    const { body: usage } = await billed.asker.usage();
    const billable = usage.usage.reduce((sum, { billable }) => sum + billable, 0);
    expect(billable).toBe(5);
    const { body } = await billed.asker.allowance();
    expect(body.account).toMatchObject({ balance: "0.3", reserved: "0" });
    await expect.poll(() => codeOf(search()), { timeout: 10_000 }).toBe("served");
    await billed.charge();
    expect((await billed.asker.allowance()).body.account).toMatchObject({ balance: "0.2", reserved: "0" });
  });

  it("is read month by month, as JSON and as CSV, and the statements sum to the account", async () => {
    const month = formatTimestamp(billed.running.services.clock.now()).slice(0, 7);
    const { body } = await billed.asker.statement(month);
    expect(body).toMatchObject({
      opening: "0",
      entered: "3.5",
      charged: "3.3",
      closing: "0.2",
      is_final: false,
    });
    // A line is of one day, and midnight may have passed.
    const charged = new Map<string, number>();
    for (const { kind, collection, price, count, amount } of body.lines) {
      expect(Number(amount)).toBeCloseTo(count * Number(price));
      const name = `${kind} ${collection} at ${price}`;
      charged.set(name, (charged.get(name) ?? 0) + count);
    }
    expect(Object.fromEntries(charged)).toMatchObject({ "fetch null at 1": 3, "search products at 0.1": 3 });
    expect(body.entries.map(({ entry_id, amount }) => [entry_id, amount])).toEqual([
      ["payment-1", "2.5"],
      ["payment-2", "1"],
    ]);
    const { text, headers } = await billed.asker.statementCsv(month);
    expect(headers.get("content-type")).toMatch(/^text\/csv/);
    const rows = text.trimEnd().split("\r\n").slice(1);
    const amounts = rows.map((row) => Math.round(1e6 * Number(row.split(",")[6])));
    expect(amounts.slice(0, -1).reduce((sum, each) => sum + each, 0)).toBe(amounts.at(-1));
    expect(await codeOf(billed.asker.statement("2026-13"))).toBe("request_invalid");
    expect((await billed.asker.statement("2020-01")).body).toMatchObject({ opening: "0", closing: "0" });
  });
});

describe("an operator", () => {
  it("makes an entry once under its id, and corrects it", async () => {
    expect(await enter("1", "payment-2")).toMatchObject({ json: { account: { balance: "0.2" } } });
    expect(await enter("2", "payment-2")).toMatchObject({ status: 400, json: { reason: "entry_id_used" } });
    const correction = { kind: "correction", reason: "refund" };
    expect(await enter("-0.1", "c1", correction)).toMatchObject({ json: { account: { balance: "0.1" } } });
    const company = await billed.companyUuid();
    expect(await billed.ops(`/ops/ledgers/${company}`)).toMatchObject({
      json: { account: { balance: "0.1" } },
    });
    const month = formatTimestamp(billed.running.services.clock.now()).slice(0, 7);
    expect(await billed.ops(`/ops/ledgers/${company}/statements/${month}`)).toMatchObject({
      json: { statement: { entries: [{}, {}, { entry_id: "c1", by: "Ada at the desk", reason: "refund" }] } },
    });
  });

  it("sees which accounts run low, what was used, and in the metrics which of them to look at", async () => {
    const company_uuid = await billed.companyUuid();
    const { json } = await billed.ops("/ops/ledgers");
    expect(json).toMatchObject({
      accounts: [
        {
          company_uuid,
          balance: "0.1",
          used_last_day: "3.3",
          days_left: 0,
          is_low: true,
          last_top_up: { amount: "1" },
        },
      ],
      next_after: null,
      is_complete: true,
    });
    const low = `svc_account_left_seconds{company="${company_uuid}"} 0`;
    const metrics = async () => (await fetch(`${billed.running.urls.ops_url}/metrics`)).text();
    expect(await metrics()).toContain(low);
    await enter("100", "listed");
    expect(await billed.ops(`/ops/ledgers?after=${company_uuid}`)).toMatchObject({ json: { accounts: [] } });
    expect(await billed.ops("/ops/ledgers")).toMatchObject({
      json: { accounts: [{ balance: "100.1", days_left: 30, is_low: false }] },
    });
    expect(await metrics()).not.toContain("svc_account_left_seconds{");
    await enter("-100", "delisted", { kind: "correction" });
  });

  it.each<readonly [string, string, object, number, string | undefined]>([
    ["a top-up of nothing", "0", {}, 400, "amount_not_allowed"],
    ["a negative top-up", "-1", {}, 400, "amount_not_allowed"],
    ["another currency", "1", { currency: "USD" }, 400, "currency_mismatch"],
    ["a millionth more than an account holds", "999999999.900001", {}, 400, "amount_not_allowed"],
    ["an amount with seven decimals", "0.0000001", {}, 400, undefined],
    ["an amount with an exponent", "1e3", {}, 400, undefined],
    ["an id that a spreadsheet would run", "1", { entry_id: "=1+1" }, 400, undefined],
    ["the name of somebody else than who signed in", "1", { by: "Bob" }, 400, undefined],
  ])("is refused %s", async (_what, amount, changes, status, reason) => {
    expect(await enter(amount, "x", changes)).toMatchObject({
      status,
      json: { code: "request_invalid", ...(reason === undefined ? {} : { reason }) },
    });
  });

  it("is told of a company that is none, and of an account that there is not", async () => {
    const business = billed.parties.businessUuid;
    expect(await billed.ops(`/ops/ledgers/${business}/entries`, entry("1", "x"))).toMatchObject({
      status: 404,
    });
    expect(await billed.ops(`/ops/ledgers/${business}`)).toMatchObject({ status: 404 });
    expect(await billed.ops(`/ops/ledgers/${business}/statements/2026-11`)).toMatchObject({ status: 404 });
    expect(await billed.ops(`/ops/ledgers/${business}/statements/2026`)).toMatchObject({ status: 400 });
  });
});

describe("a ledger that cannot be reached", () => {
  it("lets a node serve what it was lent, and refuses the rest with 503, which leaves no receipt", async () => {
    expect(await enter("40", "payment-3")).toMatchObject({ status: 200 });
    await expect.poll(() => codeOf(fetchIt()), { timeout: 10_000 }).toBe("served");
    const receipts = async () => (await billed.asker.receiptsPage({ limit: 200 })).body.receipts.length;
    const before = await receipts();
    const { actors } = billed.running.services;
    const ask = actors.ask.bind(actors);
    const lost = vi
      .spyOn(actors, "ask")
      .mockImplementation(((...asked: Parameters<typeof ask>) =>
        asked[0].kind === "ledger" ? Promise.reject(new Error("unreachable")) : ask(...asked)) as typeof ask);
    let served = 0;
    while ((await codeOf(fetchIt())) === "served") served += 1;
    const refusal = fetchIt().catch((error: unknown) => error);
    expect(await refusal).toMatchObject({ status: 503, code: "unavailable", retryAfterSeconds: 1 });
    expect(served).toBeLessThan(40);
    expect((await receipts()) - before).toBe(served);
    lost.mockRestore();
    await expect.poll(() => codeOf(fetchIt()), { timeout: 20_000 }).toBe("served");
  });
});

describe("prices that an operator sets", () => {
  const [first] = prices.versions;
  const at = (ms: number) => formatTimestamp(billed.now() + ms);
  const set = async (versions: readonly unknown[], currency = "EUR") => {
    const { json } = await billed.ops("/ops/lists/prices");
    const { list } = json as Of<typeof listHistory>;
    const text = JSON.stringify({ currency, versions });
    return billed.ops("/ops/lists/prices/set", { text, expected: list.version, reason: "Board" });
  };
  const second = (ms: number) => ({ ...first, version: 2, effective_from: at(ms), fetch: "2" });
  const shown = async () => (await billed.asker.allowance()).body.prices?.versions.map(({ fetch }) => fetch);

  it.each<readonly [string, () => Promise<unknown>, RegExp]>([
    ["change one that was in force", () => set([{ ...first, fetch: "0.5" }]), /version 1 is or was in force/],
    ["leave one out that was in force", () => set([second(120_000)]), /version 1 is or was in force/],
    ["begin before now", () => set([first, second(-1)]), /\/versions\/1 is new and begins at/],
    ["begin at once", () => set([first, second(30_000)]), /begin more than a minute from now/],
    ["are in another currency", () => set([first], "USD"), /\/currency is USD/],
  ])("are refused where they %s", async (_what, asked, detail) => {
    expect(await asked()).toMatchObject({
      status: 400,
      json: { code: "request_invalid", detail: expect.stringMatching(detail) },
    });
    expect(await shown()).toEqual(["1"]);
  });

  it("charge from their first moment on, on a node that has no file as well", async () => {
    expect(await set([first, second(120_000)])).toMatchObject({
      status: 200,
      json: { changed: true, list: { source: "act", holds: "2 versions of the prices in EUR" } },
    });
    expect(await shown()).toEqual(["1", "2"]);
    delete billed.settings["SVC_PRICES"];
    await billed.charge();
    expect(await shown()).toEqual(["1", "2"]);
    expect(await enter("10", "payment-4")).toMatchObject({ status: 200 });
    const balance = async () => Number((await billed.asker.allowance()).body.account?.balance);
    const before = await balance();
    await expect.poll(() => codeOf(fetchIt()), { timeout: 20_000 }).toBe("served");
    await billed.charge();
    expect(await balance()).toBeCloseTo(before - 2);
    expect(await set([first, { ...second(0), effective_from: at(0) }])).toMatchObject({ status: 400 });
  });
});
