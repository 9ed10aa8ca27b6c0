// Makes what was written visible to searches (X4): one refresh of a generation at a time, shared by all that wait for it.
//   V1. A refresh answers for what was written before it began; who comes while one is under way waits for the next.
//       So however many write at once, the segments made are no more than refreshes that fit one after another.

import { assertAllShards, type Engine, EngineRefusal } from "./engine.ts";
import { rowsAlias } from "./names.ts";

interface Queue {
  readonly running: Promise<void>;
  /** The one after it, once somebody waits for it. */
  next: Promise<void> | null;
}

export class Refresher {
  readonly #engine: Pick<Engine, "write">;
  readonly #queues = new Map<string, Queue>();

  constructor(engine: Pick<Engine, "write">) {
    this.#engine = engine;
  }

  /** Resolves when a refresh of the generation that began after this call is done; false when there is no such index. */
  async refresh(generation: string): Promise<boolean> {
    try {
      await this.#share(generation);
      return true;
    } catch (error) {
      if (error instanceof EngineRefusal && error.status === 404) return false;
      throw error;
    }
  }

  #share(generation: string): Promise<void> {
    const queue = this.#queues.get(generation);
    if (queue === undefined) return this.#start(generation);
    queue.next ??= queue.running.then(
      () => this.#start(generation),
      () => this.#start(generation),
    );
    return queue.next;
  }

  #start(generation: string): Promise<void> {
    const running = this.#send(generation).finally(() => {
      // Who waits starts the next one, which then stands here.
      if (this.#queues.get(generation)?.next === null) this.#queues.delete(generation);
    });
    this.#queues.set(generation, { running, next: null });
    return running;
  }

  async #send(generation: string): Promise<void> {
    const path = `/${rowsAlias(generation)}/_refresh?filter_path=_shards.failed`;
    assertAllShards(await this.#engine.write({ method: "POST", path }));
  }
}
