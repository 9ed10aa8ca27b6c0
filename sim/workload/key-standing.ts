// What the clients of a world know of the standing of integration keys: when each was registered and ends, and under which
// mandates it publishes. Positions are those in the world's events, which have no clock; times are the world's, and a node
// may judge them by a clock that is up to `skewMaxMs` off.

import { skewMaxMs } from "../world/faults.ts";
import type { World } from "../world/world.ts";

export interface KnownMandate {
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

/** A moment of the world. */
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
