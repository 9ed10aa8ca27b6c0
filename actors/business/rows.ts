// Keyed rows of a business actor: record heads (16), answers to chunks (17), register entries (18), admissions (19), mandates
// by id (20) and by the key that they are for (21, mandates.ts), acts that somebody gave a name and a reason for (22, acts.ts).

import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { AssignReply, HeldReason, LeafAssignment, Listings } from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";

export const rt = {
  head: 16,
  answer: 17,
  register: 18,
  admission: 19,
  mandate: 20,
  mandateOfKey: 21,
  act: 22,
} as const;

/** What the business knows of one of its records. */
export interface HeadRow {
  readonly collection: string;
  /** Versions published so far. */
  readonly generation: number;
  readonly change: number;
  readonly live: boolean;
  /** Number of the push, withdrawal or deletion that was applied last. */
  readonly number: number;
  readonly hash: string;
  /** The business's own product id, where there is one. */
  readonly bpid: string | null;
  readonly listings: Listings;
  /** Hash of the document that took the record out of serving; absent while it is live. */
  readonly removed_by?: string;
}

export interface Admission {
  readonly number: number;
  readonly held_reasons: readonly HeldReason[];
}

export interface RegisterRow {
  readonly partition: string;
  readonly change: number;
  readonly body: string;
}

export function headOf(view: ActorView, recordId: string): HeadRow | undefined {
  const row = view.row(rt.head, 0, recordId);
  return row && parseHead(row.body);
}

export function headRow(recordId: string, head: HeadRow): PartitionRow {
  return { rt: rt.head, k: 0, k2: recordId, body: headText(head) };
}

type PackedHead = readonly [
  collection: string,
  generation: number,
  change: number,
  live: 0 | 1,
  number: number,
  hash: string,
  bpid: string | null,
  listings: Listings,
  removedBy?: string,
];

/** Without the members' names: a chunk's heads are agreed on in one commit, and names are half of them. */
export function headText(head: HeadRow): string {
  const { collection, generation, change, live, number, hash, bpid, listings, removed_by: removedBy } = head;
  const packed: PackedHead = [collection, generation, change, live ? 1 : 0, number, hash, bpid, listings];
  return JSON.stringify(removedBy === undefined ? packed : [...packed, removedBy]);
}

/** Reads heads with names as well, as they were written before. */
export function parseHead(text: string): HeadRow {
  const stored = JSON.parse(text) as HeadRow | PackedHead;
  if ("collection" in stored) return stored;
  const [collection, generation, change, live, number, hash, bpid, listings, removedBy] = stored;
  const head = { collection, generation, change, live: live === 1, number, hash, bpid, listings };
  return removedBy === undefined ? head : { ...head, removed_by: removedBy };
}

/** A key of its own for each chunk, so that a chunk loads no other's answer. */
export function answerKey(pushId: string, chunk: number): string {
  return `${pushId}/${chunk}`;
}

export function answerOf(view: ActorView, pushId: string, chunk: number): AssignReply | undefined {
  const row = view.row(rt.answer, 0, answerKey(pushId, chunk));
  return row && parseAnswer(row.body);
}

const outcomes = ["accepted", "updated", "superseded", "duplicate"] as const;

type PackedAssignment = readonly [
  leafIndex: number,
  recordId: string,
  outcome: number,
  generation: number,
  change: number,
];

/** As with {@link headText}. */
export function answerText({ assigned_at_ms, assignments }: AssignReply): string {
  const packed = assignments.map(
    (each): PackedAssignment => [
      each.leaf_index,
      each.record_id,
      outcomes.indexOf(each.outcome),
      each.generation,
      each.change,
    ],
  );
  return JSON.stringify({ assigned_at_ms, assignments: packed });
}

/** As {@link parseHead}. */
export function parseAnswer(text: string): AssignReply {
  const { assigned_at_ms, assignments } = JSON.parse(text) as {
    readonly assigned_at_ms: number;
    readonly assignments: readonly (LeafAssignment | PackedAssignment)[];
  };
  return { assigned_at_ms, assignments: assignments.map(unpackAssignment) };
}

function unpackAssignment(stored: LeafAssignment | PackedAssignment): LeafAssignment {
  if ("outcome" in stored) return stored;
  const [leaf_index, record_id, place, generation, change] = stored;
  const outcome = outcomes[place];
  if (outcome === undefined) throw new Error("An answer to a chunk was not written by this actor.");
  return { leaf_index, record_id, outcome, generation, change };
}

export function admissionOf(view: ActorView, pushId: string): Admission | undefined {
  const row = view.row(rt.admission, 0, pushId);
  return row && (JSON.parse(row.body) as Admission);
}

/** How the names of mandates begin among those of register entries. */
export const mandatePrefix = "mandate/";

/** Selects register entries by `table/key`, wherever they are kept. */
export function selectRegister(keys: readonly string[]): readonly RowSelection[] {
  const ids = keys.flatMap((key) => mandateIdOf(key) ?? []);
  return [{ rt: rt.register, keys }, ...(ids.length === 0 ? [] : [{ rt: rt.mandate, keys: ids }])];
}

/** A register entry that {@link selectRegister} selected. Earlier releases kept mandates among the others. */
export function registerOf(view: ActorView, key: string): RegisterRow | undefined {
  const id = mandateIdOf(key);
  const row = (id === null ? undefined : view.row(rt.mandate, 0, id)) ?? view.row(rt.register, 0, key);
  return row && (JSON.parse(row.body) as RegisterRow);
}

export function mandateIdOf(key: string): string | null {
  return key.startsWith(mandatePrefix) ? key.slice(mandatePrefix.length) : null;
}

/** Names in the public register are of all parties together, and a mandate_id is unique within its business only. */
export function publicName(key: string, party: string): { readonly table: string; readonly key: string } {
  const slash = key.indexOf("/");
  const [table, name] = [key.slice(0, slash), key.slice(slash + 1)];
  return { table, key: mandateIdOf(key) === null ? name : `${party}/${name}` };
}
