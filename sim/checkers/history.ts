// What was asked of actors and what they answered, with the order of both ends of every request: the input of the
// linearizability checks.

import type { Message } from "../../actors/system/definition.ts";
import type { ActorRef } from "../../storage/actor-store.ts";

export interface Asked {
  readonly actor: string;
  readonly command: Message;
  readonly by: string;
  /** Position among all starts and ends of requests. */
  readonly begin: number;
  /** Infinity while it is unknown whether or when the request took effect. */
  end: number;
  /** `open`: not answered, or answered with an unknown effect. */
  status: "open" | "answered" | "not_applied";
  reply: unknown;
}

export interface Settle {
  answered(reply: unknown): void;
  failed(error: unknown): void;
}

export class History {
  readonly #byActor = new Map<string, Asked[]>();
  #clock = 0;

  asked(to: ActorRef, command: Message, by: string): Settle {
    this.#clock += 1;
    const asked: Asked = {
      actor: `${to.kind}/${to.id}`,
      command,
      by,
      begin: this.#clock,
      end: Number.POSITIVE_INFINITY,
      status: "open",
      reply: undefined,
    };
    const known = this.#byActor.get(asked.actor);
    if (known === undefined) this.#byActor.set(asked.actor, [asked]);
    else known.push(asked);
    return {
      answered: (reply) => {
        this.#clock += 1;
        asked.end = this.#clock;
        asked.status = "answered";
        asked.reply = reply;
      },
      failed: (error) => {
        const { effect } = Object(error) as { effect?: unknown };
        if (effect !== "not_applied") return;
        this.#clock += 1;
        asked.end = this.#clock;
        asked.status = "not_applied";
      },
    };
  }

  /** Everything asked of one actor, in the order of the starts. */
  of(actor: string): readonly Asked[] {
    return this.#byActor.get(actor) ?? [];
  }

  actors(): readonly string[] {
    return [...this.#byActor.keys()];
  }
}
