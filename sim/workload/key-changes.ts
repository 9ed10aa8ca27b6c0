// What the people of a business do about its keys in the worlds where keys change: they register a successor while the other
// keys are still used, retire a key by revoking it, seal further mandates, some of which end soon, and revoke mandates.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import { RegisterRefused } from "../../service/register/parties.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import { Random } from "../kernel/random.ts";
import { skewMaxMs } from "../world/faults.ts";
import { firstMandate, type MandateTerms, mandateOf, registerKey, type SimBusiness } from "../world/setup.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import type { SentBatch } from "./batch.ts";
import type { Journal } from "./journal.ts";

/** Share of the worlds where keys change. */
const share = 0.3;

/** Whether keys change in the world with this generator. */
export function keysChange(random: Random): boolean {
  return random.fork("keys change").chance(share);
}

/** The same of a seed's world. */
export function keysChangeIn(seed: number): boolean {
  return keysChange(Random.of(seed));
}

export interface KeyChangeParts {
  readonly world: World;
  readonly journal: Journal;
  readonly business: SimBusiness;
  readonly random: Random;
  /** Asks until there is an answer; null if there never is. */
  readonly insist: <T>(ask: (node: SimNode) => Promise<T>) => Promise<T | null>;
}

export async function changeKeys(parts: KeyChangeParts): Promise<void> {
  const { business, journal, random } = parts;
  const hasRotated =
    business.successor !== null && journal.standing.of(business.successor.keyId) !== undefined;
  const what = random.weighted({ rotate: hasRotated ? 0 : 3, renew: 3, revokeMandate: 2 });
  if (what === "rotate") await rotate(parts);
  else if (what === "renew") await renew(parts);
  else await revokeMandate(parts);
}

/** Registers the successor, with its mandate; the keys that it follows stay in force. */
async function rotate({ world, journal, business, insist }: KeyChangeParts): Promise<void> {
  const { uuid, successor: key } = business;
  if (key === null) return;
  const done = await insist((node) => registerKey(world.parts, node, { uuid, key }).then(() => true));
  if (done === null) return;
  journal.standing.noteRegistered({ keyId: key.keyId, untilMs: Infinity, mandates: [] });
  await seal({ world, journal, business, insist }, key, firstMandate(world.parts, key));
  world.observed.mark("key.rotated");
}

/** A further mandate of one of the keys. It may end soon, and it may begin only now. */
async function renew(parts: KeyChangeParts): Promise<void> {
  const { world, random } = parts;
  const key = random.pick(keysInUse(parts));
  const nowMs = world.parts.kernel.now();
  const first = firstMandate(world.parts, key);
  const fromMs = random.chance(0.5) ? nowMs : first.fromMs;
  const untilMs = random.chance(0.5) ? nowMs + random.between(2_000, 12_000) : first.untilMs;
  await seal(parts, key, { id: `mdt_${key.keyId}_${nowMs}`, fromMs, untilMs });
  world.observed.mark("mandate.renewed");
}

async function seal(
  { world, journal, business, insist }: Omit<KeyChangeParts, "random">,
  key: SimSigner,
  terms: MandateTerms,
): Promise<void> {
  const note = mandateNote(terms.id, terms.fromMs, terms.untilMs);
  journal.standing.of(key.keyId)?.mandates.push(note);
  const envelope = mandateOf(world.parts, { ...business, ...terms, key });
  const accepted = await insist((node) =>
    node.parties.acceptMandate(envelope).then(
      () => true,
      (error: unknown) => {
        // The key was revoked or has ended.
        if (error instanceof RegisterRefused) return false;
        throw error;
      },
    ),
  );
  if (accepted === true) note.acceptedAt = world.parts.kernel.events;
}

async function revokeMandate(parts: KeyChangeParts): Promise<void> {
  const { world, journal, business, random, insist } = parts;
  const key = random.pick(keysInUse(parts));
  const known = journal.standing.of(key.keyId)?.mandates ?? [];
  const live = known.filter(
    ({ acceptedAt, revokedFrom }) => acceptedAt < Infinity && revokedFrom === Infinity,
  );
  if (live.length === 0) return;
  const mandate: KnownMandate = random.pick(live);
  const { kernel } = world.parts;
  mandate.revokedFrom = kernel.events;
  const request = { uuid: business.uuid, mandate_id: mandate.id, revoked_at: formatTimestamp(kernel.now()) };
  const done = await insist((node) => node.parties.revokeMandate(request).then(() => true));
  if (done === null) return;
  mandate.revokedAt = kernel.events;
  world.observed.mark("mandate.revoked");
  await journal.revoked(key.keyId);
}

/** The keys that are registered, revoked or not. */
export function keysInUse({
  journal,
  business: { keys, successor },
}: Pick<KeyChangeParts, "journal" | "business">): readonly SimSigner[] {
  return successor !== null && journal.standing.of(successor.keyId) !== undefined
    ? [...keys, successor]
    : keys;
}

// What the holder of an integration key knows of it: whether it may be used, when that ends, and what it may resume.

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

// What the clients of a world know of the standing of integration keys: when each was registered and ends, and under which
// mandates it publishes. Positions are those in the world's events, which have no clock; times are the world's, and a node
// may judge them by a clock that is up to `skewMaxMs` off.

interface KnownMandate {
  readonly id: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** Position at which its acceptance was answered; infinity before. */
  acceptedAt: number;
  /** Positions at which its revocation was requested and answered; infinity before. */
  revokedFrom: number;
  revokedAt: number;
}

export interface KnownKey {
  readonly keyId: string;
  readonly untilMs: number;
  readonly mandates: KnownMandate[];
}

export interface Moment {
  readonly at: number;
  readonly ms: number;
}

export function momentOf({ parts }: World): Moment {
  return { at: parts.kernel.events, ms: parts.kernel.now() };
}

export function mandateNote(
  id: string,
  fromMs: number,
  untilMs: number,
  acceptedAt = Infinity,
): KnownMandate {
  return { id, fromMs, untilMs, acceptedAt, revokedFrom: Infinity, revokedAt: Infinity };
}

export class KeyStanding {
  readonly #keys = new Map<string, KnownKey>();

  noteRegistered(key: KnownKey): void {
    this.#keys.set(key.keyId, key);
  }

  of(keyId: string): KnownKey | undefined {
    return this.#keys.get(keyId);
  }

  /** Whether the key has certainly a mandate in force from a moment on, and until `untilMs`. */
  isCovered(keyId: string, from: Moment, untilMs: number): boolean {
    const key = this.#keys.get(keyId);
    return (
      key !== undefined &&
      untilMs + skewMaxMs < key.untilMs &&
      key.mandates.some(
        ({ fromMs, untilMs: endMs, acceptedAt, revokedFrom }) =>
          acceptedAt < from.at &&
          revokedFrom === Infinity &&
          fromMs + skewMaxMs <= from.ms &&
          untilMs + skewMaxMs < endMs,
      )
    );
  }

  /** The next moment at which the key or one of its mandates ends. */
  nextEndMs(keyId: string, nowMs: number): number {
    const key = this.#keys.get(keyId);
    const ends = [key?.untilMs ?? Infinity, ...(key?.mandates ?? []).map(({ untilMs }) => untilMs)];
    return Math.min(...ends.filter((endMs) => endMs > nowMs));
  }
}
