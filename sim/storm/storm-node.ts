// The node of a storm: one whose thread is busy for as long as its work would take, and which decides whose turn it is with
// production's own code. Only what work costs is a model; the costs are those of a slow machine, so that a storm needs few events.

import { createEdge, type Edge } from "../../api/edge.ts";
import { createDecodingTurns } from "../../node/images/decoding-turns.ts";
import { createThreadTurns, type ThreadTurns } from "../../node/keeping/thread-turns.ts";
import type { FairTurns } from "../../std/fair-queue.ts";
import type { EventLoop, PaceOf } from "../../std/work.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { bound } from "../mutants/mutant.ts";
import type { NodeThread } from "../world/paces.ts";
import { asItIs, type Variation } from "../world/variation.ts";
import { newKernel } from "../world/world.ts";

/** What work keeps the thread for, in milliseconds. */
export const costs = {
  /** Reading a request; its head and its signature. */
  request: 0.02,
  signature: 0.13,
  /** Each step of a record: parsed, judged, projected. */
  record: 0.3,
  /** A step of a record with thousands of unknown members, of which it has three. */
  dearRecord: 2.5,
  /** A search, besides what its index does. */
  search: 0.75,
  /** A check that anyone may make. */
  check: 0.5,
  /** Lines of a piece of a file. */
  piece: 0.5,
} as const;

/** What searches keep the thread for that searches the index, in milliseconds. */
const indexCosts = {
  search: 1,
  /** By words that most rows have. */
  broadSearch: 2.5,
} as const;

/** How a bound or a turn may be missing: who comes first is served first. */
export const mechanisms = {
  paces: "long work does not pause",
  rightOfWay: "pauses do not wait for what somebody waits for",
  searchTurns: "searches begin as they come",
  signatureTurns: "signatures are verified as they come",
  checkTurns: "checks are answered as they come",
  filePlaces: "files have places as they come",
  decodingTurns: "images are decoded as they come",
  bodyShares: "bodies have room as they come",
} as const;
export type Mechanism = keyof typeof mechanisms;

/** Searches that the thread of the index is given at once. */
const searchPlaces = 2;

export interface StormNode {
  readonly kernel: Kernel;
  readonly thread: NodeThread;
  readonly variation: Variation;
  readonly edge: Pick<Edge, "openBody" | "takeFile" | "checks" | "signatures">;
  readonly decoding: FairTurns;
  /** Businesses whose records are dear. */
  readonly dear: Set<string>;
  /** Whom a mechanism takes for the owner: in its absence, everybody who comes is another one. */
  ownerOf(mechanism: Mechanism, owner: string): string;
  /** For how long the thread was busy, in milliseconds. */
  busyMs(): number;
  work(ms: number): void;
}

export function openStormNode(without: Mechanism | null): StormNode {
  const kernel = newKernel();
  let busyMs = 0;
  let strangers = 0;
  const work = (ms: number): void => {
    busyMs += ms;
    kernel.spend(ms);
  };
  let isSearchedUntilMs = 0;
  /** The thread that searches does one search after the other. */
  const searched = async (ms: number): Promise<void> => {
    const nowMs = kernel.elapsedExactly();
    isSearchedUntilMs = Math.max(nowMs, isSearchedUntilMs) + ms;
    const { promise, resolve } = Promise.withResolvers<void>();
    kernel.after(isSearchedUntilMs - nowMs, "a search ends", resolve);
    await promise;
  };
  const loop: EventLoop = {
    nowMs: () => kernel.elapsedExactly(),
    nextTurn: (run) => void kernel.after(0, "next turn", run),
    after: (delayMs, run) => kernel.after(delayMs, "loop timer", run),
  };
  const dear = new Set<string>();
  const limited = createEdge({ loop });
  const edge: StormNode["edge"] = {
    ...limited,
    ...(without === "signatureTurns" ? { signatures: (_, verify) => verify() } : {}),
    ...(without === "bodyShares" ? { openBody: withoutGivingWay(limited) } : {}),
  };
  return {
    kernel,
    edge,
    work,
    dear,
    decoding: createDecodingTurns(),
    busyMs: () => busyMs,
    thread: {
      kernel,
      turns: turnsOf(loop, without, (owner) => work(dear.has(owner) ? costs.dearRecord : costs.record)),
      // The defaults of a node.
      limits: { perSecond: 50, costPerMinute: 3_000 },
    },
    variation: {
      ...asItIs,
      name: "storm",
      index: (index) => ({
        ...bound(index),
        search: async (query) => {
          work(costs.search);
          await searched(query.text === undefined ? indexCosts.search : indexCosts.broadSearch);
          return await index.search(query);
        },
      }),
    },
    ownerOf: (mechanism, owner) => {
      strangers += 1;
      return without === mechanism ? `${owner} ${strangers}` : owner;
    },
  };
}

/** Bodies that make room for nobody, as if they had arrived. */
function withoutGivingWay({ openBody }: Edge): Edge["openBody"] {
  return (owner, end) => {
    const room = openBody(owner, end);
    const take = (bytes: number): boolean => {
      const isTaken = room.take(bytes);
      room.arrived(() => {});
      return isTaken;
    };
    return { ...room, take };
  };
}

function turnsOf(
  loop: EventLoop,
  without: Mechanism | null,
  workOnRecord: (owner: string) => void,
): ThreadTurns {
  const { rightOfWay, searchTurns, paces } = createThreadTurns(loop, searchPlaces);
  const costing = (paceOf: PaceOf): PaceOf => {
    return (owner) => () => {
      const go = (): void => workOnRecord(owner);
      const pace = paceOf(owner);
      const due = without === "paces" ? null : pace();
      if (due !== null) return due.then(go);
      go();
      return null;
    };
  };
  return {
    rightOfWay: without === "rightOfWay" ? { ...rightOfWay, during: (asked) => asked() } : rightOfWay,
    searchTurns: without === "searchTurns" ? (_, query) => query() : searchTurns,
    paces: { inline: costing(paces.inline), queued: costing(paces.queued) },
  };
}
