// What was counted, at rest: no more than the receipts say, and no less than the answers that companies received unless a
// node died with counts; every answer has its event; nothing personal was kept, and no session of an earlier day.

import type { Envelope } from "../../protocol/dsse.ts";
import { openReceipt, type ReceiptV3 } from "../../protocol/receipt.ts";
import { dayOf } from "../../service/retrieval/insight.ts";
import { type InsightCount, insightKinds } from "../../storage/insight-store.ts";
import type { ReceiptRow } from "../../storage/receipt-store.ts";
import type { RecordHead } from "../../storage/record-store.ts";
import { pause } from "../set-up.ts";
import { subjectsAsked } from "../workload/company-agent.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import type { HeardReceipt } from "./served.ts";

const flushesMax = 50;
/** Longer than any write of a node, and the replication that follows it, take once nothing fails. */
const arrivalMs = 2_000;

/**
 * Lets every node write what it has counted, and waits until every region has it. What a node was writing of its own accord
 * counts as waiting again if that fails, so nothing is written before nothing waits after a pause.
 */
export async function writeCounts(world: World): Promise<void> {
  const waiting = (): readonly SimNode[] =>
    [...world.running.values()].filter(({ insight }) => insight.figures().waiting > 0);
  for (let times = 0; times < flushesMax; times += 1) {
    for (const { insight } of waiting()) await insight.flush().catch(() => {});
    if (waiting().length > 0) continue;
    await pause(world, arrivalMs);
    if (waiting().length === 0) return;
  }
  for (const { name } of waiting())
    world.observed.violate("counts-are-written", `${name} cannot write its counts`);
}

export function checkInsight(world: World, heard: readonly HeardReceipt[]): void {
  const stored = receiptsOf(world);
  const owners = ownersOf(world);
  const most = talliesOf([...stored.values()], owners);
  const nobodyDied = world.parts.nodes.size === world.running.size;
  const heardReceipts = heard.flatMap(({ retrievalId }) => stored.get(retrievalId) ?? []);
  const least = nobodyDied ? talliesOf(heardReceipts, owners) : new Map<string, Tally>();
  for (const region of world.parts.regions) {
    checkCounts(world, region, { most, least });
    checkSubjects(world, region);
    checkEvents(world, region, { stored, heard });
  }
  for (const { name, slot, insight } of world.running.values()) {
    const { sessionDay } = insight.figures();
    const today = dayOf(world.parts.kernel.now() + slot.skewMs);
    if (sessionDay !== "" && sessionDay < today && world.parts.night !== null)
      world.observed.violate("sessions-end-with-their-day", `${name} has sessions of ${sessionDay}`);
  }
}

interface Tally {
  searches: number;
  rows: number;
  fetches: number;
}

function receiptsOf({ parts }: World): ReadonlyMap<string, ReceiptV3> {
  const found = new Map<string, ReceiptV3>();
  for (const region of parts.regions)
    for (const row of parts.stores.tables.of<ReceiptRow>("receipt").values(region)) {
      const opened = openReceipt(JSON.parse(row.envelope) as Envelope);
      if (opened.ok && opened.value.v === 3) found.set(row.retrieval_id, opened.value);
    }
  return found;
}

function ownersOf({ parts }: World): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const region of parts.regions)
    for (const head of parts.stores.tables.of<RecordHead>("record_head").values(region))
      owners.set(head.record_id, head.business_uuid);
  return owners;
}

function nameOf(business: string, company: string, day: string): string {
  return `${business} ${company} ${day}`;
}

function talliesOf(
  receipts: readonly ReceiptV3[],
  owners: ReadonlyMap<string, string>,
): ReadonlyMap<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const receipt of receipts) {
    const named = receipt.rows.map((row) => owners.get(row.record_id) ?? "");
    for (const business of new Set(named)) {
      const name = nameOf(business, receipt.ai_company_uuid, receipt.served_at.slice(0, 10));
      const tally = tallies.get(name) ?? { searches: 0, rows: 0, fetches: 0 };
      tallies.set(name, tally);
      if (receipt.kind === "fetch") tally.fetches += 1;
      else {
        tally.searches += 1;
        tally.rows += named.filter((each) => each === business).length;
      }
    }
  }
  return tallies;
}

interface Bounds {
  readonly most: ReadonlyMap<string, Tally>;
  readonly least: ReadonlyMap<string, Tally>;
}

function checkCounts({ parts, observed }: World, region: string, { most, least }: Bounds): void {
  const counted = new Map<string, Tally>();
  for (const count of parts.stores.tables.of<InsightCount>("insight_shown").values(region)) {
    const name = nameOf(count.name, count.company, count.day);
    const known = counted.get(name) ?? { searches: 0, rows: 0, fetches: 0 };
    counted.set(name, {
      searches: known.searches + count.searches,
      rows: known.rows + count.rows,
      fetches: known.fetches + count.fetches,
    });
  }
  if (counted.size > 0) observed.mark("insight.counted");
  const nothing: Tally = { searches: 0, rows: 0, fetches: 0 };
  for (const [bounds, isBroken, words] of [
    [most, (is: number, bound: number) => is > bound, "more than"],
    [least, (is: number, bound: number) => is < bound, "less than"],
  ] as const) {
    const names = bounds === most ? counted.keys() : least.keys();
    for (const name of names)
      for (const what of ["searches", "rows", "fetches"] as const) {
        const is = (counted.get(name) ?? nothing)[what];
        const bound = (bounds.get(name) ?? nothing)[what];
        if (isBroken(is, bound))
          observed.violate("counted-once", `${name} has ${is} ${what} in ${region}, ${words} ${bound}`);
      }
  }
}

/** A request may be answered once in each region; each subject of it then counts once in each. */
function checkSubjects({ parts, observed, asked }: World, region: string): void {
  const sums = new Map<string, number>();
  for (const { name, company, searches } of parts.stores.tables
    .of<InsightCount>("insight_demand")
    .values(region)) {
    if (!subjectsAsked.includes(name))
      observed.violate("nothing-personal", `${JSON.stringify(name)} was kept in ${region}`);
    const key = `${company} ${name}`;
    sums.set(key, (sums.get(key) ?? 0) + searches);
  }
  if (sums.size > 0) observed.mark("insight.demand");
  for (const [key, sum] of sums) {
    const most = (asked.get(key) ?? 0) * parts.regions.length;
    if (sum > most) observed.violate("counted-once", `${key} was named ${sum} times, asked ${most}`);
  }
  const secrets = JSON.stringify(
    insightKinds.map((kind) => parts.stores.tables.of<InsightCount>(`insight_${kind}`).values(region)),
  );
  if (secrets.includes("session-of-"))
    observed.violate("nothing-personal", `a session_ref was kept in ${region}`);
}

interface StoredEvent {
  readonly region: string;
  readonly company: string;
  readonly body: string;
}

interface EventBody {
  readonly retrieval_id: string;
  readonly client_query_id: string | null;
  readonly rows: number;
}

function checkEvents(
  { parts, observed }: World,
  region: string,
  {
    stored,
    heard,
  }: { readonly stored: ReadonlyMap<string, ReceiptV3>; readonly heard: readonly HeardReceipt[] },
): void {
  const events = new Map<string, EventBody>();
  for (const { body, company, region: of } of parts.stores.tables
    .of<StoredEvent>("company_event")
    .values(region)) {
    const event = JSON.parse(body) as EventBody;
    const receipt = stored.get(event.retrieval_id);
    if (receipt?.ai_company_uuid !== company || receipt.rows.length !== event.rows)
      observed.violate("events-are-of-receipts", `${event.retrieval_id} of ${company} has no such receipt`);
    if (of === region) events.set(event.retrieval_id, event);
  }
  if (events.size > 0) observed.mark("insight.event");
  for (const receipt of heard) {
    if (receipt.region !== region) continue;
    const event = events.get(receipt.retrievalId);
    if (event === undefined || event.client_query_id !== receipt.clientQueryId)
      observed.violate(
        "every-answer-has-its-event",
        `${receipt.retrievalId} asked as ${receipt.clientQueryId}, its event says ${event?.client_query_id}`,
      );
  }
}
