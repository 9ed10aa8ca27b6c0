// In the process of a running node (serve.ts): actors for the operators' surface to show, which are accounts, because these are quick to
// make and wait for nothing.

import { randomUUID } from "node:crypto";
import { type ActorRef, ledgerRef } from "../../actors/messages/refs.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { running } from "../serve.ts";

export interface LedgerLoad {
  /** Accounts that the store knows afterwards, and how many of them stay in memory. */
  readonly known: number;
  readonly active: number;
}

/** Each commit waits for the disk; the more wait together, the fewer waits there are. */
const lanes = new Semaphore(2_048);
const kept: ActorRef<"ledger">[] = [];
let entries = 0;
let isStirring = false;
let stirred: Promise<void> = Promise.resolve();

function enter(ref: ActorRef<"ledger">, entry: string, isNew = false): Promise<unknown> {
  return running().services.actors.ask(
    ref,
    {
      type: "money.enter",
      entry_id: entry,
      kind: "top_up",
      amount: 1_000_000,
      currency: "EUR",
      by: "bench",
      reason: "bench",
    },
    { isNew },
  );
}

/** Makes accounts, and returns one of those that stay in memory, of which there must be two. */
export async function fill({ known, active }: LedgerLoad): Promise<ActorRef<"ledger">> {
  await lanes.all(
    Array.from({ length: known }, (_, index) => async () => {
      const ref = ledgerRef(randomUUID());
      await enter(ref, "first", true);
      if (index < known - active) running().services.actors.passivate(ref);
      else kept.push(ref);
    }),
  );
  return kept[0] as ActorRef<"ledger">;
}

/** Uses those in memory again: an actor that is idle for a minute leaves it. */
export async function touch(): Promise<void> {
  const { actors } = running().services;
  await lanes.all(kept.map((ref) => () => actors.ask(ref, { type: "ledger.read" })));
}

/** Changes what a view of the counts and of the watched account shows, every `everyMs`, until stopped. */
export function stir(everyMs: number): void {
  const { actors } = running().services;
  const [watched, other] = kept as [ActorRef<"ledger">, ActorRef<"ledger">];
  isStirring = true;
  stirred = (async () => {
    while (isStirring) {
      entries += 1;
      await enter(watched, `stir-${entries}`);
      if (entries % 2 === 0) await actors.ask(other, { type: "ledger.read" });
      else actors.passivate(other);
      await new Promise((resolve) => void setTimeout(resolve, everyMs));
    }
  })();
}

export async function stopStirring(): Promise<void> {
  isStirring = false;
  await stirred;
}

export const close = (): Promise<void> => stopStirring();
