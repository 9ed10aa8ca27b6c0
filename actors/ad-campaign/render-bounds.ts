// How fast a campaign may be spent, and how much of it by one company. A render is the word of the company that earns by it, so what
// bounds it must not depend on that word.
//   RB1. A day (UTC) costs at most twice the even share of the budget, and at least a hundred renders, as far as the budget goes.
//   RB2. One company causes at most half of what a day may cost, a tenth of it in an hour, and half of the budget in all; but never
//        less than 50 renders a day, 20 an hour and 100 in all, since a small campaign could not run otherwise.
//   RB3. What is reversed is given back to the campaign, and not to the bounds of the company that caused it.

import type { CampaignTerms, DayOfCompany } from "../messages/ads.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const dailyShares = 2;
const leastRenders = { ofDay: 100, companyOfHour: 20, companyOfDay: 50, company: 100 };

/** What was spent on the day, and in the hour, that it names: numbers of days and hours since 1970. */
export interface SpentOfDay {
  readonly day: number;
  readonly of_day: number;
}

/** What one company caused. Amounts are of the campaign's currency; they leave the actor with nothing. */
export interface CompanyRenders extends SpentOfDay {
  readonly hour: number;
  readonly of_hour: number;
  readonly spent: number;
  readonly given_back: number;
  readonly renders: number;
  /** Renders that operators reversed. */
  readonly reversed: number;
  readonly clicks: number;
  readonly last_at_ms: number;
  readonly days: readonly DayOfCompany[];
}

/** Days that are kept of a company: a day and the week before it. */
const daysMax = 8;

export const noRenders: CompanyRenders = {
  ...{ day: 0, of_day: 0, hour: 0, of_hour: 0, spent: 0, given_back: 0, renders: 0, reversed: 0 },
  ...{ clicks: 0, last_at_ms: 0, days: [] },
};

/** What a day may cost (RB1). */
export function dayMax({
  budget,
  gross_price,
  starts_at_ms,
  ends_at_ms,
}: Pick<CampaignTerms, "budget" | "gross_price" | "starts_at_ms" | "ends_at_ms">): number {
  const days = Math.max(1, Math.ceil((ends_at_ms - starts_at_ms) / dayMs));
  return Math.min(
    budget,
    Math.max(Math.floor((dailyShares * budget) / days), leastRenders.ofDay * gross_price),
  );
}

/** When the next render may be charged again; null if the day has room for one. */
export function resumesAt(terms: CampaignTerms, spent: SpentOfDay, nowMs: number): number | null {
  const day = Math.floor(nowMs / dayMs);
  const ofDay = spent.day === day ? spent.of_day : 0;
  return ofDay + terms.gross_price > dayMax(terms) ? (day + 1) * dayMs : null;
}

export function addToDay<T extends SpentOfDay>(spent: T, amount: number, nowMs: number): T {
  const day = Math.floor(nowMs / dayMs);
  return { ...spent, day, of_day: amount + (spent.day === day ? spent.of_day : 0) };
}

/** What a company has caused with one more render. */
export function withRender(before: CompanyRenders, amount: number, nowMs: number): CompanyRenders {
  const hour = Math.floor(nowMs / hourMs);
  return {
    ...addToDay(before, amount, nowMs),
    ...{ hour, of_hour: amount + (before.hour === hour ? before.of_hour : 0) },
    ...{ spent: before.spent + amount, renders: before.renders + 1, last_at_ms: nowMs },
    days: withStatement(before.days, "renders", nowMs),
  };
}

export function withClick(before: CompanyRenders, nowMs: number): CompanyRenders {
  return { ...before, clicks: before.clicks + 1, days: withStatement(before.days, "clicks", nowMs) };
}

function withStatement(
  days: readonly DayOfCompany[],
  kind: "renders" | "clicks",
  nowMs: number,
): readonly DayOfCompany[] {
  const day = Math.floor(nowMs / dayMs);
  const known = days.find((each) => each.day === day) ?? { day, renders: 0, clicks: 0 };
  const earlier = days.filter((each) => each.day < day && each.day > day - daysMax);
  return [...earlier, { ...known, [kind]: known[kind] + 1 }];
}

/** Whether a company causes more than it may with the render that it has been charged with here (RB2). */
export function isOverCompanyBound(after: CompanyRenders, terms: CampaignTerms): boolean {
  const atLeast = (share: number, renders: number): number => Math.max(share, renders * terms.gross_price);
  return (
    after.of_hour > atLeast(dayMax(terms) / 10, leastRenders.companyOfHour) ||
    after.of_day > companyDayMax(terms) ||
    after.spent > atLeast(terms.budget / 2, leastRenders.company)
  );
}

/** How many renders of a day one company may cause (RB2). */
export function companyRendersOfDay(terms: CampaignTerms): number {
  return Math.floor(companyDayMax(terms) / terms.gross_price);
}

function companyDayMax(terms: CampaignTerms): number {
  return Math.max(dayMax(terms) / 2, leastRenders.companyOfDay * terms.gross_price);
}
