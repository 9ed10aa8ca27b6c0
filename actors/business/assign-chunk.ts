// Assigns generations and change numbers to the leaves of one chunk, in one commit.

import type { BusinessEvent } from "../../machines/business.ts";
import type { Listings } from "../../protocol/price-shock.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { AssignReply, BusinessCommand, LeafAssignment, LeafClaim } from "../messages/business.ts";
import type { PushSeal } from "../messages/serving.ts";
import type { Decision } from "../system/definition.ts";
import { refusedAssignment, selectCancelled } from "./cancel.ts";
import { nameRows } from "./record-texts.ts";
import {
  answerKey,
  answers,
  type BusinessView,
  countListings,
  type HeadRow,
  heads,
  lastGeneration,
  lastNumber,
  lastPrices,
} from "./rows.ts";
import { nameInFiles, namingFiles, restate, type ServedFile, selectNamed } from "./serving.ts";
import { pushFault, sealRows, selectForFault } from "./standing.ts";

type AssignCommand = Extract<BusinessCommand, { type: "chunk.assign" }>;

interface Tally {
  listings: number;
  live: number;
}

/** The rows that the assignment of a chunk reads: its earlier answer, the heads of its records, and what decides whether they stand. */
export function selectForAssign(
  { push_id, chunk, leaves, refused, seal }: AssignCommand,
  { id: uuid, snapshot }: { readonly id: string; readonly snapshot: BusinessView["snapshot"] },
): readonly RowSelection[] {
  return [
    answers.select([answerKey(push_id, chunk)]),
    selectCancelled(push_id),
    heads.select([...leaves, ...refused].map(({ record_id }) => record_id)),
    ...selectNamed(namingFiles(leaves), uuid),
    ...selectForFault(seal, leaves, snapshot),
  ];
}

/** Gives the leaves of a chunk their generations and change numbers; the same chunk is answered the same again. */
export function assignChunk(
  command: AssignCommand,
  view: BusinessView,
): Decision<AssignReply, BusinessEvent> {
  const asked = answerKey(command.push_id, command.chunk);
  const known = answers.read(view, asked);
  if (known) return { reply: known };
  const refused = refusedAssignment(command.push_id, view);
  if (refused) return { reply: refused };
  const fault = pushFault(command.seal, command.leaves, view);
  if (fault !== null) {
    const { code, detail } = fault;
    return { reply: { assigned_at_ms: view.nowMs, assignments: [], fallen: { code, detail } } };
  }
  const changed = new Map<string, HeadRow>();
  const tally: Tally = { listings: 0, live: 0 };
  const assignments = command.leaves.map((leaf) => assignLeaf(leaf, command, view, changed, tally));
  const reply: AssignReply = { assigned_at_ms: view.nowMs, assignments };
  const restated = restate(changed, view);
  const puts: PartitionRow[] = [...changed].map(([recordId, head]) => heads.write(recordId, head));
  puts.push(
    ...restated.puts,
    ...sealRows(command),
    ...nameRows(command.refused, command.number, view),
    answers.write(asked, reply),
  );
  const takenDown = [...changed].flatMap(([id, head]) => (head.taken_down ? [id] : []));
  const named = nameInFiles(filesIn(command.leaves, assignments), view, new Set(takenDown));
  return {
    reply,
    events: [
      { type: "chunk.assigned", listings: tally.listings, live: tally.live },
      ...restated.events,
      ...named.events,
    ],
    puts: [...puts, ...named.puts],
    deletes: named.deletes,
  };
}

/** What the business files among the versions just assigned name. */
function filesIn(
  leaves: readonly LeafClaim[],
  assignments: readonly LeafAssignment[],
): ReadonlyMap<string, ServedFile> {
  const files = new Map<string, ServedFile>();
  for (const [at, { record_id, domains, brands = null }] of leaves.entries())
    if (domains !== undefined && (assignments[at]?.generation ?? 0) > 0)
      files.set(record_id, { domains, brands });
  return files;
}

function assignLeaf(
  leaf: LeafClaim,
  command: AssignCommand,
  view: BusinessView,
  changed: Map<string, HeadRow>,
  tally: Tally,
): LeafAssignment {
  const head = changed.get(leaf.record_id) ?? heads.read(view, leaf.record_id);
  const base = { leaf_index: leaf.leaf_index, record_id: leaf.record_id };
  if (head && head.number > command.number)
    return { ...base, outcome: "superseded", generation: 0, change: 0 };
  if (head && head.number === command.number)
    return { ...base, outcome: "duplicate", generation: 0, change: 0 };
  const generation = lastGeneration(view, head?.generation ?? 0) + 1;
  const change = lastNumber(view, head?.change ?? 0) + 1;
  const wasLive = head?.live ?? false;
  tally.listings += countListings(leaf.listings) - (wasLive && head ? countListings(head.listings) : 0);
  tally.live += wasLive ? 0 : 1;
  changed.set(leaf.record_id, {
    collection: command.collection,
    generation,
    change,
    live: true,
    number: command.number,
    hash: leaf.hash,
    bpid: leaf.business_product_id,
    listings: leaf.listings,
    ...formerOf(head, leaf.listings),
    ...(head?.deletions === undefined ? {} : { deletions: head.deletions }),
    ...(head?.taken_down ? { taken_down: true } : {}),
    ...(leaf.mandate === undefined ? {} : { mandate: leaf.mandate }),
    sealed_at_ms: sealedAtMs(command.seal),
  });
  return { ...base, outcome: wasLive ? "updated" : "accepted", generation, change };
}

/** The last prices of the listings that a version leaves out. */
function formerOf(head: HeadRow | undefined, listings: Listings): Pick<HeadRow, "former"> {
  const gone = Object.entries(lastPrices(head)).filter(([country]) => listings[country] === undefined);
  return gone.length === 0 ? {} : { former: Object.fromEntries(gone) };
}

/** When a push was sealed, in Unix milliseconds: it was not after it was received, whatever the clock of its sealer said. */
function sealedAtMs({ sealed_at, received_at }: PushSeal): number {
  return Math.min(Date.parse(sealed_at), Date.parse(received_at));
}
