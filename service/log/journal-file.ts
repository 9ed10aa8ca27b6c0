// Actors' journals as a file: what an ActorStore shows of them, as the start of a simulation. Reading claims nothing, so
// the node that runs the actors is not disturbed. A journal holds what the actors know, which includes no private key; it
// does hold what businesses published and which requests were answered, so protect a file like the store that it came from.
//   E1. Each actor is read as a whole between two reads of its head that agree: it is as it was at some instant. Two
//       actors may be of different instants, as they are when a node dies between the commits of both.
//   E2. Bytes of unfinished pushes are included, because nobody could finish the pushes without them.
//   E3. Of named parties only actors whose ids begin with one are listed, so that the rest of the store costs nothing but a look at the list
//       of what is staged.
//   E4. What is read at most is bounded where a bound is given: the file is made in memory.

import { partsOf, placementOf } from "../../actors/messages/refs.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { Unavailable } from "../../std/unavailable.ts";
import {
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type PartitionRow,
  rowTable,
} from "../../storage/actor-store.ts";
import { type RecordStore, stagedPages } from "../../storage/record-store.ts";

export interface JournalActor {
  readonly kind: string;
  readonly id: string;
  readonly head: ActorHead;
  readonly rows: readonly PartitionRow[];
}

export interface StagedPush {
  /** `<business uuid>.<push id>`, or only the push id. */
  readonly id: string;
  readonly leaves: readonly Uint8Array[];
  readonly plan: string | null;
}

export interface JournalFile {
  /** Unix milliseconds at which the journal was taken. */
  readonly takenAtMs: number;
  readonly actors: readonly JournalActor[];
  readonly staged: readonly StagedPush[];
}

/** The kinds whose journals are the start of a simulation. */
export const exportedKinds = ["business", "integration-key", "push"] as const;
/** Tables of a partition: the system's own, and those of the kinds, which are numbered from 16. */
const tables = [1, 2, 3, 4, 5, ...Array.from({ length: 8 }, (_, index) => rowTable.firstKeyed + index)];
const pageSize = 1_000;
const looksMax = 20;
/** What the first line of a file says. */
export const journalFormat = "svc journal 1";

export interface JournalSource {
  readonly actors: ActorStore;
  readonly records: RecordStore;
  /** The current time in Unix milliseconds. */
  readonly nowMs: number;
  /** Restricts the journal to the actors of these parties; null means all. */
  readonly parties: ReadonlySet<string> | null;
  /** The bytes of rows and leaves that are read at most (E4); without it there is no bound. */
  readonly bytesMax?: number;
}

/** There is more than the bound allows (E4). */
export class JournalTooLarge extends Error {
  override readonly name = "JournalTooLarge";
}

/** Throws what the stores throw, `Unavailable` for an actor that commits faster than it can be read, and {@link JournalTooLarge}. */
export async function readJournal(source: JournalSource): Promise<JournalFile> {
  const { actors, nowMs, parties, bytesMax = Number.POSITIVE_INFINITY } = source;
  const budget = new Budget(bytesMax);
  const found: JournalActor[] = [];
  for (const kind of exportedKinds)
    for await (const id of idsOf((after) => actors.listActors(kind, after, pageSize), parties)) {
      const actor = concerns({ kind, id }, parties) ? await readActor(actors, { kind, id }, budget) : null;
      if (actor !== null) found.push(actor);
    }
  return { takenAtMs: nowMs, actors: found, staged: await readStaged(source, budget) };
}

class Budget {
  #left: number;

  constructor(bytesMax: number) {
    this.#left = bytesMax;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new JournalTooLarge("The journal has more bytes than may be read at once.");
  }
}

/** Pages through ids in order: through all of them, or through those that begin with one of the parties (E3). */
async function* idsOf(
  pageAfter: (after: string) => Promise<readonly string[]>,
  parties: ReadonlySet<string> | null,
): AsyncIterable<string> {
  for (const party of parties ?? [""]) {
    // The beginning of an id comes before the id, so this is just before the first one of the party.
    for (let after = party.slice(0, -1); ; ) {
      const ids = await pageAfter(after);
      yield* ids.filter((id) => id.startsWith(party));
      const last = ids.at(-1);
      if (last === undefined || ids.length < pageSize) break;
      if (last > party && !last.startsWith(party)) break;
      after = last;
    }
  }
}

function concerns(ref: ActorRef, parties: ReadonlySet<string> | null): boolean {
  if (parties === null) return true;
  const place = placementOf(ref);
  return "party" in place && parties.has(place.party);
}

/** Reads one actor (E1). Returns null for an actor that was claimed and never wrote. */
async function readActor(store: ActorStore, ref: ActorRef, budget: Budget): Promise<JournalActor | null> {
  for (let look = 0; look < looksMax; look += 1) {
    const head = await store.readHead(ref);
    if (head === null || head.op === "") return null;
    const rows: PartitionRow[] = [];
    for (const rt of tables) rows.push(...(await readTable(store, ref, { rt, budget })));
    const after = await store.readHead(ref);
    if (after?.epoch === head.epoch && after.head === head.head && after.op === head.op)
      return {
        ...ref,
        head,
        rows: rows.filter((row) => row.rt !== rowTable.event || row.k > head.snapshotSeq),
      };
  }
  throw new Unavailable(`${ref.kind}/${ref.id} commits faster than it can be read`, {
    reason: "busy_actor",
    effect: "not_applied",
    retryAfterSeconds: 10,
  });
}

async function readTable(
  store: ActorStore,
  ref: ActorRef,
  { rt, budget }: { readonly rt: number; readonly budget: Budget },
): Promise<readonly PartitionRow[]> {
  const rows: PartitionRow[] = [];
  for (;;) {
    const last = rows.at(-1);
    const after = last === undefined ? {} : { after: { k: last.k, k2: last.k2 } };
    const page = await store.readRows(ref, [{ rt, limit: pageSize, ...after }]);
    for (const { body } of page) budget.spend(body.length);
    rows.push(...page);
    if (page.length < pageSize) return rows;
  }
}

/** Reads the staged bytes of unfinished pushes (E2). */
async function readStaged(
  { records, parties }: JournalSource,
  budget: Budget,
): Promise<readonly StagedPush[]> {
  const staged: StagedPush[] = [];
  for (const id of await stagedIds(records)) {
    if (parties !== null && !parties.has(partsOf(id).party)) continue;
    const leaves: Uint8Array[] = [];
    for (let page = await records.loadLeaves(id, 0, pageSize); page.length > 0; ) {
      for (const leaf of page) budget.spend(leaf.length);
      leaves.push(...page);
      page = await records.loadLeaves(id, leaves.length, pageSize);
    }
    staged.push({ id, leaves, plan: await records.readStagedDocument(id, "plan") });
  }
  return staged;
}

async function stagedIds(records: RecordStore): Promise<readonly string[]> {
  const ids = new Set<string>();
  for await (const { pushes } of stagedPages(records, pageSize))
    for (const { push_id } of pushes) ids.add(push_id);
  return [...ids].sort();
}

/** Writes one line per actor, so that a large file can be searched. */
export function formatJournal({ takenAtMs, actors, staged }: JournalFile): string {
  const lines = [
    { format: journalFormat, takenAtMs },
    ...actors.map((actor) => ({ actor })),
    ...staged.map(({ leaves, ...rest }) => ({ staged: { ...rest, leaves: leaves.map(toBase64) } })),
  ];
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}
