// In some worlds answers cost money: which these are, what an answer costs, and how nodes come by their slices.
//   MW1. The prices do not change while a world lasts, so that everybody can say what an answer cost.
//   MW2. A node in `away` reaches no ledger, or hears nothing of what it asked. Of what others ask, few answers get lost.

import { ledgerActivities } from "../../actors/ledger/activities.ts";
import type { LedgerProtocol } from "../../actors/messages/ledger.ts";
import type { CommandOf } from "../../actors/messages/protocol.ts";
import { ledgerRef } from "../../actors/messages/refs.ts";
import type { Activity, ActorSystem } from "../../actors/system/definition.ts";
import type { PriceList } from "../../protocol/price-list.ts";
import { type Allowance, createAllowance } from "../../service/money/allowance.ts";
import { repeat } from "../../std/back-off.ts";
import type { Life } from "../kernel/life.ts";
import { Random } from "../kernel/random.ts";
import type { WorldParts } from "./world-parts.ts";

export interface Money {
  readonly prices: PriceList;
  /** What every search costs, and every fetch, in millionths. */
  readonly price: { readonly search: number; readonly fetch: number };
  /** Maximum number of receipts that a region gives a ledger at once: few, so that there are several pages. */
  readonly pageMax: number;
  /** Places of nodes from which no ledger can be asked now. */
  readonly away: Map<string, "lost" | "unanswered">;
  readonly draw: Random;
}

export const currency = "EUR";

/** Share of the worlds in which answers cost money. */
const presence = 0.15;
/** As in production. */
const giveBackEveryMs = 5_000;
/** Share of the pages that a ledger is given twice. */
const repeatedPages = 0.3;
/** Share of the requests to a ledger whose answers get lost although it can be asked. */
const unanswered = 0.1;

/** Null where nothing is charged. */
export function drawMoney(draw: Random): Money | null {
  if (!draw.chance(presence)) return null;
  const search = draw.between(1, 9);
  const fetch = draw.between(1, 9);
  const products = search;
  return {
    price: { search, fetch },
    prices: {
      currency,
      versions: [
        {
          version: 1,
          effective_from: "2026-01-01T00:00:00.000Z",
          fetch,
          search: { products, business_files: search, events: search, jobs: search, updates: search },
        },
      ],
    },
    pageMax: draw.between(1, 6),
    away: new Map(),
    draw: draw.fork("luck"),
  };
}

/** The generator for {@link drawMoney}, forked from that of a seed's world. */
export function moneyDraws(random: Random): Random {
  return random.fork("money");
}

/** Whether answers of a seed's world cost money, if it has no night. */
export function mayCostMoney(seed: number): boolean {
  return drawMoney(moneyDraws(Random.of(seed))) !== null;
}

interface Spender {
  readonly parts: WorldParts;
  readonly slot: { readonly name: string; readonly region: string };
  readonly life: Life;
  readonly clock: { readonly now: () => number };
  readonly actors: ActorSystem;
  readonly lease: () => string | null;
}

/** The allowances that a node spends; null where nothing is charged. */
export function allowanceOf({ parts, slot, clock, actors, lease }: Omit<Spender, "life">): Allowance | null {
  const { money, kernel, variation } = parts;
  if (money === null) return null;
  const deps = {
    actors: { ...actors, ask: reaching(parts, money, { actors, slot }) },
    prices: () => money.prices,
    holder: () => {
      const incarnation = lease();
      return incarnation === null ? null : `${slot.region}/${incarnation}`;
    },
    clock,
    elapsedMs: () => kernel.elapsed(),
  };
  return createAllowance(variation.allowance(deps));
}

/** See MW2. */
function reaching(
  { mark }: Pick<WorldParts, "mark">,
  { away, draw }: Money,
  { actors, slot }: Pick<Spender, "actors" | "slot">,
): ActorSystem["ask"] {
  return async (to, command, options) => {
    const fate = away.get(slot.name);
    if (fate === "lost") throw new Error("the ledger was not asked");
    const reply = await actors.ask(to, command, options);
    if (fate !== "unanswered" && !draw.chance(unanswered)) return reply;
    mark("ledger.unanswered");
    throw new Error("the ledger's answer was lost");
  };
}

/** Gives back what is idle from time to time; the returned function stops that and gives back everything. */
export function keepAllowance(
  allowance: Allowance | null,
  { life, slot }: Pick<Spender, "life" | "slot">,
): () => Promise<void> {
  if (allowance === null) return () => Promise.resolve();
  const stop = repeat({
    everyMs: giveBackEveryMs,
    timers: { schedule: (delayMs, run) => life.after(delayMs, `${slot.name} gives back`, run) },
    run: () => allowance.giveBack("idle"),
  });
  return async () => {
    const given = allowance.giveBack("all");
    await stop();
    await given;
  };
}

/** The activities of ledgers, with short pages of which some come twice; only what a region reads where nothing is charged. */
export function moneyActivities(
  { money, regions, mark }: Pick<WorldParts, "money" | "regions" | "mark">,
  given: Record<string, Activity>,
): Record<string, Activity> {
  if (money === null) return given;
  const truly = { ...given, ...ledgerActivities({ prices: () => money.prices, regions: () => regions }) };
  return {
    ...truly,
    readBillable: async (params: { readonly limit: number }, context) =>
      (await truly["readBillable"]?.({ ...params, limit: Math.min(params.limit, money.pageMax) }, context)) ??
      null,
    collectCharges: async (params: { readonly company: string }, context) => {
      const page = await truly["collectCharges"]?.(params, context);
      if (page === undefined || page === null || !money.draw.chance(repeatedPages)) return page ?? null;
      mark("ledger.page_repeated");
      const again = page as CommandOf<LedgerProtocol, "charges.collected">;
      await context.ask(ledgerRef(params.company), again).catch(() => {});
      return page;
    },
  };
}
