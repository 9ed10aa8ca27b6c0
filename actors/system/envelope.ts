// An entry of an actor's mailbox.

import { traceparentOf } from "../../std/tracing.ts";
import type { CommitOutcome } from "../../storage/actor-store.ts";
import type { Message } from "./definition.ts";
import type { Delivery } from "./ports.ts";

export type EnvelopeKind =
  /** A caller waits for the reply. */
  | "ask"
  /** Nobody waits. */
  | "tell"
  /** A message from the outbox of another actor (or of the actor itself): deduplicated by sender and sequence (A3). */
  | "delivery"
  /** The result of an activity: it removes the activity's outbox row with the commit. */
  | "answer"
  /** A timer that is due: its event is applied to the machine directly. */
  | "timer";

export interface Envelope {
  readonly kind: EnvelopeKind;
  /** The command, or for a timer its event. */
  readonly message: Message;
  /** The sender of a delivery, or the id of a timer. */
  readonly from: string;
  /** The sequence of a delivery at its sender, or of an answer in the actor's own outbox, or the due time of a timer. */
  readonly seq: number;
  readonly resolve: ((reply: unknown) => void) | null;
  readonly reject: ((error: unknown) => void) | null;
  /** Called with the decision as soon as the commit that makes it true was handed to the store. */
  readonly ahead: ((reply: unknown, commit: Promise<CommitOutcome>) => void) | null;
  /** The instant, in Unix milliseconds, after which the caller no longer waits. */
  readonly deadlineMs: number;
  /** The trace of what sent it; null if that is not recorded. */
  readonly traceparent: string | null;
  /** Whether the caller has just drawn the actor's id, as far as is known, see {@link AskOptions}. */
  isNew: boolean;
  /** Number of activations that accepted it before and lost the actor without having applied it. */
  tries: number;
  /** True once a decision has left the caller waiting: its events may be committed already. */
  waited: boolean;
}

/** A message with its defaults: from nobody, at the first attempt. */
export function envelopeOf(
  kind: EnvelopeKind,
  message: Message,
  more: Partial<Omit<Envelope, "kind" | "message">> = {},
): Envelope {
  return {
    kind,
    message,
    from: more.from ?? "",
    seq: more.seq ?? 0,
    resolve: more.resolve ?? null,
    reject: more.reject ?? null,
    ahead: more.ahead ?? null,
    isNew: more.isNew ?? false,
    deadlineMs: more.deadlineMs ?? Number.POSITIVE_INFINITY,
    traceparent: more.traceparent ?? null,
    tries: 0,
    waited: false,
  };
}

// Messages of one sender put into a mailbox together: acknowledged in order, as far as they became true.

export type DeliveryDone = (acknowledged: number, error: unknown) => void;

/**
 * Posts `messages` in order. `post` returns why a message was refused, or null. `done` is called once, when all
 * are true or the first was refused or failed, with the highest sequence that is true and the reason for the rest.
 */
export function postDeliveries(
  from: string,
  messages: readonly Delivery[],
  post: (envelope: Envelope) => Error | null,
  done: DeliveryDone,
): void {
  let taken = 0;
  let expected = messages.length;
  let refusal: Error | null = null;
  let isOver = false;
  const finish = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    done(messages[taken - 1]?.seq ?? 0, error);
  };
  const resolve = (): void => {
    if (isOver) return;
    taken += 1;
    if (taken === expected) finish(refusal);
  };
  for (let index = 0; index < messages.length; index += 1) {
    const delivery = messages[index] as Delivery;
    const message: Message = delivery.message;
    const sent = { from, traceparent: traceparentOf(delivery.traceparent) };
    refusal = post(envelopeOf("delivery", message, { ...sent, seq: delivery.seq, resolve, reject: finish }));
    if (refusal === null) continue;
    // The messages before it are in the mailbox; the group is done when they are true.
    expected = index;
    if (taken === expected) finish(refusal);
    return;
  }
}
