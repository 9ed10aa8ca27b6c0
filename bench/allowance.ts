// Two retrieval surfaces of one node, which differ only in whether an answer is paid for out of a prepaid allowance.

import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { ledgerRef } from "../actors/messages/refs.ts";
import type { RunningNode } from "../node/start.ts";
import { buildSurfaces } from "../node/surfaces.ts";
import type { PriceList } from "../protocol/price-list.ts";
import { type Allowance, createAllowance } from "../service/allowance.ts";

export interface AllowanceSurfaces extends AsyncDisposable {
  /** Ports of the surface that takes payment, and of the one that does not. */
  readonly ports: { readonly paid: number; readonly free: number };
  /** How many answers were paid for until now. Throws if the ledger lent nothing for them. */
  paid(): Promise<number>;
}

const search = { products: 1, business_files: 1, events: 1, jobs: 1, updates: 1 };
const prices: PriceList = {
  currency: "EUR",
  versions: [{ version: 1, effective_from: "2026-01-01T00:00:00.000Z", search, fetch: 1 }],
};
/** More than any run spends. */
const money = 1_000_000_000_000;

export async function openAllowanceSurfaces(
  { services, urls }: RunningNode,
  company: string,
): Promise<AllowanceSurfaces> {
  const { actors, config, clock, elapsedMs } = services;
  const ledger = ledgerRef(company);
  await actors.ask(ledger, {
    ...{ type: "money.enter", entry_id: "bench", kind: "top_up", amount: money },
    ...{ currency: "EUR", by: "bench", reason: "bench" },
  });
  const holder = () => `${config.region}/${services.lease() ?? "none"}`;
  const allowance = createAllowance({ actors, prices: () => prices, holder, clock, elapsedMs });
  let paid = 0;
  const counted: Allowance = {
    ...allowance,
    pay: (payer, priced) => {
      paid += 1;
      return allowance.pay(payer, priced);
    },
  };
  const built = [counted, null].map((each) =>
    buildSurfaces(
      { ...services, allowance: each },
      {
        ...{ urls, ports: [], logger: pino({ level: "silent" }), audit: { record: () => {} } },
        access: { hosts: [], token: "", isLoopback: true },
      },
      { hosts: null },
    ),
  );
  const ports: number[] = [];
  for (const { retrieval } of built) {
    await retrieval.listen({ host: "127.0.0.1", port: 0 });
    ports.push((retrieval.server.address() as AddressInfo).port);
  }
  return {
    ports: { paid: ports[0] ?? 0, free: ports[1] ?? 0 },
    paid: async () => {
      const report = await actors.ask(ledger, { type: "ledger.read" });
      if (paid > 0 && (report?.reserved ?? 0) === 0) throw new Error("the ledger lent nothing");
      return paid;
    },
    [Symbol.asyncDispose]: async () => {
      await allowance.giveBack("all");
      await Promise.all(built.flatMap((surfaces) => Object.values(surfaces).map((each) => each.close())));
    },
  };
}
