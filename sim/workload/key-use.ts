// What the holder of an integration key knows of it: whether it may be used, when that ends, and what it may resume.

import type { SimSigner } from "../crypto/sim-crypto.ts";
import { skewMaxMs } from "../world/faults.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import type { SentBatch } from "./batch.ts";
import type { Journal } from "./journal.ts";
import { momentOf } from "./key-standing.ts";

/** Longer than a world lasts once its faults have stopped. */
const longMs = 600_000;
/** How far off an end may be for a batch to be sealed before it and sent after it. */
const lateMaxMs = 4_000;

export class KeyUse {
  readonly #world: World;
  readonly #journal: Journal;
  readonly #business: SimBusiness;
  readonly #key: SimSigner;

  constructor(world: World, journal: Journal, business: SimBusiness, key: SimSigner) {
    this.#world = world;
    this.#journal = journal;
    this.#business = business;
    this.#key = key;
  }

  get isRegistered(): boolean {
    return this.#journal.standing.of(this.#key.keyId) !== undefined;
  }

  get isRevoked(): boolean {
    return this.#journal.revocations.has(this.#key.keyId);
  }

  /** Whether the business may read with it until the end of the world. */
  get mayRead(): boolean {
    const { ms } = momentOf(this.#world);
    return !this.isRevoked && (this.#journal.standing.of(this.#key.keyId)?.untilMs ?? 0) > ms + longMs;
  }

  /** Whether it may publish until the end of the world. */
  get mayPublish(): boolean {
    const now = momentOf(this.#world);
    return this.mayRead && this.#journal.standing.isCovered(this.#key.keyId, now, now.ms + longMs);
  }

  /** Whether the key or a mandate of it ends soon. */
  get endsSoon(): boolean {
    return this.#endsInMs() < lateMaxMs;
  }

  /** How long until a node with the slowest clock judges that the key or a mandate of it has ended. */
  get endedInMs(): number {
    return this.#endsInMs() + 2 * skewMaxMs;
  }

  #endsInMs(): number {
    const { ms } = momentOf(this.#world);
    return this.#journal.standing.nextEndMs(this.#key.keyId, ms) - ms;
  }

  /** The batches of the keys that it succeeds, once they were accepted: any key of the business may resume them. */
  inherited(): readonly SentBatch[] {
    const { keys, successor } = this.#business;
    if (successor !== this.#key) return [];
    return keys
      .flatMap((key) => this.#journal.batchesOf(key.keyId))
      .filter(({ acknowledgedAt }) => acknowledgedAt !== null);
  }
}
