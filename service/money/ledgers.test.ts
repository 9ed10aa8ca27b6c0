// What an operator is told of an entry that the account's actor refuses, and a statement of many pages.

import { describe, expect, it } from "vitest";
import type { EnteredEntry, EnterReply } from "../../actors/messages/ledger.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { createOperatorLedgers } from "./ledgers.ts";

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
    kindOf: async () => "ai_company",
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
