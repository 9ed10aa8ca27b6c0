// Why the actors of money, of keys, of served ads and of regions wait.

import type { AdPoolContext } from "../ad-pool.ts";
import type { IntegrationKeyContext } from "../integration-key.ts";
import type { KeyLimitsContext } from "../key-limits.ts";
import type { LedgerContext } from "../ledger.ts";
import type { RegionContext } from "../region.ts";
import { at, atTime, calls, counted, over, timerEnd, type Waits, type WaitView, wait } from "./wait.ts";

export const ledgerWaits: Waits<LedgerContext> = {
  "account.unopened": () => wait("money", "Nothing was paid in yet."),
  "account.funded": calls("The account has money; nodes may borrow of it."),
  "account.exhausted": () =>
    wait("money", "The balance is spent: answers that cost something wait for a payment."),
  "slices.none": calls("No node has borrowed of the account."),
  "slices.lent": (view) => {
    const { holders, collecting } = view.context;
    const untilMs = timerEnd(view, "collect");
    const from = collecting.length === 0 ? "" : ` It waits for the receipts of ${collecting.join(", ")}.`;
    const words = `${counted(Object.keys(holders).length, "node")} borrowed of the account.${from} The next charges are collected at ${atTime(untilMs)}.`;
    return wait("charges", words, { next: at("goes_on", untilMs) });
  },
};

export const integrationKeyWaits: Waits<IntegrationKeyContext> = {
  live: calls("It waits for nothing but the next request with the key."),
  retired: over("The key was revoked and is charged no more."),
};

export const keyLimitsWaits: Waits<KeyLimitsContext> = {
  leasing: calls("It waits for nothing but the next node that leases a part of the limits."),
};

export const regionWaits: Waits<RegionContext> = {
  "index.serving": ({ context }) => {
    const open = openWork(context);
    if (open === 0)
      return wait("calls", "The region's index is up to date with everything that it was told.");
    return wait("index", `The region's index is working on ${counted(open, "piece")} of work.`);
  },
  "index.catching_up": ({ context }) =>
    wait(
      "index",
      `The region's index failed at its last work: ${context.lastFailure ?? "unknown"}. Callers try again.`,
      {
        attention: { reason: "index_lag", sinceMs: null },
      },
    ),
  "receipts.open": (view) => {
    const untilMs = timerEnd(view, "receiptBatch");
    const closed = counted(view.context.batchesClosed, "batch", "batches");
    const words = `It closed ${closed} of receipts since it was started here; what is due is closed next at ${atTime(untilMs)}.`;
    return wait("receipts", words, { next: at("goes_on", untilMs) });
  },
};

function openWork({ work }: RegionContext): number {
  return Object.values(work).filter((result) => result === null).length;
}

export const adPoolWaits: Waits<AdPoolContext> = {
  unknown: () => wait("pool", "It was named but never served."),
  served: (view) => pool(view, "renders", "renderable", "rendered"),
  clickable: (view) => pool(view, "clicks", "clickable", "clicked"),
  ended: over("Its ads can be neither rendered nor clicked any more."),
};

function pool(view: WaitView<AdPoolContext>, code: string, timer: string, done: string) {
  const untilMs = timerEnd(view, timer);
  const { items } = view.context;
  const words = `${counted(items.length, "ad")} may be ${done} until ${atTime(untilMs)}.`;
  return wait(code, words, { next: at("ends", untilMs) });
}

export const adSessionWaits: Waits<unknown> = {
  empty: calls("Nothing was shown in the conversation."),
  shown: calls("It remembers for an hour what the conversation was shown."),
  over: over("Nothing was shown for an hour: it is forgotten."),
};
