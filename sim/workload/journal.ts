// What the clients of a world did and observed: the other half of the checkers' input.

import type { Observed } from "../checkers/observed.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import type { HeardResult, SentBatch } from "./batch.ts";
import { KeyStanding, type Moment } from "./key-changes.ts";

export interface Removal {
  readonly business: SimBusiness;
  readonly recordId: string;
  readonly action: "withdraw" | "delete";
  /** The key that sealed and signed it. */
  readonly keyId: string;
  /** When it was sealed and first sent. */
  readonly sent: Moment;
  readonly document: string;
  acknowledgedAt: number | null;
  /** Whether the record was found, and so removed. */
  isRemoved: boolean;
}

/** Positions in the world's events, when it was answered, and the moments that were stated. */
export interface Revocation {
  readonly askedAt: number;
  doneAt: number;
  doneMs: number;
  readonly revokedAt: string;
  readonly compromisedFrom: string | null;
}

interface TakenDown {
  isDown: boolean;
  /** World time since which it is so; infinity while it is being changed. */
  sinceMs: number;
  /** Whether an act would undo the last one if it was delivered a second time, which a network may do. */
  mayReturn: boolean;
}

interface Block {
  blocked: boolean;
  /** World time since which it is in force; infinity while it is being changed. */
  sinceMs: number;
}

export class Journal {
  readonly revocations = new Map<string, Revocation>();
  readonly standing = new KeyStanding();
  readonly #blocks = new Map<string, Block>();
  readonly batches = new Map<string, SentBatch>();
  /** Batches that were validated and never sent to be published. */
  readonly validated: SentBatch[] = [];
  /** Pushes that were sent as files, perhaps as batches as well. */
  readonly imported = new Set<string>();
  /** Pushes whose cancellation was requested. */
  readonly cancelling = new Set<string>();
  /** Pushes whose cancellation was answered. */
  readonly cancelled = new Set<string>();
  readonly removals: Removal[] = [];
  /** By business, the pushes that were refused, answered, and refused while nothing failed. */
  readonly refusals = new Map<string, string[]>();
  readonly #byKey = new Map<string, SentBatch[]>();
  readonly #owners = new Map<string, string>();
  readonly #policies = new Map<string, number>();
  readonly #revokedListeners = new Map<string, () => Promise<void>>();
  /** Decisions on holds that were answered as done, by push_id. */
  readonly decisions = new Map<string, string>();

  /** Registers what the holder of a key does as soon as the key or a mandate of it was revoked. */
  onRevoked(keyId: string, act: () => Promise<void>): void {
    this.#revokedListeners.set(keyId, act);
  }

  async revoked(keyId: string): Promise<void> {
    await this.#revokedListeners.get(keyId)?.();
  }

  addBatch(batch: SentBatch): void {
    if (this.batches.has(batch.pushId)) return;
    this.batches.set(batch.pushId, batch);
    const known = this.#byKey.get(batch.key.keyId);
    if (known === undefined) this.#byKey.set(batch.key.keyId, [batch]);
    else known.push(batch);
  }

  batchesOf(keyId: string): readonly SentBatch[] {
    return this.#byKey.get(keyId) ?? [];
  }

  /** A key has one party, regardless of the nodes that were asked and of the outcomes of the requests. */
  noteOwner(observed: Observed, keyId: string, uuid: string): void {
    const owner = this.#owners.get(keyId) ?? uuid;
    this.#owners.set(keyId, owner);
    if (owner !== uuid)
      observed.violate("key-has-one-party", `${keyId} is registered for ${owner} and ${uuid}`);
  }

  /** A hold is decided once: of two different decisions, one is refused. */
  noteDecision(observed: Observed, pushId: string, decision: string): void {
    const known = this.decisions.get(pushId) ?? decision;
    this.decisions.set(pushId, known);
    if (known !== decision)
      observed.violate("hold-decided-once", `${pushId} was answered ${known} and then ${decision}`);
  }

  /** By business, the pushes that were refused, answered, and refused while nothing failed. */
  noteRefused(uuid: string, pushId: string): void {
    this.refusals.set(uuid, [...(this.refusals.get(uuid) ?? []), pushId]);
  }

  policyVersion(business: SimBusiness): number {
    return this.#policies.get(business.uuid) ?? business.policyVersion;
  }

  notePolicy(business: SimBusiness, version: number): void {
    this.#policies.set(business.uuid, version);
  }

  isBlocked(business: string, group: string): boolean {
    return this.#blocks.get(`${business} ${group}`)?.blocked ?? false;
  }

  /** World time since which a block is in force; null when there is none, or it is being changed. */
  blockedSinceMs(business: string, group: string): number | null {
    const block = this.#blocks.get(`${business} ${group}`);
    return block?.blocked === true && Number.isFinite(block.sinceMs) ? block.sinceMs : null;
  }

  noteBlocking(business: string, group: string): void {
    const known = this.#blocks.get(`${business} ${group}`);
    if (known !== undefined) known.sinceMs = Number.POSITIVE_INFINITY;
  }

  noteBlocked(business: string, group: string, blocked: boolean, sinceMs: number): void {
    this.#blocks.set(`${business} ${group}`, { blocked, sinceMs });
  }

  /** What operators changed last of a business, or of one of its records. */
  readonly takedowns = new Map<string, TakenDown>();

  /** World time since which operators keep the record out of serving; null if they do not, or are changing it. */
  takenDownSinceMs(business: string, recordId: string): number | null {
    const inForce = [business, recordId].flatMap((subject) => {
      const known = this.takedowns.get(subject);
      return known?.isDown === true && Number.isFinite(known.sinceMs) ? [known.sinceMs] : [];
    });
    return inForce.length === 0 ? null : Math.min(...inForce);
  }

  /** Settled records keep their outcome in every later answer. */
  compareResults(
    observed: Observed,
    batch: SentBatch,
    results: readonly HeardResult[],
    request: string,
  ): void {
    if (batch.results === null) return;
    const strip = (list: readonly HeardResult[]): string =>
      JSON.stringify(
        list.map(({ leaf_index, outcome, record_id, version }) => [leaf_index, outcome, record_id, version]),
      );
    if (strip(batch.results) !== strip(results))
      observed.violate("outcome-is-stable", `${batch.pushId} answered ${request} otherwise than before`);
  }
}

/** The reply, or null when the request failed or its node died before it came. */
export function answerOf<T>(
  world: World,
  life: { onEnd(ending: () => void): void },
  reply: Promise<T>,
): Promise<T | null> {
  return new Promise((resolve) => {
    const { kernel } = world.parts;
    life.onEnd(() => kernel.after(1, "asker is cut off", () => resolve(null)));
    kernel.after(10_000, "asker gives up", () => resolve(null));
    reply.then(resolve, () => resolve(null));
  });
}
