// The commands of the actor that sequences the transparency log. There is one for the whole deployment, in its home region.

import type { LogEntry } from "../../protocol/log/leaves.ts";
import type { DoneReply } from "./protocol.ts";

/** A tree head as the sequencer committed it. */
export interface TreeHead {
  readonly size: number;
  /** `sha256:<hex>`. */
  readonly root: string;
}

/** A tree head whose signed note is at hand. */
export interface SignedHead extends TreeHead {
  readonly note: string;
}

/** Why the sequencer neither writes nor signs anything; stable names, which operators see. */
export type HeadFault =
  /** This node has no key of the log. */
  | "log_key_missing"
  /** Too few witnesses confirmed the newest checkpoint that is known here. */
  | "head_unconfirmed"
  /** A witness cosigned a tree that this log does not continue. */
  | "checkpoint_behind_witness"
  /** Something is missing of the tree that was published, or of the head. */
  | "log_incomplete"
  /** The head does not continue what was published. */
  | "log_forked";

/** What became of the comparison of the head with what was published. */
export type HeadFinding =
  | { readonly kind: "kept" }
  /** The newest published tree, which the head is a beginning of, and all of which is there. */
  | { readonly kind: "adopted"; readonly head: TreeHead }
  | { readonly kind: "refused"; readonly reason: HeadFault; readonly detail: string };

/** How the sequencer stands to its head. */
export interface HeadStanding {
  /** Whether it may write and sign: nothing was lost since it was last compared with what was published. */
  readonly isConfirmed: boolean;
  /** How often its home was lost (`eraOf`), and whether it has been since the head was compared. */
  readonly era: number;
  readonly isTakenOver: boolean;
  readonly head: TreeHead;
  readonly published: TreeHead | null;
  readonly publishing: TreeHead | null;
  /** The checkpoint that an operator handed over. */
  readonly supplied: SignedHead | null;
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
  /** The checkpoint of this tree can be read by anybody; `leaf` is the hash of its text, `policy` names that of its witnesses. */
  "log.published"(command: {
    readonly head: TreeHead;
    readonly leaf: string;
    readonly policy: string;
  }): DoneReply;
  /** Too few witnesses cosigned the checkpoint of this tree so far; `detail` says which did not, and why. */
  "log.unwitnessed"(command: { readonly head: TreeHead; readonly detail: string }): DoneReply;
  /**
   * A node of the log's home is there, with this policy of witnesses: if the home was lost, or the policy is another one than the
   * published checkpoint has, the head is compared and its checkpoint published again.
   */
  "log.open"(command: { readonly policy: string }): DoneReply;
  /** Read-only. */
  "log.standing"(command: object): HeadStanding;
  /** What was to be written or signed was not: the head is to be compared with what was published. */
  "log.doubt"(command: object): DoneReply;
  /** The outcome of that, and the newest checkpoint that was found. */
  "log.judge"(command: {
    readonly era: number;
    readonly finding: HeadFinding;
    readonly published: TreeHead | null;
  }): DoneReply;
  /** An operator hands over the newest checkpoint; its signatures were verified. */
  "log.supply"(command: { readonly checkpoint: SignedHead }): { readonly status: "taken" | "not_held" };
}

/** Entries in one append. */
export const appendedMax = 100;
/** Entries in one batch. */
export const batchMax = 1_024;
