// Messages of one sender put into a mailbox together: acknowledged in order, as far as they became true.

import { traceparentOf } from "../../std/tracing.ts";
import type { Message } from "./definition.ts";
import { type Envelope, envelopeOf } from "./envelope.ts";
import type { Delivery } from "./ports.ts";

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
