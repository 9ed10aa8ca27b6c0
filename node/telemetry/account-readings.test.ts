import { expect, it } from "vitest";
import { accountReadings } from "./actor-readings.ts";

const ledger = (id: string, balance: number, hours: Readonly<Record<string, number>> = { 0: 100 }) => ({
  ref: { kind: "ledger", id },
  context: { currency: "EUR", balance, hours },
});

it("names the accounts that run low, twenty at most, and no other", () => {
  const calm = [ledger("rich", 700), ledger("unused", 5, {}), { ...ledger("x", 1), context: null }];
  const other = { ...ledger("push", 0), ref: { kind: "push", id: "push" } };
  const unopened = { ...ledger("new", 0), context: { currency: null, balance: 0, hours: {} } };
  expect(accountReadings([...calm, other, unopened], 0)).toEqual([]);
  const low = Array.from({ length: 21 }, (_, n) => ledger(`c${n}`, n === 20 ? 0 : 250));
  const readings = accountReadings([...calm, ledger("spent", -1, {}), ...low], 0);
  expect(readings).toHaveLength(20);
  expect(readings.slice(0, 3).map(({ labels, value }) => [labels?.["company"], value])).toEqual([
    ["spent", 0],
    ["c20", 0],
    ["c0", 2 * 86_400],
  ]);
});
