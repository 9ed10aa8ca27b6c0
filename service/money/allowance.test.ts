import { beforeEach, describe, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../../actors/actor.fixture.ts";
import { ledgerActor } from "../../actors/ledger/definition.ts";
import type { PriceList } from "../../protocol/price-list.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { isRefused, type Refused } from "../answer.ts";
import { type Allowance, createAllowance, type Payment } from "./allowance.ts";

const company = "c";
const prices: PriceList = {
  currency: "EUR",
  versions: [
    {
      version: 1,
      effective_from: "2026-01-01T00:00:00.000Z",
      fetch: 10,
      search: { products: 2, business_files: 2, events: 2, jobs: 0, updates: 2 },
    },
  ],
};
const fetched = { kind: "fetch", collection: null } as const;

let ledger: ActorHarness<"ledger">;
let asked: number;
/** What becomes of the next requests to the ledger; they are answered once none is left. */
let fates: ("lost" | "unanswered")[];
let elapsed: number;
let holder: string | null;
let list: PriceList | null;
let allowance: Allowance;

beforeEach(() => {
  ledger = driveActor(ledgerActor, company);
  [asked, elapsed, holder, list, fates] = [0, 0, "eu/a", prices, []];
  allowance = createAllowance({
    actors: part({
      ask: async (_to, command) => {
        asked += 1;
        const fate = fates.shift();
        if (fate === "lost") throw new Error("not delivered");
        const reply = ledger.send(rubbish(command));
        if (fate === "unanswered") throw new Error("no answer");
        return rubbish(reply);
      },
    }),
    prices: () => list,
    holder: () => holder,
    clock: { now: () => Date.UTC(2026, 5, 1) },
    elapsedMs: () => elapsed,
  });
});

const topUp = (amount: number, entry_id = `e${amount}`) =>
  ledger.send({
    type: "money.enter",
    entry_id,
    kind: "top_up",
    amount,
    currency: "EUR",
    by: "b",
    reason: "r",
  });
const reserved = () => ledger.send({ type: "ledger.read" })?.reserved;
const pay = async (what: Parameters<Allowance["pay"]>[1] = fetched) => allowance.pay(company, what);
async function paid(what?: Parameters<Allowance["pay"]>[1]): Promise<Payment> {
  const payment = await pay(what);
  if (isRefused(payment)) throw new Error(payment.problem.code);
  return payment;
}
const codeOf = (outcome: Payment | Refused) => (isRefused(outcome) ? outcome.problem.code : "paid");

describe("an allowance", () => {
  it("is spent out of slices: nearly no request asks the ledger", async () => {
    topUp(1_000_000);
    for (let each = 0; each < 1_000; each += 1) await paid();
    expect(asked).toBeLessThan(20);
    expect(reserved()).toBeGreaterThanOrEqual(10_000);
  });

  it("asks for the next slice before the last one is spent, without keeping a request waiting", async () => {
    topUp(1_000_000);
    await paid();
    for (let each = 1; each < 200; each += 1) {
      expect(allowance.pay(company, fetched)).not.toBeInstanceOf(Promise);
      await Promise.resolve().then(() => {});
    }
  });

  it("pays for exactly as many answers as there is money for, then is exhausted, until more is paid in", async () => {
    topUp(105);
    for (let each = 0; each < 10; each += 1) await paid();
    expect(await pay()).toMatchObject({ problem: { code: "allowance_exhausted", status: 402 } });
    topUp(10);
    expect(codeOf(await pay())).toBe("allowance_exhausted");
    elapsed += 500;
    expect(codeOf(await pay())).toBe("paid");
    expect(codeOf(await pay())).toBe("allowance_exhausted");
    expect(allowance.figures()).toMatchObject({ companies: 1, exhausted: 3, unanswered: 0 });
    expect(allowance.figures().leased).toBeGreaterThan(0);
  });

  it("is spent to the last part, however small the parts are that were lent", async () => {
    topUp(23);
    await paid({ kind: "search", collection: "products" });
    await paid();
    await paid();
    expect(codeOf(await pay({ kind: "search", collection: "products" }))).toBe("allowance_exhausted");
    expect(reserved()).toBeGreaterThanOrEqual(22);
  });

  it("still pays for what costs less than what it does not cover", async () => {
    topUp(5);
    expect(codeOf(await pay())).toBe("allowance_exhausted");
    expect(codeOf(await pay({ kind: "search", collection: "products" }))).toBe("paid");
    expect(codeOf(await pay())).toBe("allowance_exhausted");
  });

  it("pays for what costs less than what another request is just asking for in vain", async () => {
    topUp(5);
    const both = await Promise.all([pay(), pay({ kind: "search", collection: "products" })]);
    expect(both.map(codeOf)).toEqual(["allowance_exhausted", "paid"]);
  });

  it("pays for what costs less than what was asked for in vain and is asked for again", async () => {
    topUp(5);
    fates = ["unanswered"];
    expect(codeOf(await pay())).toBe("unavailable");
    expect(codeOf(await pay({ kind: "search", collection: "products" }))).toBe("paid");
  });

  it("has what was put back, once", async () => {
    topUp(10);
    const payment = await paid();
    payment.putBack();
    payment.putBack();
    expect(codeOf(await pay())).toBe("paid");
    expect(codeOf(await pay())).toBe("allowance_exhausted");
  });

  it("is nothing without an account, and asks the ledger twice a second at most", async () => {
    for (let each = 0; each < 50; each += 1) expect(codeOf(await pay())).toBe("allowance_exhausted");
    expect(asked).toBe(1);
  });

  it("is not needed for what is free, or without prices", async () => {
    expect(codeOf(await pay({ kind: "search", collection: "jobs" }))).toBe("paid");
    list = null;
    expect(codeOf(await pay())).toBe("paid");
    expect(asked).toBe(0);
  });

  it("costs what the collection costs", async () => {
    topUp(5);
    await paid({ kind: "search", collection: "products" });
    await paid({ kind: "search", collection: "events" });
    expect(codeOf(await pay({ kind: "search", collection: "updates" }))).toBe("allowance_exhausted");
  });

  it("is asked for once by requests that come together", async () => {
    topUp(1_000);
    expect((await Promise.all(Array.from({ length: 30 }, () => pay()))).map(codeOf)).toEqual(
      Array.from({ length: 30 }, () => "paid"),
    );
    expect(asked).toBeLessThanOrEqual(3);
  });
});

describe("a ledger that cannot be asked", () => {
  it("refuses with 503, after what is left was spent, and charges nothing", async () => {
    topUp(1_000);
    await paid();
    fates = Array.from({ length: 100 }, () => "lost" as const);
    let served = 1;
    while (codeOf(await pay()) === "paid") served += 1;
    expect(served).toBe(20);
    expect(await pay()).toMatchObject({
      problem: { code: "unavailable", reason: "allowance", retry_after_seconds: 1 },
      headers: { "retry-after": "1" },
    });
    expect(allowance.figures()).toEqual({ companies: 1, leased: 1, exhausted: 0, unanswered: 2 });
    fates = [];
    expect(codeOf(await pay())).toBe("paid");
    expect(reserved()).toBeLessThanOrEqual(1_000);
  });

  it("lends once what it lent without an answer", async () => {
    topUp(100_000);
    fates = ["unanswered", "unanswered"];
    expect(codeOf(await pay())).toBe("unavailable");
    expect(codeOf(await pay())).toBe("unavailable");
    await paid();
    expect(asked).toBe(3);
    expect(reserved()).toBe(200);
  });

  it("is one of a node that may not answer", async () => {
    topUp(100);
    holder = null;
    expect(codeOf(await pay())).toBe("unavailable");
  });
});

describe("a lease", () => {
  it("is not spent after its end, and what was left is given back with the next request", async () => {
    topUp(100_000);
    await paid();
    elapsed += 60_000;
    ledger.nowMs += 60_000;
    await paid();
    expect(asked).toBe(2);
    expect(reserved()).toBe(10 + 200);
  });

  it("that was answered after its end is no lease", async () => {
    topUp(100_000);
    fates = ["unanswered"];
    const first = pay();
    elapsed += 60_000;
    expect(codeOf(await first)).toBe("unavailable");
    expect(codeOf(await pay())).toBe("paid");
    expect(reserved()).toBe(200);
  });

  it("takes nothing back that was paid out of an earlier one", async () => {
    topUp(100_000);
    const old = await paid();
    elapsed += 60_000;
    await paid();
    old.putBack();
    await allowance.giveBack("all");
    expect(reserved()).toBe(20);
  });

  it("of another run of the node is left to the ledger", async () => {
    topUp(100_000);
    await paid();
    holder = "eu/b";
    await paid();
    expect(reserved()).toBe(400);
    await allowance.giveBack("all");
    expect(reserved()).toBe(200 + 10);
  });
});

describe("what is not spent", () => {
  it("is given back when the company stops asking, and when the node ends", async () => {
    topUp(100_000);
    await paid();
    await allowance.giveBack("idle");
    expect(reserved()).toBe(200);
    elapsed += 20_000;
    await allowance.giveBack("idle");
    expect(reserved()).toBe(10);
    await paid();
    await allowance.giveBack("all");
    expect(reserved()).toBe(20);
  });

  it("is given back even if the first attempt is not answered", async () => {
    topUp(100_000);
    await paid();
    fates = ["unanswered"];
    await allowance.giveBack("all");
    await allowance.giveBack("all");
    expect(reserved()).toBe(10);
    await paid();
    fates = ["lost"];
    await allowance.giveBack("all");
    await paid();
    await allowance.giveBack("all");
    expect(reserved()).toBe(30);
  });
});
