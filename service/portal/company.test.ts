// The statements of a year of an AI company, by its own ledger.

import { beforeEach, expect, it } from "vitest";
import { type ActorHarness, driveActor } from "../../actors/actor.fixture.ts";
import { ledgerActor } from "../../actors/ledger/definition.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { answerStatement } from "../money/ledgers.ts";
import { type Company, type CompanyDeps, type CompanyReads, createCompany } from "./company.ts";

const uuid = "10000000-0000-4000-8000-0000000000c1";
let ledger: ActorHarness<"ledger">;
let company: Company;
beforeEach(() => {
  ledger = driveActor(ledgerActor, uuid);
  const actors = rubbish({
    ask: async (_ref: unknown, command: Parameters<typeof ledger.send>[0]) => ledger.send(command),
  });
  company = createCompany(
    part<CompanyDeps>({
      clock: { now: () => ledger.nowMs },
      reads: part<CompanyReads>({ statement: (asked) => answerStatement({ actors }, asked) }),
    }),
  );
});

const enterAt = (at: string, amount: number) => {
  ledger.nowMs = Date.parse(at);
  const entry = { entry_id: at, kind: amount < 0 ? "correction" : "top_up", amount } as const;
  ledger.send({ type: "money.enter", ...entry, currency: "EUR", by: "Olga", reason: "Paid." });
};

it("has the months in which there was something, and leads to the year before", async () => {
  expect(await company.statements(uuid, null)).toBe(null);
  enterAt("2024-12-31T23:59:59Z", 2_000_000);
  enterAt("2026-01-31T12:00:00Z", 1_000_000);
  enterAt("2026-02-01T00:00:00Z", -3_000_000);
  enterAt("2026-04-01T00:00:00Z", 500_000);
  const year = await company.statements(uuid, null);
  const shown = year?.statements.map(({ month, opening, closing }) => [month, opening, closing]);
  expect(shown?.slice(0, 3)).toEqual([
    ["2026-04", "0", "0.5"],
    ["2026-02", "3", "0"],
    ["2026-01", "2", "3"],
  ]);
  expect(shown?.at(-1)).toEqual(["2025-05", "2", "2"]);
  expect(year?.earlier).toBe("2025-04");
  const before = await company.statements(uuid, "2025-04");
  expect(before?.statements.map(({ month }) => month)).toEqual([
    "2025-04",
    "2025-03",
    "2025-02",
    "2025-01",
    "2024-12",
  ]);
  expect(before?.earlier).toBe("2024-04");
  expect(await company.statements(uuid, "2024-04")).toEqual({ statements: [], earlier: null });
  expect(await company.statements(uuid, "2000-03")).toEqual({ statements: [], earlier: null });
  for (const none of ["2025-13", "x", ""]) expect(await company.statements(uuid, none)).toBe(null);
});

it("goes on where nothing was in the account for more than a year", async () => {
  enterAt("2022-06-01T00:00:00Z", 5_000_000);
  enterAt("2022-09-01T00:00:00Z", -5_000_000);
  ledger.nowMs = Date.parse("2026-11-30T00:00:00Z");
  const monthsOf = async (until: string | null) =>
    (await company.statements(uuid, until))?.statements.map(({ month }) => month);
  expect(await monthsOf(null)).toEqual(["2022-09", "2022-08", "2022-07", "2022-06"]);
  enterAt("2026-11-30T00:00:00Z", 1_000_000);
  expect(await monthsOf(null)).toEqual(["2026-11"]);
  const { earlier = null } = (await company.statements(uuid, null)) ?? {};
  expect(await monthsOf(earlier)).toEqual(["2022-09", "2022-08", "2022-07", "2022-06"]);
});
