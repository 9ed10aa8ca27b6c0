// How an AI company checks what it is charged, with what it is shown alone: its receipts, its usage, its account and its statements.
// For tests.
//   B1. Every listed receipt verifies, answers one request that the company signed, and no other receipt does; every answer that
//       the company had is in the list, and none that it was refused.
//   B2. The usage is the receipts, counted, to the last line and the last one.
//   B3. What is charged is the price of each billable receipt, summed exactly; so are the statement and its CSV.
//   B4. What was paid in is what is available, what is reserved and what is charged.

import { expect } from "vitest";
import type { OwnReceipt, SvcClient, UsageLine } from "../../client/service-client.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { decimalOf, millionthsOf } from "../../protocol/price-list.ts";
import type { AiCompany, Door } from "../retrieval/ai-company.fixture.ts";

const pageLimit = 40;
const pollMs = 500;

export interface Settled {
  readonly receipts: readonly OwnReceipt[];
  readonly billable: number;
  readonly charged: bigint;
  readonly available: bigint;
  readonly reserved: bigint;
}

/** Waits until everything that was served is charged, and compares everything with everything. */
export async function settleBooks(company: AiCompany, maxMs: number): Promise<Settled> {
  const doors = oneOfEachRegion(company.options.doors());
  const listed = await Promise.all(doors.map((door) => receiptsOf(company, door)));
  await untilCharged(company, listed.flat(), maxMs);
  const receipts = (await Promise.all(doors.map((door) => receiptsOf(company, door)))).flat();
  await judgeReceipts(company, receipts);
  for (const door of doors) await judgeUsage(company.client(door), { door, receipts });
  const charged = await judgeStatements(company, receipts);
  const { account } = await allowance(company);
  const [balance, reserved, available] = [account?.balance, account?.reserved, account?.available].map(
    (amount) => signed(amount ?? ""),
  ) as [bigint, bigint, bigint];
  const paidIn = sum(company.books.paidIn.map(millionthsOf));
  expect(decimalOf(balance)).toBe(decimalOf(paidIn - charged));
  expect(decimalOf(available + reserved + charged)).toBe(decimalOf(paidIn));
  for (const amount of [balance, reserved, available]) expect(amount >= 0n).toBe(true);
  const billable = receipts.filter((each) => each.billable).length;
  return { receipts, billable, charged, available, reserved };
}

function oneOfEachRegion(doors: readonly Door[]): readonly Door[] {
  return [...new Map(doors.map((door) => [door.region, door])).values()];
}

async function allowance({ patiently }: AiCompany) {
  return (await patiently((client) => client.allowance())).body;
}

/** All pages of a region, in the order of serving, none twice. */
async function receiptsOf(company: AiCompany, door: Door): Promise<readonly OwnReceipt[]> {
  const receipts: OwnReceipt[] = [];
  for (let cursor: string | null = null, more = true; more; ) {
    const query = { limit: pageLimit, ...(cursor === null ? {} : { cursor }) };
    const { body } = await company.client(door).receiptsPage(query);
    receipts.push(...(body.receipts as readonly OwnReceipt[]));
    cursor = body.next_cursor;
    more = cursor !== null;
  }
  const ids = receipts.map(({ retrieval_id }) => retrieval_id);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(receipts.every(({ region }) => region === door.region)).toBe(true);
  return receipts;
}

async function untilCharged(
  company: AiCompany,
  receipts: readonly OwnReceipt[],
  timeout: number,
): Promise<void> {
  const last = new Map<string, string>();
  for (const { region, served_at, billable } of receipts) if (billable) last.set(region, served_at);
  const missing = async (): Promise<readonly string[]> => {
    const { account } = await allowance(company);
    const before = new Map(account?.charged_before.map(({ region, at }) => [region, at]));
    return [...last].flatMap(([region, at]) => ((before.get(region) ?? "") > at ? [] : [region]));
  };
  await expect.poll(missing, { timeout, interval: pollMs }).toEqual([]);
}

/** See B1. */
async function judgeReceipts(company: AiCompany, receipts: readonly OwnReceipt[]): Promise<void> {
  const { books, options } = company;
  const verifier = await company.verifier();
  const requests = new Set<string>();
  for (const { receipt, retrieval_id: retrievalId, kind, billable, rows } of receipts) {
    const subject = { callerKeyId: options.key.keyId, retrievalId };
    const verdict = verifier.receipt(receipt as unknown as JsonValue, subject);
    expect(verdict, JSON.stringify(verdict)).toMatchObject({ ok: true });
    if (kind === "ad_pool") {
      expect(billable).toBe(false);
      continue;
    }
    const { request_hash: request } = payloadOf(receipt);
    expect(books.signed.has(request)).toBe(true);
    expect(requests.has(request)).toBe(false);
    expect(books.refused.has(request)).toBe(false);
    requests.add(request);
    expect(billable).toBe(rows > 0);
  }
  for (const request of books.answered.keys()) expect(requests.has(request)).toBe(true);
}

function payloadOf({ payload }: OwnReceipt["receipt"]): { readonly request_hash: string } {
  return JSON.parse(new TextDecoder().decode(parseBase64(payload) ?? new Uint8Array()));
}

type Counts = Pick<UsageLine, "requests" | "billable" | "rows">;

/** See B2. */
async function judgeUsage(
  client: SvcClient,
  { door, receipts }: { readonly door: Door; readonly receipts: readonly OwnReceipt[] },
): Promise<void> {
  const lines = new Map<string, Counts>();
  const total = { requests: 0, billable: 0, rows: 0 };
  for (const { region, served_at, key_id, kind, collection, country, billable, rows } of receipts) {
    if (region !== door.region) continue;
    const line = JSON.stringify([served_at.slice(0, 10), key_id, kind, collection, country]);
    const counts = lines.get(line) ?? { requests: 0, billable: 0, rows: 0 };
    lines.set(line, added(counts, { requests: 1, billable: billable ? 1 : 0, rows }));
    Object.assign(total, added(total, { requests: 1, billable: billable ? 1 : 0, rows }));
  }
  const { body } = await client.usage();
  const told = body.usage.map(({ day, key_id, kind, collection, country, ...counts }) => [
    JSON.stringify([day, key_id, kind, collection, country]),
    counts,
  ]);
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(lines));
  expect(body.total).toEqual(total);
}

function added(one: Counts, other: Counts): Counts {
  return {
    requests: one.requests + other.requests,
    billable: one.billable + other.billable,
    rows: one.rows + other.rows,
  };
}

/** See B3. What all months charge together, by the receipts. */
async function judgeStatements(company: AiCompany, receipts: readonly OwnReceipt[]): Promise<bigint> {
  const { options, books, patiently } = company;
  const { prices, account, billed } = await allowance(company);
  const [list] = prices?.versions ?? [];
  if (!billed || list === undefined) throw new Error("Nothing is charged here.");
  const now = new Date((options.now ?? Date.now)()).toISOString();
  const months = [
    ...new Set([...receipts.map(({ served_at }) => served_at), now].map((at) => at.slice(0, 7))),
  ];
  let [charged, entered, closing] = [0n, 0n, ""];
  for (const month of months.sort()) {
    const due = new Map<string, bigint>();
    for (const { kind, collection, billable, served_at } of receipts) {
      if (!billable || kind === "ad_pool" || served_at.slice(0, 7) !== month) continue;
      const price = kind === "fetch" ? list.fetch : collection === null ? "" : list.search[collection];
      const line = [served_at.slice(0, 10), kind, collection ?? "", price].join(",");
      due.set(line, (due.get(line) ?? 0n) + 1n);
    }
    const { body } = await patiently((client) => client.statement(month));
    const told = body.lines.map(({ day, kind, collection, price, count }) => [
      [day, kind, collection ?? "", price].join(","),
      BigInt(count),
    ]);
    expect(Object.fromEntries(told)).toEqual(Object.fromEntries(due));
    const owed = sum([...due].map(([line, count]) => count * millionthsOf(line.split(",").at(-1) ?? "")));
    expect(body.charged).toBe(decimalOf(owed));
    await judgeCsv(company, month, body);
    charged += owed;
    entered += signed(body.entered);
    closing = body.closing;
  }
  expect(decimalOf(entered)).toBe(decimalOf(sum(books.paidIn.map(millionthsOf))));
  expect(closing).toBe(account?.balance);
  return charged;
}

/** The amounts of a statement for spreadsheets sum to its last line. */
async function judgeCsv(
  { patiently }: AiCompany,
  month: string,
  statement: { readonly closing: string; readonly charged: string; readonly entered: string },
): Promise<void> {
  const { text } = await patiently((client) => client.statementCsv(month));
  const rows = text
    .trim()
    .split("\r\n")
    .slice(1)
    .map((line) => line.split(","));
  const amounts = rows.map((row) => signed(row[6] ?? ""));
  expect(rows.at(-1)?.[0]).toBe("closing");
  expect(decimalOf(sum(amounts.slice(0, -1)))).toBe(statement.closing);
  expect(decimalOf(amounts.at(-1) ?? 0n)).toBe(statement.closing);
  const of = (...kinds: readonly string[]) =>
    sum(rows.flatMap((row, at) => (kinds.includes(row[0] ?? "") ? [amounts[at] ?? 0n] : [])));
  expect(decimalOf(-of("search", "fetch"))).toBe(statement.charged);
  expect(decimalOf(of("top_up", "correction"))).toBe(statement.entered);
}

function signed(amount: string): bigint {
  return amount.startsWith("-") ? -millionthsOf(amount.slice(1)) : millionthsOf(amount);
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((all, each) => all + each, 0n);
}
