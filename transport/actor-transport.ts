// Port: another node, as far as actors are concerned. Every implementation passes actor-transport.conformance.ts.
// A node that runs alone needs none.
//
// Obligations of an implementation:
//   M1. The messages of one delivery are handed over together and in order, and the receiver's own answer comes back.
//       Sending again what was not acknowledged is the sender's matter, knowing it again the receiver's: so between
//       two actors messages count in the order of their `seq`, each at least once.
//   M2. Every promise settles: a call whose answer is lost rejects, it never waits for ever.
//   M3. Nothing is believed because it arrived: a peer proves that it is of this cluster, and which node it is,
//       before its first message counts.
//   M4. A call is never repeated by the transport, and a message that the network doubled is executed once.
//   M5. A rejection is a {@link RemoteFailure}. Its effect is `not_applied` only if the other node never had the call,
//       or said so itself; everything doubtful is `unknown`.
//   M6. What waits is bounded: a call over the bound is refused at once as `overloaded`.
//   M7. What crosses is plain JSON: the two sides share no object.

import type { ActorRef } from "../actors/messages/refs.ts";
import { Unavailable, unavailableFacts } from "../std/unavailable.ts";

export type { ActorRef };

/** One message of an outbox on its way. */
export interface Delivery {
  /** Position in the sender's outbox; grows with every message. */
  readonly seq: number;
  /** Plain JSON, named by `type`. */
  readonly message: { readonly type: string };
}

/** One incarnation of a node. */
export interface RemoteTarget {
  /** Asks an actor there; rejects when there is no answer within `timeoutMs`. */
  ask(to: ActorRef, command: { readonly type: string }, timeoutMs: number): Promise<unknown>;
  /** Delivers in order and answers the highest `seq` that is committed at the receiver, 0 for none. */
  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number>;
}

/** What a node does with the calls of others. A rejection that is a {@link RemoteFailure}, or has its members, crosses. */
export interface TransportHandlers {
  ask(to: ActorRef, command: { readonly type: string }, timeoutMs: number): Promise<unknown>;
  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number>;
}

export const remoteFailureReasons = [
  "overloaded",
  "restarting",
  "quarantined",
  "draining",
  "timeout",
  "store",
  /** The actor does not live there, or that incarnation does not. */
  "not_here",
  /** No connection, or it was lost before the answer came. */
  "unreachable",
  /** Asking again does not help: too large, not understood, or a bug that the other node's log tells of. */
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
    /** For people and logs. */
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
 * A handler's rejection as it crosses: {@link Unavailable} for a reason that crosses, or whatever has its members, keeps
 * them; anything else is a bug there, `refused` with unknown effect.
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
