// Actors' journals as a file: what an ActorStore shows of them, as the start of a simulation. Reading claims nothing, so
// the node that runs the actors is not disturbed. A journal holds what the actors know, which includes no private key; it
// does hold what businesses published and which requests were answered, so protect a file like the store that it came from.
//   E1. Each actor is read as a whole between two reads of its head that agree: it is as it was at some instant. Two
//       actors may be of different instants, as they are when a node dies between the commits of both.
//   E2. Bytes of unfinished pushes are included, because nobody could finish the pushes without them.

import { partsOf, placementOf } from "../actors/messages/refs.ts";
import { parseBase64, toBase64 } from "../protocol/bytes.ts";
import {
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type PartitionRow,
  rowTable,
} from "../storage/actor-store.ts";
import type { RecordStore } from "../storage/record-store.ts";

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

/** Actor kinds that have a journal. */
const kinds = ["business", "integration-key", "push"] as const;
/** Tables of a partition: the system's own, and those of the kinds, which are numbered from 16. */
const tables = [1, 2, 3, 4, 5, ...Array.from({ length: 8 }, (_, index) => rowTable.firstKeyed + index)];
const pageSize = 1_000;
const looksMax = 20;
const format = "svc journal 1";

export interface JournalSource {
  readonly actors: ActorStore;
  readonly records: RecordStore;
  /** The current time in Unix milliseconds. */
  readonly nowMs: number;
  /** Restricts the journal to the actors of these parties; null means all. */
  readonly parties: ReadonlySet<string> | null;
}

/** Throws what the stores throw, and an Error for an actor that commits faster than it can be read. */
export async function readJournal({ actors, records, nowMs, parties }: JournalSource): Promise<JournalFile> {
  const found: JournalActor[] = [];
  for (const kind of kinds) {
    for (let after = ""; ; ) {
      const ids = await actors.listActors(kind, after, pageSize);
      for (const id of ids) {
        const actor = concerns({ kind, id }, parties) ? await readActor(actors, { kind, id }) : null;
        if (actor !== null) found.push(actor);
      }
      const last = ids.at(-1);
      if (last === undefined || ids.length < pageSize) break;
      after = last;
    }
  }
  return { takenAtMs: nowMs, actors: found, staged: await readStaged(records, parties) };
}

function concerns(ref: ActorRef, parties: ReadonlySet<string> | null): boolean {
  if (parties === null) return true;
  const place = placementOf(ref);
  return "party" in place && parties.has(place.party);
}

/** Reads one actor (E1). Returns null for an actor that was claimed and never wrote. */
async function readActor(store: ActorStore, ref: ActorRef): Promise<JournalActor | null> {
  for (let look = 0; look < looksMax; look += 1) {
    const head = await store.readHead(ref);
    if (head === null || head.head === 0) return null;
    const rows: PartitionRow[] = [];
    for (const rt of tables) rows.push(...(await readTable(store, ref, rt)));
    const after = await store.readHead(ref);
    if (after?.epoch === head.epoch && after.head === head.head && after.op === head.op)
      return {
        ...ref,
        head,
        rows: rows.filter((row) => row.rt !== rowTable.event || row.k > head.snapshotSeq),
      };
  }
  throw new Error(`${ref.kind}/${ref.id} commits faster than it can be read`);
}

async function readTable(store: ActorStore, ref: ActorRef, rt: number): Promise<readonly PartitionRow[]> {
  const rows: PartitionRow[] = [];
  for (;;) {
    const last = rows.at(-1);
    const after = last === undefined ? {} : { after: { k: last.k, k2: last.k2 } };
    const page = await store.readRows(ref, [{ rt, limit: pageSize, ...after }]);
    rows.push(...page);
    if (page.length < pageSize) return rows;
  }
}

/** Reads the staged bytes of unfinished pushes (E2). */
async function readStaged(
  records: RecordStore,
  parties: ReadonlySet<string> | null,
): Promise<readonly StagedPush[]> {
  const staged: StagedPush[] = [];
  for (let after = ""; ; ) {
    const ids = (await records.stagedPushes(after, pageSize)).map(({ push_id }) => push_id);
    for (const id of ids) {
      if (parties !== null && !parties.has(partsOf(id).party)) continue;
      const leaves: Uint8Array[] = [];
      for (let page = await records.loadLeaves(id, 0, pageSize); page.length > 0; ) {
        leaves.push(...page);
        page = await records.loadLeaves(id, leaves.length, pageSize);
      }
      staged.push({ id, leaves, plan: await records.readStagedDocument(id, "plan") });
    }
    const last = ids.at(-1);
    if (last === undefined || ids.length < pageSize) return staged;
    after = last;
  }
}

/** Writes one line per actor, so that a large file can be searched. */
export function formatJournal({ takenAtMs, actors, staged }: JournalFile): string {
  const lines = [
    { format, takenAtMs },
    ...actors.map((actor) => ({ actor })),
    ...staged.map(({ leaves, ...rest }) => ({ staged: { ...rest, leaves: leaves.map(toBase64) } })),
  ];
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

interface Line {
  readonly format?: string;
  readonly takenAtMs?: number;
  readonly actor?: JournalActor;
  readonly staged?: Omit<StagedPush, "leaves"> & { readonly leaves: readonly string[] };
}

/** Throws a RangeError for a text that is not a journal. */
export function parseJournal(text: string): JournalFile {
  const [first, ...rest] = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => parseLine(line, index + 1));
  if (first?.format !== format || typeof first.takenAtMs !== "number")
    throw new RangeError(`not a journal: its first line does not say «${format}»`);
  return {
    takenAtMs: first.takenAtMs,
    actors: rest.flatMap(({ actor }) => (actor === undefined ? [] : [actor])),
    staged: rest.flatMap(({ staged }) =>
      staged === undefined ? [] : [{ ...staged, leaves: staged.leaves.map(bytesOf) }],
    ),
  };
}

function parseLine(line: string, number: number): Line {
  try {
    return JSON.parse(line) as Line;
  } catch {
    throw new RangeError(`not a journal: line ${number} is not JSON`);
  }
}

function bytesOf(text: string): Uint8Array {
  const bytes = parseBase64(text);
  if (bytes === null) throw new RangeError("not a journal: staged bytes are not base64");
  return bytes;
}
