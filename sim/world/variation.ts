// The code under test as it is, or with one guard taken away. A world is built from a variation; the true one is what
// production runs.

import { businessActor } from "../../actors/business/definition.ts";
import { integrationKeyActor } from "../../actors/integration-key/definition.ts";
import { pushActor } from "../../actors/push/definition.ts";
import { regionActor } from "../../actors/region/definition.ts";
import type { Activity, ActorDefinition } from "../../actors/system/definition.ts";
import { type ActorStoreGuards, allGuards } from "../store/actor-store.ts";

export interface Variation {
  readonly name: string;
  readonly definitions: readonly ActorDefinition[];
  readonly storeGuards: ActorStoreGuards;
  activities(given: Record<string, Activity>): Record<string, Activity>;
}

export const asItIs: Variation = {
  name: "as it is",
  definitions: [businessActor, integrationKeyActor, pushActor, regionActor] as unknown as ActorDefinition[],
  storeGuards: allGuards,
  activities: (given) => given,
};
