import { beforeEach, describe, expect, it } from "vitest";
import { positionAt } from "../../storage/receipt-store.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import type { CollectedCharges, LedgerCharge, LedgerEntry } from "../messages/ledger.ts";
import { balanceMax, ledgerActor, monthEntriesMax } from "./definition.ts";

const company = "00000000-0000-4000-8000-00000000000c";
const day = 86_400_000;
const start = Date.UTC(2026, 0, 31, 12);

let ledger: ActorHarness<"ledger">;
beforeEach(() => {
  ledger = driveActor(ledgerActor, company);
  ledger.nowMs = start;
});

const entry = (amount: number, changes: Partial<LedgerEntry> = {}): LedgerEntry => ({
  entry_id: `e${amount}`,
  kind: amount < 0 ? "correction" : "top_up",
  amount,
  currency: "EUR",
  by: "ops",
  reason: "paid",
  ...changes,
});
const enter = (amount: number, changes: Partial<LedgerEntry> = {}) =>
  ledger.send({ type: "money.enter", ...entry(amount, changes) });
const lease = (holder: string, n: number, wanted: number, more: { price?: number; returned?: number } = {}) =>
  ledger.send({ type: "slice.lease", holder, n, wanted, price: 1, returned: 0, ...more });
const read = () => ledger.send({ type: "ledger.read" });
const statement = (month: string, after: string | null = null) =>
  ledger.send({ type: "ledger.statement", month, after });

let charges = 0;
const charge = (price: number, changes: Partial<LedgerCharge> = {}): LedgerCharge => {
  charges += 1;
  return {
    key_id: "k",
    nonce: `n${charges}`,
    kind: "fetch",
    collection: null,
    price,
    served_at_ms: ledger.nowMs,
    holder: "eu/a",
    ...changes,
  };
};

/** The page that the ledger asked for last, in its region. */
function asked(region = "eu"): { readonly region: string; readonly after: string } {
  const activity = ledger.effects.findLast(
    (effect) => effect.kind === "activity" && (effect.params as { region: string }).region === region,
  );
  if (activity?.kind !== "activity") throw new Error("nothing was asked");
  return activity.params as { region: string; after: string };
}

function collected(
  given: readonly LedgerCharge[],
  changes: Partial<CollectedCharges> = {},
): CollectedCharges {
  const { region, after } = asked(changes.region);
  return {
    region,
    after,
    up_to: positionAt(ledger.nowMs),
    more: false,
    settled_ms: ledger.nowMs,
    shared: false,
    at_ms: ledger.nowMs,
    charges: given,
    ...changes,
  };
}

function collect(given: readonly LedgerCharge[], changes: Partial<CollectedCharges> = {}): void {
  ledger.fireTimers();
  ledger.send({ type: "charges.collected", ...collected(given, changes) });
}

describe("an account", () => {
  it("is opened by its first entry", () => {
    expect(ledger.snapshot.value).toMatchObject({ account: "unopened" });
    expect(read()).toBeNull();
    expect(enter(100)).toMatchObject({
      status: "entered",
      report: { currency: "EUR", balance: 100, reserved: 0 },
    });
    expect(read()).toMatchObject({ balance: 100 });
    expect(ledger.snapshot.value).toMatchObject({ account: "funded" });
  });

  it("makes an entry once, and refuses another under its id", () => {
    enter(100, { entry_id: "one" });
    expect(enter(100, { entry_id: "one" })).toMatchObject({ status: "entered", report: { balance: 100 } });
    expect(enter(200, { entry_id: "one" })).toEqual({ status: "conflict" });
    expect(enter(100, { entry_id: "one", kind: "correction" })).toEqual({ status: "conflict" });
    expect(enter(100, { entry_id: "one", reason: "another invoice" })).toEqual({ status: "conflict" });
    expect(enter(100, { entry_id: "one", by: "another operator" })).toMatchObject({ status: "entered" });
    expect(read()).toMatchObject({ balance: 100 });
  });

  it("keeps one currency, and no more than can be added exactly", () => {
    enter(100);
    expect(enter(1, { currency: "USD" })).toEqual({ status: "currency_mismatch", currency: "EUR" });
    expect(enter(balanceMax)).toEqual({ status: "too_large" });
    expect(enter(-balanceMax - 101)).toEqual({ status: "too_large" });
    expect(read()).toMatchObject({ balance: 100 });
  });

  it("takes no more entries in a month than its statement shows", () => {
    const lay = (entries: number) =>
      ledger.lay({ rt: 18, k: 0, k2: "2026-01", body: JSON.stringify({ charged: 0, entered: 0, entries }) });
    lay(monthEntriesMax - 1);
    expect(enter(1, { entry_id: "last" })).toMatchObject({ status: "entered" });
    expect(enter(1, { entry_id: "more" })).toEqual({ status: "too_many" });
  });

  it("may be corrected below nothing, and is exhausted then", () => {
    enter(100);
    expect(enter(-150)).toMatchObject({ report: { balance: -50 } });
    expect(ledger.snapshot.value).toMatchObject({ account: "exhausted" });
    expect(lease("eu/a", 1, 10)).toEqual({ status: "exhausted" });
    enter(60);
    expect(ledger.snapshot.value).toMatchObject({ account: "funded" });
  });
});

describe("a slice", () => {
  it("is lent out of what is available, at most a quarter of it", () => {
    enter(1_000);
    expect(lease("eu/a", 1, 100)).toMatchObject({ status: "leased", amount: 100 });
    expect(lease("eu/b", 1, 900)).toMatchObject({ amount: 225 });
    expect(read()).toMatchObject({ balance: 1_000, reserved: 325 });
  });

  it("is enough for one answer as long as there is money for one", () => {
    enter(10);
    expect(lease("eu/a", 1, 1, { price: 6 })).toMatchObject({ amount: 6 });
    expect(lease("eu/b", 1, 1, { price: 6 })).toEqual({ status: "exhausted" });
    expect(lease("eu/b", 1, 1, { price: 4 })).toMatchObject({ amount: 4 });
  });

  it("is lent once for each request, however often that is repeated", () => {
    enter(1_000);
    lease("eu/a", 1, 100);
    expect(lease("eu/a", 1, 100)).toMatchObject({ amount: 100 });
    lease("eu/a", 2, 50);
    expect(lease("eu/a", 1, 100)).toEqual({ status: "refused" });
    expect(read()).toMatchObject({ reserved: 150 });
  });

  it("takes back what its holder has, and no more", () => {
    enter(1_000);
    lease("eu/a", 1, 100);
    expect(lease("eu/a", 2, 0, { returned: 30 })).toMatchObject({ status: "leased", amount: 0 });
    expect(read()).toMatchObject({ reserved: 70 });
    lease("eu/a", 3, 0, { returned: 1_000_000 });
    expect(read()).toMatchObject({ reserved: 0, balance: 1_000 });
    lease("eu/stranger", 1, 0, { returned: 500 });
    lease("eu/a", 4, 0, { returned: -500 });
    expect(read()).toMatchObject({ reserved: 0, balance: 1_000 });
  });

  it("is not lent to more holders than a ledger has room for", () => {
    enter(1_000_000);
    for (let each = 0; each < 128; each += 1) lease(`eu/${each}`, 1, 1);
    expect(lease("eu/128", 1, 1)).toEqual({ status: "refused" });
    expect(lease("eu/0", 2, 1)).toMatchObject({ status: "leased" });
  });

  it("is free again once its lease is over and everything under it is charged, not earlier", () => {
    enter(1_000);
    lease("eu/a", 1, 100);
    ledger.nowMs += 100_000;
    collect([charge(10)]);
    expect(read()).toMatchObject({ balance: 990, reserved: 90 });
    ledger.nowMs += 60_000;
    collect([charge(10)], { settled_ms: ledger.nowMs - 60_000 });
    expect(read()).toMatchObject({ balance: 980, reserved: 80 });
    collect([]);
    expect(read()).toMatchObject({ balance: 980, reserved: 0, holders: [] });
    expect(ledger.snapshot.value).toMatchObject({ slices: "none" });
  });
});

describe("a charge", () => {
  beforeEach(() => {
    enter(1_000);
    lease("eu/a", 1, 100);
  });

  it("is booked once, however often its page is delivered", () => {
    ledger.fireTimers();
    const page = collected([charge(10)]);
    for (let time = 0; time < 2; time += 1) ledger.send({ type: "charges.collected", ...page });
    expect(read()).toMatchObject({ balance: 990, reserved: 90 });
  });

  it("is not booked where nothing was asked for, or another page was", () => {
    ledger.fireTimers();
    const page = collected([charge(10)]);
    ledger.send({ type: "charges.collected", ...page, after: "ret_000000000001" });
    ledger.send({ type: "charges.collected", ...page, region: "us" });
    expect(read()).toMatchObject({ balance: 1_000 });
  });

  it("is followed by the next page at once", () => {
    ledger.fireTimers();
    const before = ledger.effects.length;
    ledger.send({ type: "charges.collected", ...collected([charge(1)], { more: true, up_to: "ret_x" }) });
    expect(ledger.effects).toHaveLength(before + 1);
    expect(asked()).toMatchObject({ region: "eu", after: "ret_x" });
    ledger.fireTimers();
    expect(ledger.effects).toHaveLength(before + 1);
  });

  it("is one for a request that two regions answered, and frees what both set aside", () => {
    lease("us/b", 1, 100);
    const nonce = { nonce: "same" };
    collect([charge(10, nonce), charge(5)], { shared: true });
    ledger.send({
      type: "charges.collected",
      ...collected([charge(10, { ...nonce, holder: "us/b" })], { region: "us", shared: true }),
    });
    expect(read()).toMatchObject({ balance: 985, reserved: 85 + 90 });
  });

  it("is one as well if the second region is away for months, and its nonce is forgotten once nothing can come", () => {
    lease("us/b", 1, 100);
    const same = charge(10, { nonce: "same" });
    collect([same], { shared: true });
    const fromAway = { ...asked("us"), shared: true } as const;
    for (let week = 1; week < 20; week += 1) {
      ledger.nowMs += 7 * day;
      lease("eu/a", 1 + week, 10);
      collect([charge(1)], { shared: true });
    }
    expect(ledger.rows(16).map(({ k2 }) => k2)).toContain("k same");
    const { balance } = read() ?? { balance: 0 };
    ledger.send({
      type: "charges.collected",
      ...collected([{ ...same, holder: "us/b" }, charge(3, { holder: "us/b" })], { ...fromAway }),
    });
    expect(read()).toMatchObject({ balance: balance - 3 });
    ledger.nowMs += day;
    lease("eu/a", 50, 10);
    collect([], { shared: true });
    collect([], { shared: true });
    expect(ledger.rows(16)).toEqual([]);
    expect(ledger.rows(21)).toEqual([]);
  });

  it("keeps its nonce while the same request may still be answered elsewhere", () => {
    collect([charge(10, { nonce: "same" })], { shared: true });
    ledger.nowMs += 14 * 60_000;
    lease("eu/a", 2, 10);
    collect([], { shared: true });
    expect(ledger.rows(16)).toHaveLength(1);
    ledger.nowMs += 2 * 60_000;
    lease("eu/a", 3, 10);
    collect([], { shared: true });
    collect([], { shared: true });
    expect(ledger.rows(16)).toEqual([]);
    expect(ledger.rows(21)).toEqual([]);
  });

  it("belongs to its day, and statements sum to the balance", () => {
    collect([charge(10), charge(10), charge(7, { kind: "search", collection: "jobs" })]);
    ledger.nowMs += day;
    collect([charge(10)]);
    enter(-3);
    expect(statement("2026-01")).toMatchObject({
      opening: 0,
      entered: 1_000,
      charged: 27,
      closing: 973,
      is_final: false,
      lines: [
        { day: "2026-01-31", kind: "fetch", collection: null, price: 10, count: 2, amount: 20 },
        { day: "2026-01-31", kind: "search", collection: "jobs", price: 7, count: 1, amount: 7 },
      ],
      entries: [{ entry_id: "e1000", amount: 1_000, by: "ops", reason: "paid", at_ms: start }],
      next_after: null,
    });
    expect(statement("2026-02")).toMatchObject({ opening: 973, entered: -3, charged: 10, closing: 960 });
    expect(statement("2026-03")).toMatchObject({ opening: 960, closing: 960, lines: [] });
    expect(statement("2025-12")).toMatchObject({ opening: 0, closing: 0, entries: [] });
    expect(read()).toMatchObject({ balance: 960 });
  });

  it("belongs to its own month for two days, and to a later one once that is final", () => {
    const late = charge(10);
    ledger.nowMs = Date.UTC(2026, 1, 2, 23, 59);
    collect([late]);
    expect(statement("2026-01")).toMatchObject({ charged: 10, is_final: false });
    ledger.nowMs = Date.UTC(2026, 1, 3);
    lease("eu/a", 2, 10);
    collect([charge(10, { served_at_ms: start })]);
    expect(statement("2026-01")).toMatchObject({ charged: 10, is_final: true });
    expect(statement("2026-02")).toMatchObject({
      opening: 990,
      charged: 10,
      closing: 980,
      lines: [{ day: "2026-01-31", count: 1 }],
    });
  });

  it("is in the statement to the last day, also of a region that was down for more than a year", () => {
    const late = Array.from({ length: 400 }, (_, each) => charge(10, { served_at_ms: start + each * day }));
    ledger.nowMs = start + 400 * day;
    collect(late);
    const found = statement(new Date(ledger.nowMs).toISOString().slice(0, 7));
    expect(found?.lines.reduce((sum, { amount }) => sum + amount, 0)).toBe(found?.charged);
    expect(found?.lines.length).toBeGreaterThan(300);
  });

  it("does not change a statement that became final while it was collected", () => {
    const late = charge(10);
    const before = Date.UTC(2026, 1, 2, 23, 59, 59);
    ledger.nowMs = Date.UTC(2026, 1, 3);
    const closed = statement("2026-01");
    expect(closed).toMatchObject({ is_final: true });
    collect([late], { at_ms: before });
    expect(statement("2026-01")).toEqual(closed);
    expect(read()).toMatchObject({ balance: 1_000 });
    ledger.send({ type: "charges.collected", ...collected([late]) });
    expect(statement("2026-01")).toEqual(closed);
    expect(statement("2026-02")).toMatchObject({ opening: 1_000, charged: 10, closing: 990 });
    expect(read()).toMatchObject({ balance: 990 });
  });

  it("and every entry are listed a page at a time", () => {
    for (let each = 1; each <= 250; each += 1) enter(1, { entry_id: `x${each}` });
    const first = statement("2026-01");
    expect(first?.entries).toHaveLength(200);
    const second = statement("2026-01", first?.next_after ?? "");
    expect(second?.next_after).toBeNull();
    const ids = [...(first?.entries ?? []), ...(second?.entries ?? [])].map(({ entry_id }) => entry_id);
    expect(new Set(ids).size).toBe(251);
  });
});

describe("a region's receipts", () => {
  it("are charged from the first lease on", () => {
    enter(100);
    lease("eu/a", 1, 10);
    ledger.fireTimers();
    expect(asked().after).toBe(positionAt(start - 60_000));
  });

  it("are not looked through again for a time in which nobody could be charged", () => {
    enter(100);
    lease("eu/a", 1, 10);
    ledger.nowMs += 10 * day;
    collect([]);
    ledger.nowMs += 10 * day;
    lease("eu/b", 1, 10);
    lease("eu/c", 1, 10);
    ledger.fireTimers();
    expect(asked().after).toBe(positionAt(ledger.nowMs - 60_000));
  });
});

describe("how long the money lasts", () => {
  const hour = day / 24;
  const use = (amount: number, changes: Partial<CollectedCharges> = {}): void => {
    const n = ledger.nowMs;
    lease("eu/a", n, amount);
    collect([charge(amount, { served_at_ms: ledger.nowMs })], changes);
  };

  it("is unknown before anything was charged, and told by what was charged in the last day", () => {
    enter(10_000);
    expect(read()).toMatchObject({ used_last_day: 0, days_left: null, is_low: false });
    use(400);
    ledger.nowMs += 23 * hour;
    use(600);
    expect(read()).toMatchObject({ used_last_day: 1_000, days_left: 9, is_low: false });
    ledger.nowMs += hour;
    // The first hour is a day ago: what is still in the day's sum is the rate once anything else is charged.
    expect(read()).toMatchObject({ used_last_day: 600 });
    use(1_000);
    expect(read()).toMatchObject({ used_last_day: 1_600, days_left: 5, is_low: true });
  });

  it("is nothing once it is spent, and stays so while its company is refused", () => {
    enter(1_000);
    use(999);
    ledger.nowMs += 30 * day;
    expect(read()).toMatchObject({ balance: 1, used_last_day: 0, days_left: 0, is_low: true });
    enter(999 * 7, { entry_id: "more" });
    expect(read()).toMatchObject({ days_left: 7, is_low: false });
    enter(-7_000, { entry_id: "back" });
    expect(read()).toMatchObject({ balance: -6, days_left: 0, is_low: true });
  });

  it("is told with the last top-up, which a correction is not", () => {
    expect(read()).toBeNull();
    enter(-5);
    expect(read()).toMatchObject({ last_top_up: null, is_low: true });
    enter(100);
    const paid = { amount: 100, at_ms: ledger.nowMs };
    ledger.nowMs += day;
    enter(7, { kind: "correction" });
    expect(read()).toMatchObject({ last_top_up: paid });
  });
});
