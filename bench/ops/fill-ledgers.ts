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

export interface FilledLedgers {
  /** One of those that stay in memory. */
  readonly watched: ActorRef<"ledger">;
  /** Uses those in memory again: an actor that is idle for a minute leaves it. */
  touch(): Promise<void>;
  /** Changes what a view of the counts and of the watched account shows, every `everyMs`, until stopped. */
  stir(everyMs: number): () => Promise<void>;
}

/** Each commit waits for the disk; the more wait together, the fewer waits there are. */
const atOnce = 2_048;

export async function fillLedgers(
  { actors }: Pick<NodeServices, "actors">,
  { known, active }: LedgerLoad,
): Promise<FilledLedgers> {
  const kept: ActorRef<"ledger">[] = [];
  const lanes = new Semaphore(atOnce);
  const enter = (ref: ActorRef<"ledger">, entry: string, isNew = false): Promise<unknown> =>
    actors.ask(
      ref,
      {
        ...{ type: "money.enter", entry_id: entry, kind: "top_up", amount: 1_000_000 },
        ...{ currency: "EUR", by: "bench", reason: "bench" },
      },
      { isNew },
    );
  await lanes.all(
    Array.from({ length: known }, (_, index) => async () => {
      const ref = ledgerRef(randomUUID());
      await enter(ref, "first", true);
      if (index < known - active) actors.passivate(ref);
      else kept.push(ref);
    }),
  );
  const [watched, other] = kept;
  if (watched === undefined || other === undefined) throw new Error("at least two accounts stay in memory");
  let entries = 0;
  return {
    watched,
    touch: async () => {
      await lanes.all(kept.map((ref) => () => actors.ask(ref, { type: "ledger.read" })));
    },
    stir: (everyMs) => {
      let isStopped = false;
      const stirred = (async () => {
        while (!isStopped) {
          entries += 1;
          await enter(watched, `stir-${entries}`);
          if (entries % 2 === 0) await actors.ask(other, { type: "ledger.read" });
          else actors.passivate(other);
          await new Promise((resolve) => void setTimeout(resolve, everyMs));
        }
      })();
      return async () => {
        isStopped = true;
        await stirred;
      };
    },
  };
}
