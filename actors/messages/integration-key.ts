// The commands of an integration-key actor. There is one for each registered key.
// Id `<keyid>` at home: seq, caps and idempotency. Id `<keyid>@<region>` in each region: nonce claims.
// Also the command of a key-limits actor.

import type { CommandOf, Commands, DoneReply } from "./protocol.ts";

export interface IdempotentAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text. */
  readonly body: string;
}

export interface IntegrationKeyProtocol {
  /** Claims a nonce until its signature expires at `expires_ms`; the claim is durable before the reply. */
  "nonce.claim"(command: { readonly nonce: string; readonly expires_ms: number }): NonceReply;
  /**
   * Claims the Idempotency-Key for a request. When the same worker repeats it, the answer is the same and the claim is
   * renewed.
   */
  "idempotency.begin"(command: {
    readonly scope: string;
    readonly digest: string;
    /** Token of the one worker that answers the request. */
    readonly token: string;
    /** Only renews a claim that the worker still holds; otherwise the answer is `in_progress` and no claim is made. */
    readonly renewal?: boolean;
  }): IdempotencyReply;
  "idempotency.settle"(command: {
    readonly scope: string;
    readonly digest: string;
    readonly answer: IdempotentAnswer;
  }): DoneReply;
  /** The worker's request ended without an answer to keep: the key is free again if the worker still holds the claim. */
  "idempotency.release"(command: { readonly scope: string; readonly token: string }): DoneReply;
  /** Read-only: whether a body of `content_length` bytes with this digest may be parsed. */
  "caps.check"(command: {
    readonly digest: string;
    readonly content_length: number;
    readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
  }): CapsReply;
  /** Read-only: what the next seq must exceed. */
  "seq.read"(): { readonly last_seq: number | null };
  /** Read-only: whether this seq is acceptable for this push, and whether the caps have room for it. */
  "seq.check"(command: {
    readonly seq: number;
    readonly push_id: string;
    readonly charge: Pick<CommandOf<IntegrationKeyProtocol, "push.charge">, "records" | "bytes" | "caps">;
  }): SeqReply | CapUsedUp;
  /**
   * Commits (seq, push_id) and charges the caps, which other pushes may have used up in the meantime; the same pair again
   * gets the same answer.
   */
  "push.charge"(command: {
    readonly seq: number;
    readonly push_id: string;
    readonly digest: string;
    /** The request that charges; of several with one batch, the last one may take the charge back. */
    readonly attempt: string;
    readonly records: number;
    readonly bytes: number;
    readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
  }): ChargeReply;
  /**
   * Takes back the charge of a push that was not admitted: its seq is free, and the caps have what it used. Nothing if another request with
   * the same batch has relied on the charge since.
   */
  "push.uncharge"(command: { readonly push_id: string; readonly attempt: string }): DoneReply;
  /** Charges the caps with a withdrawal or deletion, as one record; the same document again gets the same answer. */
  "removal.charge"(command: {
    readonly document_hash: string;
    readonly digest: string;
    readonly bytes: number;
    readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
  }): RemovalChargeReply;
  /** The key was revoked: it is never charged again. */
  "key.retire"(): DoneReply;
}

export type IntegrationKeyCommand = Commands<IntegrationKeyProtocol>;

export type NonceReply =
  | { readonly status: "claimed" }
  | { readonly status: "reused" }
  /** The signature has expired by the clock of the node that runs the actor. */
  | { readonly status: "expired" };

export type IdempotencyReply =
  | { readonly status: "fresh" }
  | { readonly status: "replay"; readonly answer: IdempotentAnswer }
  | { readonly status: "conflict" }
  | { readonly status: "in_progress" };

export interface CapUsedUp {
  readonly status: "over";
  readonly cap: "records_per_hour" | "bytes_per_day";
  /** What is left of it until then. */
  readonly left: number;
  readonly retry_after_seconds: number;
}

export type CapsReply =
  | {
      readonly status: "within";
      readonly known_push_id: string | null;
      /** What is left of `bytes_per_day`. */
      readonly bytes_left: number;
    }
  | CapUsedUp;

export type ChargeReply =
  | SeqReply
  /** Other pushes of the key were charged after its caps were checked. */
  | CapUsedUp
  /** The key was revoked. */
  | { readonly status: "retired" };

export type RemovalChargeReply = Exclude<ChargeReply, { status: "seq_not_increasing" }>;

export type SeqReply =
  | { readonly status: "accepted" }
  /** It was charged before: seq, and everything judged with it, is not judged again. */
  | { readonly status: "known" }
  | { readonly status: "seq_not_increasing"; readonly last_seq: number };

// The command of a key-limits actor. There is one for each key in each region, with the id `<keyid>@<region>`. It has no
// journal.

/** The limits that are leased, by the names of their policies. */
export type LeasedLimitName = "request_rate" | "query_cost";

export type LimitRule =
  /** At most `units` in a window, which begins with the first that are spent after the last window has ended. */
  | { readonly kind: "window"; readonly units: number; readonly window_ms: number }
  /** At most `units` at once; `per_second` of them drain in each second, steadily. */
  | { readonly kind: "bucket"; readonly units: number; readonly per_second: number };

export interface LimitLease {
  readonly limit: LeasedLimitName;
  /** As the node that asks is configured; all nodes of a region should be configured alike. */
  readonly rule: LimitRule;
  /** Units that the node has spent without a lease. They are charged even if they are more than was left. */
  readonly spent: number;
  /** Units that requests wait for at the node: as many of them are leased as are left. */
  readonly need: number;
  /** Units to have in advance: at most half of what is then left is leased for that. */
  readonly want: number;
}

export interface KeyLimitsProtocol {
  /** Leases a slice of one of the key's limits to a node. */
  "limit.lease"(command: LimitLease): LeaseReply;
}

export interface LeaseReply {
  /** The units of the lease; fewer than `need` if no more are left. */
  readonly granted: number;
  /** How long the units may be spent, from when the node asked. */
  readonly for_ms: number;
  /** The units that are left after the lease. */
  readonly free: number;
  /** When at least one unit is free again if nobody takes any, from when the node has the reply; 0 if one is free now. */
  readonly retry_ms: number;
}
