// The part of traces that actors have: a span for each command that reaches an actor within a trace, and for each piece of work
// outside it. Effects carry the trace of the command that caused them, in their outbox row as well.
//   X1. A command that waits for other commands keeps its own trace; timers have none.
//   X2. A kind whose work is for many callers together ends the traces of its commands (`endsTraces`).
//   X3. Work that fails again and again is recorded at first only: a trace stays small however long something is away.

import { failureName, type Tracer } from "../../std/tracing.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { Message } from "./definition.ts";
import type { Envelope } from "./envelope.ts";

/** Number of failed attempts of one piece of work that are recorded. */
const failuresMax = 8;
/** The kinds whose ids are public: those of the others may be derived from what a caller keeps to itself. */
const namedKinds = ["business", "push", "region", "log-sequencer", "bulk-upload"];

function attributesOf({ kind, id }: ActorRef): Record<string, string> {
  return { "svc.actor.kind": kind, ...(namedKinds.includes(kind) ? { "svc.actor.id": id } : {}) };
}

/** The envelope as it is put into the mailbox: its span ends with its answer. */
export function traceEnvelope(tracer: Tracer | undefined, to: ActorRef, envelope: Envelope): Envelope {
  const { traceparent, resolve, reject, kind, message } = envelope;
  if (tracer === undefined || traceparent === null || (kind !== "ask" && kind !== "delivery"))
    return envelope;
  const span = tracer.start(`${to.kind} ${message.type}`, traceparent, {
    kind: kind === "ask" ? "internal" : "consumer",
    attributes: { ...attributesOf(to), "svc.command": message.type },
  });
  let isOver = false;
  const end = (failure?: string): void => {
    // A caller that was refused may be refused again when its actor ends.
    if (!isOver) span.end({ failure });
    isOver = true;
  };
  return {
    ...envelope,
    traceparent: span.traceparent,
    resolve: (reply) => {
      end();
      resolve?.(reply);
    },
    reject: (error) => {
      end(failureName(error));
      reject?.(error);
    },
  };
}

export interface TracedWork {
  readonly actor: ActorRef;
  readonly name: string;
  /** The trace of the effect; null if it has none. */
  readonly traceparent: string | null;
  /** Attempts that failed before. */
  readonly attempts: number;
}

/** Does an activity in a span of its effect's trace. */
export function traceActivity(
  tracer: Tracer | undefined,
  work: TracedWork,
  run: () => Promise<Message | null>,
): Promise<Message | null> {
  const { traceparent } = work;
  return tracer === undefined || traceparent === null ? run() : traced(tracer, { ...work, traceparent }, run);
}

async function traced(
  tracer: Tracer,
  { actor, name, traceparent, attempts }: TracedWork & { readonly traceparent: string },
  run: () => Promise<Message | null>,
): Promise<Message | null> {
  const attributes = { ...attributesOf(actor), "svc.activity": name, "svc.attempt": attempts + 1 };
  const span = tracer.start(`${actor.kind} ${name}`, traceparent, { attributes });
  try {
    const answer = await tracer.within(span.traceparent, run);
    span.end();
    return answer;
  } catch (error) {
    if (attempts < failuresMax) span.end({ failure: failureName(error) });
    throw error;
  }
}
