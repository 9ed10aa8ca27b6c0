// What is said to an integration-key actor: one per registered key.
// Id `<keyid>` at home: seq, caps, idempotency. Id `<keyid>@<region>` in each region: nonce claims.

import type { Commands, DoneReply } from "./protocol.ts";

export interface IdempotentAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Body text. */
  readonly body: string;
}

export interface IntegrationKeyProtocol {
  /** Claims a nonce until `expires_ms`, when its signature expires; durable before the reply. */
  "nonce.claim"(command: { readonly nonce: string; readonly expires_ms: number }): NonceReply;
  /** Claims the Idempotency-Key for a request. Repeated by the same worker it is answered the same, and renews the claim. */
  "idempotency.begin"(command: {
    readonly scope: string;
    readonly digest: string;
    /** Of the worker that answers the request, and of nobody else; nodes of earlier releases send none. */
    readonly token?: string;
    /** Only renews a claim that is still the worker's own: anything else is answered `in_progress` and begins nothing. */
    readonly renewal?: boolean;
  }): IdempotencyReply;
  "idempotency.settle"(command: {
    readonly scope: string;
    readonly digest: string;
    readonly answer: IdempotentAnswer;
  }): DoneReply;
  /** The worker's request ended without an answer to keep: the key is free again, if the claim is still its own. */
  "idempotency.release"(command: { readonly scope: string; readonly token?: string }): DoneReply;
  /** Read-only: may a body of `content_length` bytes with this digest be parsed? */
  "caps.check"(command: {
    readonly digest: string;
    readonly content_length: number;
    readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
  }): CapsReply;
  /** Read-only: is this seq acceptable for this push? */
  "seq.check"(command: { readonly seq: number; readonly push_id: string }): SeqReply;
  /** Commits (seq, push_id) and charges the caps, which other pushes may have used up meanwhile; the same pair again answers the same. */
  "push.charge"(command: {
    readonly seq: number;
    readonly push_id: string;
    readonly digest: string;
    readonly records: number;
    readonly bytes: number;
    readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
  }): ChargeReply;
  /** The key was revoked: it charges nothing any more. */
  "key.retire"(): DoneReply;
}

export type IntegrationKeyCommand = Commands<IntegrationKeyProtocol>;

export type NonceReply =
  | { readonly status: "claimed" }
  | { readonly status: "reused" }
  /** By the clock of the node that has the actor the signature has expired. */
  | { readonly status: "expired" };

export type IdempotencyReply =
  | { readonly status: "fresh" }
  | { readonly status: "replay"; readonly answer: IdempotentAnswer }
  | { readonly status: "conflict" }
  | { readonly status: "in_progress" };

export interface CapUsedUp {
  readonly status: "over";
  readonly cap: "records_per_hour" | "bytes_per_day";
  readonly retry_after_seconds: number;
}

export type CapsReply = { readonly status: "within"; readonly known_push_id: string | null } | CapUsedUp;

export type ChargeReply =
  | SeqReply
  /** Other pushes of the key were charged since its caps were checked. */
  | CapUsedUp
  /** The key was revoked. */
  | { readonly status: "retired" };

export type SeqReply =
  | { readonly status: "accepted" }
  /** Charged before: seq, and what was judged with it, is not judged again. */
  | { readonly status: "known" }
  | { readonly status: "seq_not_increasing"; readonly last_seq: number };
