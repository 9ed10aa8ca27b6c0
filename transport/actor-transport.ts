// Port: another node, as far as actors are concerned. Every implementation passes actor-transport.conformance.ts.
// A node that runs alone does not need one.
//
// Obligations of an implementation:
//   M1. The messages of one delivery are handed over together and in order, and the receiver's own answer is returned.
//       Resending what was not acknowledged is up to the sender, and recognising duplicates is up to the receiver, so
//       between two actors messages are ordered by `seq` and delivered at least once.
//   M2. Every promise settles: a call whose answer is lost rejects instead of waiting forever.
//   M3. Nothing is trusted merely because it arrived: a peer proves that it belongs to this cluster, and which node it
//       is, before its first message counts.
//   M4. The transport never retries a call, and a message that the network duplicated is executed once.
//   M5. A rejection is a {@link RemoteFailure}. Its effect is `not_applied` only if the other node never received the
//       call, or said so itself; in every doubtful case it is `unknown`.
//   M6. Every queue is bounded: a call over the bound is refused at once as `overloaded`.
//   M7. Only plain JSON crosses: the two sides share no object.
//   M8. The trace of a call and of each message arrives with it; what is not a valid `traceparent` is no trace.

import type { ActorRef } from "../actors/messages/refs.ts";
import { Unavailable, unavailableFacts } from "../std/unavailable.ts";

export type { ActorRef };

/** One outbox message in transit. */
export interface Delivery {
  /** Position in the sender's outbox; it grows with every message. */
  readonly seq: number;
  /** Plain JSON whose kind is given by `type`. */
  readonly message: { readonly type: string };
  /** The trace of what caused it, if that is recorded. */
  readonly traceparent?: string;
}

/** One incarnation of a node. */
export interface RemoteTarget {
  /**
   * Asks an actor on that node; rejects when there is no answer within `timeoutMs`. `traceparent` is the trace of what asks; null
   * if that is not recorded.
   */
  ask(
    to: ActorRef,
    command: { readonly type: string },
    timeoutMs: number,
    traceparent?: string | null,
  ): Promise<unknown>;
  /** Delivers in order and returns the highest `seq` committed at the receiver, or 0 if there is none. */
  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number>;
}

/** How a node handles calls from others. A rejection that is a {@link RemoteFailure}, or has its members, is passed on. */
export interface TransportHandlers {
  ask(
    to: ActorRef,
    command: { readonly type: string },
    timeoutMs: number,
    traceparent?: string | null,
  ): Promise<unknown>;
  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number>;
}

export const remoteFailureReasons = [
  "overloaded",
  "restarting",
  "quarantined",
  "draining",
  "timeout",
  "store",
  /** The actor is not on that node, or that incarnation is not running. */
  "not_here",
  /** There is no connection, or it was lost before the answer came. */
  "unreachable",
  /**
   * With effect `not_applied` and a time to wait, the other node does not know such a command: it is of an older release, and the
   * next one will. Otherwise a retry does not help: the call is too large, or hit a bug that the other node logs.
   */
  "refused",
] as const;

export type RemoteFailureReason = (typeof remoteFailureReasons)[number];

/** Why a call to another node has no answer. */
export type RemoteFailure = Unavailable<RemoteFailureReason>;

export function remoteFailure(
  reason: RemoteFailureReason,
  facts: {
    readonly retryAfterSeconds: number;
    readonly effect: Unavailable["effect"];
    /** Explanation for people and logs. */
    readonly detail?: string;
    readonly cause?: unknown;
  },
): RemoteFailure {
  const { retryAfterSeconds, effect, detail, cause } = facts;
  const more = detail === undefined ? "" : ` (${detail})`;
  const message = `the other node does not answer: ${reason}${more}`;
  return new Unavailable(message, { reason, retryAfterSeconds, effect }, { cause });
}

/**
 * Turns a handler's rejection into the form that crosses the network. An {@link Unavailable} with a transferable reason,
 * or anything with the same members, keeps them; anything else is a bug on that node and becomes `refused` with unknown
 * effect.
 */
export function asRemoteFailure(error: unknown): RemoteFailure {
  if (isRemoteFailure(error)) return error;
  const detail = error instanceof Error ? error.message : String(error);
  const facts = unavailableFacts(error);
  const reason = remoteFailureReasons.find((each) => each === facts?.reason);
  if (facts === null || reason === undefined)
    return remoteFailure("refused", { retryAfterSeconds: 1, effect: "unknown", detail, cause: error });
  const { effect, retryAfterSeconds } = facts;
  return remoteFailure(reason, { effect, retryAfterSeconds, detail, cause: error });
}

function isRemoteFailure(error: unknown): error is RemoteFailure {
  return error instanceof Unavailable && remoteFailureReasons.some((each) => each === error.reason);
}
