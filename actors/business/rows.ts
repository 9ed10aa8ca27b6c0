// Keyed rows of a business actor: record heads (16), answers to chunks (17), register entries (18), admissions (19).

import type { PartitionRow } from "../../storage/actor-store.ts";
import type { AssignReply, HeldReason, Listings } from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";

export const rt = { head: 16, answer: 17, register: 18, admission: 19 } as const;

/** What the business knows of one of its records. Short names: there are many of them. */
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
  return row && (JSON.parse(row.body) as HeadRow);
}

export function headRow(recordId: string, head: HeadRow): PartitionRow {
  return { rt: rt.head, k: 0, k2: recordId, body: JSON.stringify(head) };
}

/** A key of its own for each chunk, so that a chunk loads no other's answer. */
export function answerKey(pushId: string, chunk: number): string {
  return `${pushId}/${chunk}`;
}

export function answerOf(view: ActorView, pushId: string, chunk: number): AssignReply | undefined {
  const row = view.row(rt.answer, 0, answerKey(pushId, chunk));
  return row && (JSON.parse(row.body) as AssignReply);
}

export function admissionOf(view: ActorView, pushId: string): Admission | undefined {
  const row = view.row(rt.admission, 0, pushId);
  return row && (JSON.parse(row.body) as Admission);
}

export function registerOf(view: ActorView, key: string): RegisterRow | undefined {
  const row = view.row(rt.register, 0, key);
  return row && (JSON.parse(row.body) as RegisterRow);
}
