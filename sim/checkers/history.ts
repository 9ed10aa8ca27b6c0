// What was asked of actors and what was answered, with the order of both ends of every question: what the
// linearizability checks are made on.

import type { Message } from "../../actors/system/definition.ts";
import type { ActorRef } from "../../storage/actor-store.ts";

export interface Asked {
  readonly actor: string;
  readonly command: Message;
  readonly by: string;
  /** Position among all beginnings and ends of questions. */
  readonly begin: number;
  /** Infinity while nobody knows whether or when it happened. */
  end: number;
  /** `open`: not answered, or answered that the effect is unknown. */
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
      ...{ command, by, begin: this.#clock, end: Number.POSITIVE_INFINITY, status: "open", reply: undefined },
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

  /** Everything asked of one actor, in the order of beginning. */
  of(actor: string): readonly Asked[] {
    return this.#byActor.get(actor) ?? [];
  }

  actors(): readonly string[] {
    return [...this.#byActor.keys()];
  }
}
