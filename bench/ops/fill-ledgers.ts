// Fills a running node with actors for the operators' surface to show: accounts, which are quick to make and wait for nothing.

import { randomUUID } from "node:crypto";
import { type ActorRef, ledgerRef } from "../../actors/messages/refs.ts";
import type { NodeServices } from "../../node/services.ts";
import { Semaphore } from "../../std/semaphore.ts";

export interface LedgerLoad {
  /** Accounts that the store knows afterwards, and how many of them stay in memory. */
  readonly known: number;
  readonly active: number;
}

const atOnce = 512;

/** Returns a function that uses those in memory again: an actor that is idle for a minute leaves it. */
export async function fillLedgers(
  { actors }: Pick<NodeServices, "actors">,
  { known, active }: LedgerLoad,
): Promise<() => Promise<void>> {
  const kept: ActorRef<"ledger">[] = [];
  const lanes = new Semaphore(atOnce);
  await lanes.all(
    Array.from({ length: known }, (_, index) => async () => {
      const ref = ledgerRef(randomUUID());
      await actors.ask(ref, {
        ...{ type: "money.enter", entry_id: "bench", kind: "top_up", amount: 1_000_000 },
        ...{ currency: "EUR", by: "bench", reason: "bench" },
      });
      if (index < known - active) actors.passivate(ref);
      else kept.push(ref);
    }),
  );
  return async () => {
    await lanes.all(kept.map((ref) => () => actors.ask(ref, { type: "ledger.read" })));
  };
}
