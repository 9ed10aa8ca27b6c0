// The turns and the paces of simulated nodes, where no time passes while a node works; and the thread of a node where it does.

import type { PushPorts } from "../../actors/push/ports.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { ThreadTurns } from "../../node/thread-turns.ts";
import {
  createRegionalBudget,
  createRegionalRate,
  type KeyBudget,
  type KeyRate,
} from "../../service/regional-limits.ts";
import type { OwnerTurns } from "../../std/owner-turns.ts";
import type { Pace } from "../../std/pace.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { SimNode } from "./sim-node.ts";

/** The one thread of the only node of a world, where work takes time, and what shares it as in production. */
export interface NodeThread {
  readonly kernel: Kernel;
  readonly turns: ThreadTurns;
  /** What a key may ask. */
  readonly limits: { readonly perSecond: number; readonly costPerMinute: number };
}

/** No time passes while an index searches, so none waits for another. */
export const turns: OwnerTurns = (_, query) => query();

/** No time passes while a node works, so others have their turn by the number of records. */
export function pacesOf(thread: NodeThread | null): PushPorts["paces"] {
  if (thread !== null) return thread.turns.paces;
  const byItems = (items: number): Pace => {
    let done = 0;
    return () => {
      done += 1;
      return done % items === 0 ? Promise.resolve() : null;
    };
  };
  return { inline: byItems(50), queued: byItems(20) };
}

const burstSeconds = 2;

/** The limits of keys; there are none where no time passes while a node works. */
export function limitsOf(
  thread: NodeThread | null,
  { actors, region }: { readonly actors: Pick<ActorSystem, "ask">; readonly region: string },
): { readonly requestRate: KeyRate | null; readonly budget: KeyBudget | null } {
  if (thread === null) return { requestRate: null, budget: null };
  const { perSecond, costPerMinute } = thread.limits;
  const deps = { actors, region, nodes: () => 1, elapsedMs: () => thread.kernel.elapsed() };
  return {
    requestRate: createRegionalRate(deps, { perSecond, burst: perSecond * burstSeconds }),
    budget: createRegionalBudget(deps, costPerMinute),
  };
}

/** What somebody waits for goes before long work, where work takes time. */
export function retrievalOf(
  thread: NodeThread | null,
  { search, fetch }: Pick<SimNode, "search" | "fetch">,
): Pick<SimNode, "search" | "fetch"> {
  if (thread === null) return { search, fetch };
  const { during } = thread.turns.rightOfWay;
  return { search: (call) => during(() => search(call)), fetch: (request) => during(() => fetch(request)) };
}
