// Which keys have how many pushes under way, so that one that floods is seen. It is counted on the walk that counts actors.
//   PU1. A node names at most `keysMax` keys, and the answer to operators `shownMax`: those with the most pushes.

import type { ActorGlance } from "../../actors/system/definition.ts";
import type { PushContext } from "../../machines/push.ts";
import type { ActorCounts } from "../../ops/inspection-shapes.ts";
import { compareTexts } from "./look.ts";

export type KeyPushes = ActorCounts["pushes_under_way"][number];

const keysMax = 200;
const shownMax = 20;

export interface PushTally {
  /** The same actors; their pushes are counted as they are looked at. */
  look(glances: Iterable<ActorGlance>): Iterable<ActorGlance>;
  /** Most pushes first. */
  most(): readonly KeyPushes[];
}

export function createPushTally(): PushTally {
  const counts = new Map<string, KeyPushes>();
  return {
    *look(glances) {
      for (const glance of glances) {
        if (glance.ref.kind === "push" && isWorking(glance.state)) note(counts, glance.context);
        yield glance;
      }
    },
    most: () => [...counts.values()].sort(byCount).slice(0, keysMax),
  };
}

/** What several nodes counted, of all keys together. */
export function sumOfPushes(all: readonly (readonly KeyPushes[])[]): readonly KeyPushes[] {
  const counts = new Map<string, KeyPushes>();
  for (const each of all.flat()) add(counts, each);
  return [...counts.values()].sort(byCount).slice(0, shownMax);
}

function isWorking(state: unknown): boolean {
  return typeof state === "object" && state !== null && "working" in state;
}

/** A push that is loaded just now has no context, and is counted on the next walk. */
function note(counts: Map<string, KeyPushes>, context: unknown): void {
  const facts = (context as Pick<PushContext, "facts"> | null)?.facts ?? null;
  if (facts === null) return;
  const { business_uuid, key_id, records } = facts;
  add(counts, { business_uuid, key_id, pushes: 1, records });
}

function add(counts: Map<string, KeyPushes>, more: KeyPushes): void {
  const name = `${more.business_uuid} ${more.key_id}`;
  const { pushes = 0, records = 0 } = counts.get(name) ?? {};
  counts.set(name, { ...more, pushes: pushes + more.pushes, records: records + more.records });
}

function byCount(a: KeyPushes, b: KeyPushes): number {
  return b.pushes - a.pushes || b.records - a.records || compareTexts(a.key_id, b.key_id);
}
