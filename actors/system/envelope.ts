// What lies in an actor's mailbox.

import type { CommitOutcome } from "../../storage/actor-store.ts";
import type { Message } from "./definition.ts";

export type EnvelopeKind =
  /** A caller waits for the reply. */
  | "ask"
  /** Nobody waits. */
  | "tell"
  /** From the outbox of another actor (or the actor itself): deduplicated by sender and sequence (A3). */
  | "delivery"
  /** The answer of an activity: removes its outbox row with the commit. */
  | "answer"
  /** A timer that is due: its event goes straight to the machine. */
  | "timer";

export interface Envelope {
  readonly kind: EnvelopeKind;
  /** The command; of a timer the event. */
  readonly message: Message;
  /** Sender of a delivery; id of a timer. */
  readonly from: string;
  /** Sequence of a delivery at its sender; of an answer in the actor's own outbox; due time of a timer. */
  readonly seq: number;
  readonly resolve: ((reply: unknown) => void) | null;
  readonly reject: ((error: unknown) => void) | null;
  /** Told what was decided, as soon as the commit that makes it true was handed to the store. */
  readonly ahead: ((reply: unknown, commit: Promise<CommitOutcome>) => void) | null;
  /** Unix milliseconds after which the caller no longer waits. */
  readonly deadlineMs: number;
  /** Activations that took it up before and lost the actor without having applied it. */
  tries: number;
  /** True once a decision left the caller waiting: its events may be committed already. */
  waited: boolean;
}

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
    deadlineMs: more.deadlineMs ?? Number.POSITIVE_INFINITY,
    tries: 0,
    waited: false,
  };
}
