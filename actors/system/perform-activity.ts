// One attempt at an activity: in the pool of its name, with the context that identifies the work.

import type { Activation } from "./activation.ts";
import { traceActivity } from "./actor-tracing.ts";
import type { Ask, Message } from "./definition.ts";
import type { ActorSystemOptions } from "./ports.ts";
import type { WorkPool } from "./work-pool.ts";

export interface AttemptedWork {
  readonly activation: Activation;
  /** Numbers the activations of the system. */
  readonly incarnation: number;
  readonly name: string;
  readonly params: unknown;
  /** Sequence of the effect in the actor's outbox. */
  readonly seq: number;
}

export async function performActivity(
  { activities, clock, owner, tracer }: Pick<ActorSystemOptions, "activities" | "clock" | "owner" | "tracer">,
  pool: WorkPool,
  { activation, incarnation, name, params, seq }: AttemptedWork,
  ask: Ask,
): Promise<Message | null> {
  const activity = activities[name];
  if (activity === undefined) throw new Error(`there is no activity ${name}`);
  // The sequences of an actor without a journal restart with every activation.
  const isJournaled = activation.driver.definition.durability === "journal";
  const prefix = isJournaled ? "" : `${owner}.${incarnation}.`;
  const context = {
    actor: activation.ref,
    workId: `${activation.key}#${prefix}${seq}`,
    nowMs: () => clock.now(),
    ask,
    signal: activation.signal,
  };
  const { traceparent = null, attempts = 0 } = activation.outbox?.pending.get(seq) ?? {};
  const work = { actor: activation.ref, name, traceparent, attempts };
  return pool.run(name, () => traceActivity(tracer, work, () => activity(params, context)));
}
