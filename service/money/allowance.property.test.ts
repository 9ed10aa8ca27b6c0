// Several nodes spend one allowance, while requests to the ledger are lost, answers fail, nodes die and money is paid in:
//   P1. Never is more served than was paid in.
//   P2. Once everything is charged and every lease is over, nothing is reserved, and the balance is what was paid in less
//       exactly what was served.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { driveActor } from "../../actors/actor.fixture.ts";
import { ledgerActor } from "../../actors/ledger/definition.ts";
import type { LedgerCharge } from "../../actors/messages/ledger.ts";
import type { PriceList } from "../../protocol/price-list.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { positionAt } from "../../storage/receipt-store.ts";
import { isRefused } from "../answer.ts";
import { type Allowance, createAllowance } from "./allowance.ts";

const company = "c";
const prices: PriceList = {
  currency: "EUR",
  versions: [
    {
      version: 1,
      effective_from: "2026-01-01T00:00:00.000Z",
      fetch: 7,
      search: { products: 3, business_files: 3, events: 3, jobs: 3, updates: 3 },
    },
  ],
};
const start = Date.UTC(2026, 5, 1);
const regions = ["eu", "us"] as const;

const step = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({ do: fc.constant("ask" as const), node: fc.nat(2), billable: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.oneof(fc.nat(1_000), fc.nat(150_000)) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("collect" as const), page: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pay in" as const), amount: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("give back" as const), node: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("die" as const), node: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("cut" as const), fate: fc.constantFrom("lost", "unanswered") }),
  },
);

interface Served extends LedgerCharge {
  readonly id: string;
}

function world() {
  const ledger = driveActor(ledgerActor, company);
  ledger.nowMs = start;
  const state = { elapsed: 0, paidIn: 0, served: [] as Served[], runs: 0, fate: null as string | null };
  const begin = (node: number): { holder: string; allowance: Allowance } => {
    state.runs += 1;
    const holder = `${regions[node % 2]}/${node}-${state.runs}`;
    const allowance = createAllowance({
      actors: part({
        ask: async (_to, command) => {
          const { fate } = state;
          state.fate = null;
          if (fate === "lost") throw new Error("lost");
          const reply = ledger.send(rubbish(command));
          if (fate === "unanswered") throw new Error("unanswered");
          return rubbish(reply);
        },
      }),
      prices: () => prices,
      holder: () => holder,
      clock: { now: () => ledger.nowMs },
      elapsedMs: () => state.elapsed,
    });
    return { holder, allowance };
  };
  const nodes = [0, 1, 2].map(begin);
  /** Charges what was served before this instant, page by page, as the regions answer. */
  const collect = (page: number): void => {
    ledger.fireTimers();
    const asked = ledger.effects.splice(0);
    for (let next = asked.shift(); next !== undefined; next = asked.shift()) {
      if (next.kind !== "activity") continue;
      const { region, after } = next.params as { region: string; after: string };
      const settled = positionAt(ledger.nowMs);
      const rows = state.served
        .filter(({ id, holder }) => holder.startsWith(region) && id > after && id < settled)
        .sort((a, b) => (a.id < b.id ? -1 : 1));
      const more = rows.length > page;
      const charges = rows.slice(0, page);
      const collected = {
        type: "charges.collected",
        region,
        after,
        more,
        charges,
        shared: false,
        at_ms: ledger.nowMs,
        settled_ms: ledger.nowMs,
        up_to: more ? (charges.at(-1)?.id ?? "") : settled,
      } as const;
      // The result of an activity may come twice.
      for (let time = 0; time < 2; time += 1) ledger.send(collected);
      asked.push(...ledger.effects.splice(0));
    }
  };
  return { ledger, state, nodes, begin, collect };
}

async function play(steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) {
  const { ledger, state, nodes, begin, collect } = world();
  const wait = (ms: number): void => {
    state.elapsed += ms;
    ledger.nowMs += ms;
  };
  for (const [at, each] of steps.entries()) {
    // No two things happen in one millisecond, so that receipts have an order.
    wait(1);
    if (each.do === "wait") wait(each.ms);
    if (each.do === "cut") state.fate = each.fate;
    if (each.do === "collect") collect(each.page);
    if (each.do === "give back") await nodes[each.node]?.allowance.giveBack("all");
    if (each.do === "die") nodes[each.node] = begin(each.node);
    if (each.do === "pay in") {
      state.paidIn += each.amount;
      const money = { kind: "top_up", amount: each.amount, currency: "EUR", by: "b", reason: "r" } as const;
      ledger.send({ type: "money.enter", entry_id: `e${at}`, ...money });
    }
    if (each.do !== "ask") continue;
    const { allowance, holder } = nodes[each.node] ?? begin(0);
    const payment = await allowance.pay(company, { kind: "fetch", collection: null });
    if (isRefused(payment)) continue;
    if (!each.billable) payment.putBack();
    else {
      const fact = {
        key_id: "k",
        nonce: `n${at}`,
        kind: "fetch",
        collection: null,
        price: 7,
        holder,
      } as const;
      state.served.push({ ...fact, id: `${positionAt(ledger.nowMs)}x`, served_at_ms: ledger.nowMs });
    }
    // P1
    expect(7 * state.served.length).toBeLessThanOrEqual(state.paidIn);
  }
  for (let turn = 0; turn < 4; turn += 1) {
    wait(100_000);
    collect(1_000);
  }
  return { report: ledger.send({ type: "ledger.read" }), state };
}

describe("an allowance that several nodes spend", () => {
  it("is never overspent, and is exact in the end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 50, maxLength: 200 }), async (steps) => {
        const { report, state } = await play(steps);
        const balance = state.paidIn - 7 * state.served.length;
        if (report === null) expect(state.served).toEqual([]);
        else expect(report).toMatchObject({ balance, reserved: 0, holders: [] });
      }),
      { numRuns: 300 },
    );
  });
});
