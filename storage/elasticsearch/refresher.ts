// Makes writes visible to searches (X4): one refresh of a generation at a time, shared by all callers that wait for it.
//   V1. A refresh covers what was written before it began; callers that arrive during one wait for the next. So however
//       many writers there are, no more segments are made than refreshes that fit one after another.
//   V2. A refresh begins at least `spacingMs` after the previous one began: each makes a segment, which is merged later,
//       and a stream of writes is visible soon enough. A caller after a pause does not wait.

import { setTimeout as delay } from "node:timers/promises";
import { assertAllShards, type Engine, EngineRefusal } from "./engine.ts";
import { rowsAlias } from "./names.ts";

/** Replaces the platform's clock and timers. */
export interface RefresherTime {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly delay: (ms: number) => Promise<unknown>;
}

const spacingMs = 150;
const platformTime: RefresherTime = { now: () => performance.now(), delay };

export class Refresher {
  readonly #engine: Pick<Engine, "write">;
  readonly #time: RefresherTime;
  /** By generation: the refresh that has begun, the one that has not, and when the last one began. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, Promise<void>>();
  readonly #beganMs = new Map<string, number>();

  constructor(engine: Pick<Engine, "write">, time: RefresherTime = platformTime) {
    this.#engine = engine;
    this.#time = time;
  }

  /** Resolves when a refresh of the generation that began after this call is done; false if there is no such index. */
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
    const known = this.#waiting.get(generation);
    if (known !== undefined) return known;
    const waiting = this.#refreshInTurn(generation);
    this.#waiting.set(generation, waiting);
    return waiting;
  }

  async #refreshInTurn(generation: string): Promise<void> {
    await this.#running.get(generation)?.catch(() => {});
    const earliestMs = (this.#beganMs.get(generation) ?? Number.NEGATIVE_INFINITY) + spacingMs;
    const leftMs = earliestMs - this.#time.now();
    if (leftMs > 0) await this.#time.delay(leftMs);
    this.#waiting.delete(generation);
    this.#beganMs.set(generation, this.#time.now());
    const running = this.#send(generation);
    this.#running.set(generation, running);
    await running;
  }

  async #send(generation: string): Promise<void> {
    const path = `/${rowsAlias(generation)}/_refresh?filter_path=_shards.failed`;
    assertAllShards(await this.#engine.write({ method: "POST", path }));
  }
}
