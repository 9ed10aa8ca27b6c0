// Port: a witness as the log reaches it. Every implementation passes transport/witness-port.conformance.ts.
//
// Obligations of an implementation:
//   P1. What was asked is sent as C2SP tlog-witness says, and the answer is passed on as it is: nobody has judged it yet.
//   P2. An answer has a bounded length. After `cancel`, the reply rejects soon, and nothing of it is held open.

import type { AddCheckpoint, NoteKey } from "../protocol/log/note.ts";

export type WitnessReply =
  /** The lines that it answered. */
  | { readonly kind: "cosigned"; readonly lines: string }
  /** It cosigned a tree of this size last. */
  | { readonly kind: "at"; readonly size: number }
  | { readonly kind: "refused"; readonly status: number };

export interface WitnessCall {
  /** Rejects if the witness cannot be reached or does not answer as such. */
  readonly reply: Promise<WitnessReply>;
  readonly cancel: () => void;
}

export interface ReachedWitness {
  readonly key: NoteKey;
  addCheckpoint(request: AddCheckpoint): WitnessCall;
}

/** Characters of an answer, at most. */
export const witnessAnswerMax = 16_384;

/** A checkpoint that witnesses are to cosign, and what they need to see that it continues earlier ones. */
export interface CosignRequest {
  /** The checkpoint as the log signed it. */
  readonly note: string;
  readonly size: number;
  /** The size of the checkpoint that is in force; 0 for none. */
  readonly publishedSize: number;
  /** The proof from an earlier tree, of at least one leaf. */
  readonly proofFrom: (size: number) => Promise<readonly Uint8Array[]>;
}

/** The note with its cosignatures, or why there are too few of them at the moment. */
export type Cosigned = ({ readonly note: string } | { readonly missing: string }) & {
  /** Says of which witnesses it is certain that they cosigned a tree that this one does not continue. */
  readonly disputed?: string;
};

/** Has a checkpoint cosigned as the log's policy asks; ends in bounded time. */
export type Cosign = (request: CosignRequest) => Promise<Cosigned>;
