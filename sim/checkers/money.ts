// Money at rest: each ledger has what was entered less what was served, each (keyid, nonce) once; nothing is reserved, and the
// statements say the same.

import type { LedgerEntry, LedgerReport } from "../../actors/messages/ledger.ts";
import { ledgerRef } from "../../actors/messages/refs.ts";
import { receiptFacts } from "../../protocol/receipt.ts";
import type { ReceiptRow } from "../../storage/receipt-store.ts";
import type { World } from "../world/world.ts";
import { askAtRest } from "./own-reads.ts";

interface Paid {
  readonly company: string;
  readonly entries: readonly LedgerEntry[];
}

export async function checkMoney(world: World, paid: readonly Paid[]): Promise<void> {
  if (world.parts.money === null) return;
  for (const { company, entries } of paid) {
    const report = await askAtRest(world, (node) =>
      node.system.ask(ledgerRef(company), { type: "ledger.read" }),
    );
    const entered = entries.reduce((sum, { amount }) => sum + amount, 0);
    const charged = servedTo(world, company);
    if (report !== null) await checkLedger(world, { company, report, entered, charged });
    else if (entered > 0 || charged > 0)
      world.observed.violate("charged-once", `${company} paid ${entered}, got ${charged}, and has no ledger`);
  }
}

interface Facts {
  readonly company: string;
  readonly report: LedgerReport;
  readonly entered: number;
  readonly charged: number;
}

async function checkLedger(world: World, { company, report, entered, charged }: Facts): Promise<void> {
  const { observed, parts } = world;
  if (charged > 0) observed.mark("money.charged");
  if (report.balance !== entered - charged)
    observed.violate(
      "charged-once",
      `${company} has ${report.balance}; ${entered} was entered and ${charged} was served`,
    );
  if (report.reserved !== 0)
    observed.violate("charged-once", `${report.reserved} of ${company} is reserved and every lease is over`);
  const month = new Date(parts.kernel.now()).toISOString().slice(0, 7);
  const statement = await askAtRest(world, (node) =>
    node.system.ask(ledgerRef(company), { type: "ledger.statement", month, after: null }),
  );
  const lines = statement?.lines.reduce((sum, { amount }) => sum + amount, 0);
  const made = statement?.entries.reduce((sum, { amount }) => sum + amount, 0);
  const said = [statement?.opening, statement?.entered, made, statement?.charged, lines, statement?.closing];
  const truth = [0, entered, entered, charged, charged, report.balance];
  if (said.join() !== truth.join())
    observed.violate("charged-once", `the statement of ${company} says ${said.join()}, not ${truth.join()}`);
}

/** What the billable answers in closed batches cost, received or not. */
function servedTo({ parts }: World, company: string): number {
  const { tables } = parts.stores;
  const prices = new Map<string, number>();
  for (const region of parts.regions) {
    const closed = tables.of<{ readonly ids: ReadonlySet<string> }>("receipt_batch_counted");
    for (const row of tables.of<ReceiptRow>("receipt").values(region)) {
      if (row.region !== region || row.company !== company || !row.billable) continue;
      if (closed.read(region, `${region}/${row.batch}`)?.ids.has(row.retrieval_id) !== true) continue;
      const { kind } = receiptFacts(row);
      const price = kind === "search" || kind === "fetch" ? parts.money?.price[kind] : undefined;
      prices.set(`${row.key_id} ${row.nonce}`, price ?? 0);
    }
  }
  return [...prices.values()].reduce((sum, price) => sum + price, 0);
}
