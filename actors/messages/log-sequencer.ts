// The commands of the actor that sequences the transparency log. There is one for the whole deployment, in its home region.

import type { LogEntry } from "../../protocol/log/entries.ts";
import type { DoneReply } from "./protocol.ts";

/** A tree head as the sequencer committed it. */
export interface TreeHead {
  readonly size: number;
  /** `sha256:<hex>`. */
  readonly root: string;
}

/** An entry that waits, and when it was appended. */
export interface PendingEntry {
  readonly place: number;
  readonly entry: LogEntry;
}

export interface LogSequencerProtocol {
  /** Repeatable: an entry of one leaf is in the log once, no matter who appends it and how often. At most {@link appendedMax}. */
  "log.append"(command: { readonly entries: readonly LogEntry[] }): DoneReply;
  /** The entries of the batch that is being sequenced, or else the oldest that wait; read-only. */
  "log.pending"(command: {
    /** The place after which to go on; -1 for the first. */
    readonly after: number;
    readonly limit: number;
  }): readonly PendingEntry[];
  /** What {@link chooseLeaves} found: up to which place the next batch goes, without those that the log has already. */
  "log.choose"(command: { readonly up_to: number; readonly known: readonly PendingEntry[] }): DoneReply;
  /** The tiles of this tree are durable. */
  "log.written"(command: { readonly head: TreeHead }): DoneReply;
  /** The checkpoint of this tree can be read by anybody; `leaf` is the hash of its text. */
  "log.published"(command: { readonly head: TreeHead; readonly leaf: string }): DoneReply;
  /** Too few witnesses cosigned the checkpoint of this tree so far; `detail` says which did not, and why. */
  "log.unwitnessed"(command: { readonly head: TreeHead; readonly detail: string }): DoneReply;
}

/** Entries in one append. */
export const appendedMax = 100;
/** Entries in one batch. */
export const batchMax = 1_024;
