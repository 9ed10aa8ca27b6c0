// The actor system of a process that may lose its place and take another: whoever asks reaches the one in force, and
// between two of them is refused with nothing applied.

import { ActorUnavailable, type AheadOfReply, type Message } from "../../actors/system/definition.ts";
import type { LocalActorSystem } from "../../actors/system/ports.ts";
import type { ActorRef } from "../../storage/actor-store.ts";

export interface CurrentSystem extends LocalActorSystem {
  begin(owner: string): void;
}

export function createCurrentSystem(make: (owner: string) => LocalActorSystem): CurrentSystem {
  let system: LocalActorSystem | null = null;
  const nothing = make("nobody");
  return {
    begin: (owner) => {
      system = make(owner);
    },
    ask: <R>(to: ActorRef, command: Message, options?: { readonly timeoutMs?: number }) =>
      system?.ask<R>(to, command, options) ?? refused<R>(),
    askAhead: <R>(to: ActorRef, command: Message) => {
      if (system !== null) return system.askAhead<R>(to, command);
      const [decided, reply] = [refused<AheadOfReply<R>>(), refused<R>()];
      for (const each of [decided, reply]) each.catch(() => {});
      return { decided, reply };
    },
    askHere: (to, command, timeoutMs) => system?.askHere(to, command, timeoutMs) ?? refused(),
    tell: (to, command) => system?.tell(to, command) ?? false,
    deliver: (to, from, messages) => system?.deliver(to, from, messages) ?? refused(),
    inspect: async (ref) => (await system?.inspect(ref)) ?? null,
    stats: () => (system ?? nothing).stats(),
    start: async () => system?.start(),
    adopt: async () => system?.adopt(),
    handOver: async () => system?.handOver(),
    halt: () => system?.halt(),
    release: (ref) => system?.release(ref) ?? false,
    drain: async (timeoutMs) => system?.drain(timeoutMs),
  };
}

function refused<R>(): Promise<R> {
  return Promise.reject(new ActorUnavailable("restarting", { retryAfterSeconds: 1, effect: "not_applied" }));
}
