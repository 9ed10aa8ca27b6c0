// What an operator is told of an entry that the account's actor refuses, and a statement of many pages.

import { describe, expect, it } from "vitest";
import type { EnteredEntry, EnterReply } from "../../actors/messages/ledger.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { createOperatorLedgers, type ListedAccount } from "./ledgers.ts";

const company = "10000000-0000-4000-8000-000000000001";
const entry = {
  entry_id: "e",
  kind: "top_up",
  amount: "1",
  currency: "EUR",
  by: "Ada",
  reason: "r",
} as const;
const ledgersOf = (ask: (command: unknown) => unknown) =>
  createOperatorLedgers({
    actors: rubbish({ ask: async (_ref: unknown, command: unknown) => ask(command) }),
    prices: () => null,
    partyOf: async () => ({ kind: "ai_company", legal_name: "Ask Ltd" }),
    actorStore: { listActors: async () => [] },
  });

describe("an entry", () => {
  it.each<readonly [EnterReply, string, string]>([
    [{ status: "conflict" }, "entry_id_used", "nothing was entered"],
    [{ status: "currency_mismatch", currency: "USD" }, "currency_mismatch", "in USD"],
    [{ status: "too_large" }, "amount_not_allowed", "at most a billion"],
    [{ status: "too_many" }, "account_full", "no more entries in this month"],
  ])("that the account answers with %j is refused", async (reply, code, said) => {
    const refused = await ledgersOf(() => reply).enter(company, entry);
    expect(refused).toMatchObject({ ok: false, code, detail: expect.stringContaining(said) });
  });
});

describe("a statement", () => {
  it("has the entries of all its pages, and sums to its closing", async () => {
    const pages = [0, 1, 2].map((page) => ({
      opening: 5_000_000,
      charged: 1_000_000,
      entered: 999,
      closing: 999,
      lines: [],
      entries: Array.from({ length: 200 }, (_, n) =>
        part<EnteredEntry>({ ...entry, entry_id: `e${page}-${n}`, amount: 1_000_000, at_ms: 1 }),
      ),
      next_after: page < 2 ? page : null,
    }));
    const asked: unknown[] = [];
    const { statement } = ledgersOf((command) => {
      const { after } = command as { readonly after: number | null };
      asked.push(after);
      return pages[after === null ? 0 : after + 1];
    });
    const read = await statement(company, "2026-03");
    expect(read).toMatchObject({
      ok: true,
      value: { opening: "5", entered: "600", charged: "1", closing: "604" },
    });
    expect(read.ok && read.value?.entries).toHaveLength(600);
    expect(asked).toEqual([null, 0, 1]);
  });
});

describe("the list of accounts", () => {
  const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const listOf = (count: number, daysOf: (n: number) => number | null) => {
    const asked: string[] = [];
    const ledgers = createOperatorLedgers({
      actors: rubbish({
        ask: async ({ id }: { readonly id: string }) => {
          asked.push(id);
          const n = Number(id.slice(-12));
          // An account that was asked for and never opened has nothing to show.
          if (n === 1) return null;
          const days_left = daysOf(n);
          const money = { currency: "EUR", balance: n, reserved: 1, used_last_day: 2, holders: [] };
          return { ...money, charged_before: [], days_left, is_low: n === 2, last_top_up: null };
        },
      }),
      prices: () => null,
      partyOf: async (id) => (id === idOf(2) ? null : { kind: "ai_company", legal_name: `of ${id}` }),
      actorStore: {
        listActors: async (kind, after, limit) =>
          kind === "ledger" && after === ""
            ? Array.from({ length: count }, (_, n) => idOf(n)).slice(0, limit)
            : [],
      },
    });
    return { ledgers, asked };
  };
  const names = (accounts: readonly ListedAccount[]) =>
    accounts.map((each) => Number(each.company_uuid.slice(-12)));

  it("begins with those that run low, and ends with those of which nothing was used", async () => {
    const { ledgers } = listOf(5, (n) => [9, 0, 3, null, 0][n] ?? null);
    const { accounts, next_after, is_complete } = await ledgers.list("");
    expect(names(accounts)).toEqual([4, 2, 0, 3]);
    expect([next_after, is_complete]).toEqual([null, true]);
    expect(accounts[1]).toEqual({
      company_uuid: idOf(2),
      legal_name: null,
      currency: "EUR",
      balance: "0.000002",
      available: "0.000001",
      used_last_day: "0.000002",
      days_left: 3,
      is_low: true,
      last_top_up: null,
    });
  });

  it("goes on page by page, and asks each of at most 2,000 once for everybody who looks", async () => {
    const { ledgers, asked } = listOf(2_001, (n) => n);
    const [first, same] = await Promise.all([ledgers.list(""), ledgers.list("")]);
    expect(first).toEqual(same);
    expect(asked).toHaveLength(2_000);
    expect(first.is_complete).toBe(false);
    expect(names(first.accounts)).toHaveLength(50);
    const second = await ledgers.list(first.next_after ?? "");
    expect(names(second.accounts)[0]).toBe((names(first.accounts).at(-1) ?? 0) + 1);
    const last = await ledgers.list(idOf(1_998));
    expect([names(last.accounts), last.next_after]).toEqual([[1_999], null]);
  });

  it("has the others where one cannot be asked now, such as one of a region that is down", async () => {
    const { ledgers } = listOf(4, (n) => {
      if (n === 2) throw new StoreError("unknown", "Its region is down.");
      return n;
    });
    const { accounts, is_complete } = await ledgers.list("");
    expect([names(accounts), is_complete]).toEqual([[0, 3], false]);
    const { ledgers: faulty } = listOf(4, () => {
      throw new Error("A fault here.");
    });
    await expect(faulty.list("")).rejects.toThrow("A fault here.");
  });
});
