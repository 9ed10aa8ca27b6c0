// Where answers cost money, some minutes pass: companies go on asking, money is paid in, and nodes lose the ledgers from sight,
// die and are replaced, so that leases end and receipts are charged meanwhile. Then everybody stops until all is charged.

import { ledgerRef } from "../actors/messages/refs.ts";
import type { Random } from "./kernel/random.ts";
import { anyNode, type Cast, pause } from "./set-up.ts";
import { answerOf } from "./workload/journal.ts";
import { upgrade } from "./world/fault-driver.ts";
import type { World } from "./world/world.ts";

/** Longer than a lease lasts until what was lent under it is free again. */
const minutesMs = 290_000;
const paymentsMax = 4;
const troubleMaxMs = 25_000;
/** Long enough for every lease to end, the last minute to be closed, and its receipts to be charged. */
const chargingMaxMs = 600_000;
const lookMs = 15_000;
/** What the last node that died left settles within this time. */
const settleMs = 60_000;

/** Returns once everything is charged and nothing is reserved, or after a bound. */
export async function letMinutesPass(world: World, { companies, payers }: Cast): Promise<void> {
  const { kernel, money } = world.parts;
  if (money === null) return;
  kernel.tell("minutes pass");
  const untilMs = kernel.now() + minutesMs;
  // Nodes die once more: the log may be late until that has settled.
  world.observed.leaves.settlesBy(untilMs + settleMs);
  const random = world.random.fork("minutes");
  await Promise.all([
    ...companies.map((company) => company.linger(untilMs)),
    ...payers.map((payer) => payer.run(random.fork(payer.company).below(paymentsMax + 1), minutesMs)),
    makeTrouble(world, random.fork("trouble"), untilMs),
  ]);
  money.away.clear();
  await allIsCharged(
    world,
    companies.map(({ uuid }) => uuid),
  );
}

async function makeTrouble(world: World, random: Random, untilMs: number): Promise<void> {
  const { kernel, money, slots } = world.parts;
  for (let times = 1; kernel.now() < untilMs; times += 1) {
    const draw = random.fork(`${times}`);
    await pause(world, draw.between(100, troubleMaxMs));
    if (kernel.now() >= untilMs || !world.takes(`trouble#${times}`)) continue;
    const { name } = draw.pick(slots);
    const node = world.running.get(name);
    const what = draw.weighted({ away: 3, back: 3, crash: 1, upgrade: 1 });
    kernel.tell(`trouble: ${what} ${name}`);
    if (what === "away") money?.away.set(name, draw.pick(["lost", "lost", "unanswered"]));
    else if (what === "back") money?.away.delete(name);
    else if (node !== undefined && what === "crash") world.crash(node);
    else if (node !== undefined) upgrade(world, node);
  }
}

async function allIsCharged(world: World, companies: readonly string[]): Promise<void> {
  const { kernel, regions } = world.parts;
  const untilMs = kernel.now() + chargingMaxMs;
  for (;;) {
    await pause(world, lookMs);
    const node = await anyNode(world, regions[0] ?? "");
    const reports = await Promise.all(
      companies.map((company) =>
        answerOf(world, node.life, node.system.ask(ledgerRef(company), { type: "ledger.read" })),
      ),
    );
    if (reports.every((report) => report === null || report.holders.length === 0)) return;
    if (kernel.now() >= untilMs) {
      world.observed.violate("liveness", `money is still lent ${chargingMaxMs} ms after the last request`);
      return;
    }
  }
}
