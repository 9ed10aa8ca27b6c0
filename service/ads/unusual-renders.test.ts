import { describe, expect, it } from "vitest";
import type { DayOfCompany, RendersOfCompany } from "../../actors/messages/ads.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import { readUnusualRenders, unusualOn } from "./campaign-renders.ts";

const today = 20_000;
const company = (
  name: string,
  ...days: readonly (readonly [day: number, renders: number, clicks?: number])[]
) => ({
  company: name,
  days: days.map(([day, renders, clicks = 0]): DayOfCompany => ({ day, renders, clicks })),
});
const found = (companies: Parameters<typeof unusualOn>[1], day = today) =>
  unusualOn(day, companies, 50).map(({ company_uuid, of, count, usual }) => [company_uuid, of, count, usual]);

describe("UR1: what is unusual of a day", () => {
  it("is more than three times the mean of the company's own days of the week before, and never few", () => {
    const before = [
      [today - 7, 10],
      [today - 1, 20],
    ] as const;
    expect(found([company("a", ...before, [today, 46])])).toEqual([["a", "renders", 46, 15]]);
    expect(found([company("a", ...before, [today, 45])])).toEqual([]);
    expect(found([company("a", [today - 1, 6], [today, 20])])).toEqual([["a", "renders", 20, 6]]);
    expect(found([company("a", [today - 1, 1], [today, 19])])).toEqual([]);
    // A day of two weeks ago is of no use, nor is one later.
    expect(found([company("a", [today - 8, 1], [today, 500], [today + 1, 1])])).toEqual([
      ["a", "renders", 500, 0],
    ]);
  });

  it("is compared with others only where the company has no such day", () => {
    const others = [company("b", [today, 4]), company("c", [today, 6]), company("d", [today - 1, 90])];
    expect(found([company("a", [today, 20]), ...others])).toEqual([["a", "renders", 20, 5]]);
    expect(found([company("a", [today - 1, 10], [today, 20]), ...others])).toEqual([]);
  });

  it("is more than half of what the day allows a company where there is nothing to compare it with", () => {
    const silent = [company("b"), company("c", [today - 1, 90])];
    expect(found([company("a", [today, 25])])).toEqual([]);
    expect(found([company("a", [today, 26, 26]), ...silent])).toEqual([
      ["a", "renders", 26, 0],
      ["a", "clicks", 26, 0],
    ]);
    expect(unusualOn(today, [company("a", [today, 26])], 52)).toEqual([]);
  });

  it("counts clicks by themselves", () => {
    const clicked = company("a", [today - 1, 100, 3], [today, 100, 10]);
    expect(found([clicked])).toEqual([["a", "clicks", 10, 3]]);
    expect(found([clicked], today - 1)).toEqual([["a", "renders", 100, 0]]);
  });
});

it("UR2: a page has a hundred campaigns, each with all of its companies, today and yesterday", async () => {
  const ids = Array.from({ length: 130 }, (_, at) => `b.c${String(at).padStart(3, "0")}`);
  const asked: string[] = [];
  const companies = Array.from({ length: 150 }, (_, at): RendersOfCompany => {
    const { days } = company("", [today - 1, at === 149 ? 40 : 1], [today, 1]);
    return {
      company: `c${String(at).padStart(3, "0")}`,
      renders: 1,
      reversed: 0,
      clicks: 0,
      last_at_ms: 0,
      days,
    };
  });
  const deps = part<Parameters<typeof readUnusualRenders>[0]>({
    actors: rubbish({
      ask: async (
        { id }: { readonly id: string },
        { type, after = "" }: { readonly type: string; readonly after?: string },
      ) => {
        if (type === "campaign.read") return { company_day_max: 50 };
        asked.push(id);
        return companies.filter((each) => each.company > after).slice(0, 100);
      },
    }),
    actorStore: part<ActorStore>({
      listActors: async (_, after, limit) => ids.filter((id) => id > after).slice(0, limit),
    }),
    clock: { now: () => today * 86_400_000 + 5 },
  });
  const first = await readUnusualRenders(deps, "");
  expect([new Set(asked).size, asked.length, first.next_after]).toEqual([100, 200, "b.c099"]);
  expect(first.unusual[0]).toEqual({
    business_uuid: "b",
    campaign_id: "c000",
    company_uuid: "c149",
    day: "2024-10-03",
    of: "renders",
    count: 40,
    usual: 1,
  });
  const second = await readUnusualRenders(deps, "b.c099");
  expect([second.unusual.length, second.next_after]).toEqual([30, null]);
});
