// A node's place among the others: where actors are, under which name it may write, and how it joins and leaves. One kind
// of place is the real membership (cluster/) over a simulated store; the other is a model of it that costs few events,
// for worlds that focus on something else.

import type { CurrentActors } from "../../actors/system/current-actors.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { RemoteTarget, TransportHandlers } from "../../transport/actor-transport.ts";
import type { Life } from "../kernel/life.ts";
import type { NodeSlot } from "./sim-node.ts";
import type { WorldParts } from "./world-parts.ts";

export interface Place {
  route(ref: ActorRef): "local" | RemoteTarget;
  /** Whether the actor lives on this node. */
  isHere(ref: ActorRef): boolean | Promise<boolean>;
  /** What other nodes may call. */
  readonly handlers: TransportHandlers;
  /** The incarnation as which this node may currently write; null without a lease. */
  lease(): string | null;
  /** The incarnation that answers at this address, whether or not it holds its lease. */
  incarnation(): string | null;
  /** Joins the cluster. */
  join(): void;
  /** A suspended process checks its lease before anything else. Returns whether it was lost. */
  wakeUp(): boolean;
  /** Leaves permanently, after finishing everything accepted. */
  leave(drainMs: number): Promise<void>;
  /** Gives a party that has no home one in this region. */
  settleHome(party: string): Promise<void>;
}

export interface PlaceOptions {
  readonly parts: WorldParts;
  readonly slot: NodeSlot;
  readonly name: string;
  readonly life: Life;
  readonly actors: () => CurrentActors;
}
