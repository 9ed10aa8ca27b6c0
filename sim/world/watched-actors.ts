// The actor system as the service uses it, with every request and answer recorded for the checkers.

import type { ActorSystem, Message } from "../../actors/system/definition.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { History } from "../checkers/history.ts";
import type { Life } from "../kernel/life.ts";

export interface Watch {
  readonly history: History;
  readonly incarnation: string;
  readonly life: Life;
}

export function watchAsks(system: ActorSystem, { history, incarnation, life }: Watch): ActorSystem {
  const noted = <R>(to: ActorRef, command: Message, reply: Promise<R>): Promise<R> => {
    const settle = history.asked(to, command, incarnation);
    return reply.then(
      (value) => {
        if (!life.isOver) settle.answered(value);
        return value;
      },
      (error: unknown) => {
        if (!life.isOver) settle.failed(error);
        throw error;
      },
    );
  };
  return {
    ask: (to, command, options) => noted(to, command, system.ask(to, command, options)),
    askSpeculative: (to, command) => {
      const { decided, reply } = system.askSpeculative(to, command);
      return { decided, reply: noted(to, command, reply) };
    },
    inspect: (ref) => system.inspect(ref),
    glances: () => system.glances(),
    stats: () => system.stats(),
    start: () => system.start(),
    drain: (timeoutMs) => system.drain(timeoutMs),
  };
}
