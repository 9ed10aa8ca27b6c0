// What the actors in memory hold, counted by kind, for /metrics. It is computed when it is asked for: watching costs the actors
// nothing.

import type { Activation } from "./activation.ts";
import type { ActorLoads, ActorRef, ActorSystemStats, KindStats } from "./definition.ts";

/** The counts of every kind, and what waits for each region. */
export function countActivations(
  activations: readonly Activation[],
  known: {
    readonly kinds: Iterable<string>;
    readonly quarantined: readonly ActorRef[];
    readonly nowMs: number;
  },
): ActorLoads {
  const kinds = new Map([...known.kinds].map((kind) => [kind, emptyCount()]));
  const regions = new Map<string, { waiting: number; oldestMs: number }>();
  for (const activation of activations) countOne(activation, known.nowMs, { kinds, regions });
  for (const { kind } of known.quarantined) {
    const count = kinds.get(kind);
    if (count !== undefined) count.quarantined += 1;
  }
  return {
    kinds: Object.fromEntries(kinds),
    regions: [...regions].map(([region, wait]) => ({ region, ...wait })),
  };
}

/** What all actors in memory hold together. */
export function totalsOf(
  activations: readonly Activation[],
): Pick<ActorSystemStats, "active" | "mailboxed" | "outboxPending"> {
  let [mailboxed, outboxPending] = [0, 0];
  for (const { load, outbox } of activations) {
    mailboxed += load;
    outboxPending += outbox?.pending.size ?? 0;
  }
  return { active: activations.length, mailboxed, outboxPending };
}

type Count = { -readonly [K in keyof KindStats]: KindStats[K] };

function emptyCount(): Count {
  return { active: 0, mailboxed: 0, mailboxLongest: 0, outboxPending: 0, outboxOldestMs: 0, quarantined: 0 };
}

function countOne(
  { ref, load, outbox, driver }: Activation,
  nowMs: number,
  {
    kinds,
    regions,
  }: {
    readonly kinds: ReadonlyMap<string, Count>;
    readonly regions: Map<string, { waiting: number; oldestMs: number }>;
  },
): void {
  const count = kinds.get(ref.kind);
  if (count === undefined) return;
  count.active += 1;
  count.mailboxed += load;
  count.mailboxLongest = Math.max(count.mailboxLongest, load);
  const { regionWaits = [] } = driver.definition;
  for (const { effect, sinceMs } of outbox?.pending.values() ?? []) {
    // Clocks of nodes differ: what another node's clock dated in the future has just begun.
    const ageMs = Math.max(0, nowMs - sinceMs);
    count.outboxPending += 1;
    count.outboxOldestMs = Math.max(count.outboxOldestMs, ageMs);
    if (effect.kind !== "activity" || !regionWaits.includes(effect.name)) continue;
    const region = regionOf(effect.params);
    if (region === null) continue;
    const wait = regions.get(region) ?? { waiting: 0, oldestMs: 0 };
    regions.set(region, { waiting: wait.waiting + 1, oldestMs: Math.max(wait.oldestMs, ageMs) });
  }
}

function regionOf(params: unknown): string | null {
  const isNamed = typeof params === "object" && params !== null && "region" in params;
  return isNamed && typeof params.region === "string" ? params.region : null;
}
