// The activity of a ledger: what a region served to its company, as charges.

import type { PriceList } from "../../protocol/price-list.ts";
import { priceOf } from "../../protocol/price-list.ts";
import type { LedgerCharge, LedgerProtocol } from "../messages/ledger.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { regionRef } from "../messages/refs.ts";
import type { BillableAnswer } from "../messages/region.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

export interface LedgerPorts {
  /** Null where nothing is charged. */
  readonly prices: () => PriceList | null;
  readonly regions: () => readonly string[];
}

/** Number of receipts in a page, and in one where each nonce is looked up and kept. */
const pageMax = { alone: 1_000, shared: 200 } as const;

type Collected = CommandOf<LedgerProtocol, "charges.collected">;

interface CollectCharges {
  readonly region: string;
  readonly company: string;
  readonly after: string;
}

/** What a ledger does outside its journal: it collects charges from the receipts of each region. */
export function ledgerActivities(ports: LedgerPorts): Record<string, Activity> {
  return {
    collectCharges: async (
      { region, company, after }: CollectCharges,
      context: ActivityContext<"ledger">,
    ): Promise<Collected> => {
      const shared = ports.regions().length > 1;
      const reply = await context.ask(regionRef(region), {
        type: "receipts.billable",
        work_id: context.workId,
        company,
        after,
        limit: shared ? pageMax.shared : pageMax.alone,
      });
      // A throw is retried: the region's receipts are charged once it answers.
      if (reply.status === "unavailable") throw new Error(`The receipts of ${region} cannot be read.`);
      const { answers, up_to, more, settled_ms } = reply;
      const prices = ports.prices();
      // What is passed over now is never looked at again: another node, or this one with the file, collects it later.
      if (prices === null && answers.length > 0) throw new Error("This node has no prices (SVC_PRICES).");
      return {
        type: "charges.collected",
        region,
        after,
        up_to,
        more,
        settled_ms,
        shared,
        at_ms: context.nowMs(),
        charges: prices === null ? [] : answers.flatMap((answer) => chargeOf(prices, region, answer)),
      };
    },
  };
}

/** What is free is not charged. */
function chargeOf(prices: PriceList, region: string, answer: BillableAnswer): readonly LedgerCharge[] {
  const { incarnation, retrieval_id: _id, ...facts } = answer;
  const price = priceOf(prices, { ...facts, atMs: facts.served_at_ms });
  return price === 0 ? [] : [{ ...facts, price, holder: `${region}/${incarnation}` }];
}
