// A world that starts where a journal ends (service/log/journal-file.ts): its actors, with what they had in flight, are on the disks
// before the first node starts, and the register is what they report. Private keys are not in a journal, so businesses
// continue under new ones; nor are the records themselves, so a record that is never touched again is not judged.

import {
  type HeadRow,
  heads as headRows,
  mandateEntries,
  mandatePrefix,
  parseHead,
  publicName,
  type RegisterRow,
  registerEntries,
} from "../../actors/business/rows.ts";
import { placementOf } from "../../actors/messages/refs.ts";
import type { JournalActor, JournalFile } from "../../service/log/journal-file.ts";
import { type ActorRef, type PartitionRow, rowTable } from "../../storage/actor-store.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";
import { openSimRecordStore } from "../store/record-store.ts";
import type { StoreModel } from "../store/store-model.ts";
import type { WorldParts } from "./world-parts.ts";

/** What existed before the start of the world. */
export interface Before {
  /** Parties in the order of their ids. */
  readonly parties: readonly string[];
  /** What owners reported about their records, by record id; `bpid` is the business's own id. */
  readonly records: ReadonlyMap<
    string,
    { readonly generation: number; readonly change: number; readonly bpid: string | null }
  >;
  /** Unfinished pushes whose bytes are present. */
  readonly pushes: readonly ActorRef<"push">[];
  /** Record id for a business's own product id; undefined for one that it never had. */
  recordIdOf(businessUuid: string, localId: string): string | undefined;
}

export const nothingBefore: Before = {
  parties: [],
  records: new Map(),
  pushes: [],
  recordIdOf: () => undefined,
};

/** The clients of a world know this many of a business's records, as `p0`, `p1` and so on. */
const namedRecords = 40;

/** What the clients and checkers of a world must know about a journal. */
export function beforeOf({ actors, staged }: JournalFile): Before {
  const records = new Map<string, HeadRow>();
  const names = new Map<string, string>();
  const businesses = actors.filter(({ kind }) => kind === "business");
  for (const { id, rows } of businesses) {
    const heads = rows.filter(({ rt }) => rt === headRows.rt);
    heads.forEach(({ k2, body }, index) => {
      const head = parseHead(body);
      records.set(k2, head);
      if (head.collection !== "products") return;
      if (head.bpid !== null) names.set(`${id} ${head.bpid}`, k2);
      if (index < namedRecords) names.set(`${id} p${index}`, k2);
    });
  }
  const isStaged = new Set(staged.map((each) => each.id));
  return {
    parties: businesses.map(({ id }) => id).sort(),
    records,
    pushes: actors.flatMap(({ kind, id }) => (kind === "push" && isStaged.has(id) ? [{ kind, id }] : [])),
    recordIdOf: (business, localId) => names.get(`${business} ${localId}`),
  };
}

/** Writes everything to the disks, except what belongs to a region that this world does not have. */
export async function layDown(parts: WorldParts, { actors, staged, takenAtMs }: JournalFile): Promise<void> {
  const [home = ""] = parts.regions;
  for (const actor of actors) {
    const place = placementOf(actor);
    if (actor.kind === "business") {
      parts.homes.set(actor.id, home);
      await parts.cluster
        .handle(home)
        .casHome({ party: actor.id, region: home, moving_to: null, version: 1 });
    }
    const region = "party" in place ? home : place.region;
    if (parts.regions.includes(region)) layActor(parts.stores, actor, { region, takenAtMs });
    if (actor.kind === "business") layRegister(parts.stores, actor.rows);
  }
  const records = openSimRecordStore({ model: parts.stores, life: null, region: home });
  for (const { id, leaves, plan } of staged) {
    await records.stageLeaves(id, 0, leaves);
    if (plan !== null) await records.putStagedDocument(id, "plan", plan);
  }
}

function layActor(
  stores: StoreModel,
  actor: JournalActor,
  { region, takenAtMs }: { readonly region: string; readonly takenAtMs: number },
): void {
  const dueMs = actor.rows.flatMap(({ rt, body }) =>
    rt === rowTable.timer ? [(JSON.parse(body) as { readonly d: number }).d] : [],
  );
  if (actor.rows.some(({ rt }) => rt === rowTable.outbox)) dueMs.push(takenAtMs);
  stores.partition(actor).apply({
    head: { ...actor.head, home: region, wakeAtMs: dueMs.length === 0 ? null : Math.min(...dueMs) },
    puts: actor.rows,
    deletes: [],
  });
}

function layRegister(stores: StoreModel, rows: readonly PartitionRow[]): void {
  const cells = rows.flatMap(({ rt, k2, body }) => {
    const isMandate = rt === mandateEntries.rt;
    if (rt !== registerEntries.rt && !isMandate) return [];
    const row = JSON.parse(body) as RegisterRow;
    const { table, key } = publicName(isMandate ? `${mandatePrefix}${k2}` : k2, row.partition);
    const value: RegisterEntry = { ...row, table, key };
    return [{ key: `${table}/${key}`, value, stamp: value.change }];
  });
  for (const region of stores.regions)
    stores.tables.of<RegisterEntry>("register_entry").write(region, cells, "full");
}
