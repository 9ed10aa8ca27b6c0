// One incarnation of a node: the same actors and the same service as in production, composed over the ports of a
// simulated world. What a process holds ends with its life; what is in the stores stays.
//   N1. Nothing here decides anything: where production composes, this composes.
//   N2. A node that lost its lease halts its actors before anything else of it runs.

import { businessActivities } from "../../actors/business/activities.ts";
import { placementOf, regionRef } from "../../actors/messages/refs.ts";
import { pushActivities } from "../../actors/push/activities.ts";
import { regionActivities } from "../../actors/region/activities.ts";
import type { Activity, ActorSystem, Message } from "../../actors/system/definition.ts";
import type { LocalActorSystem } from "../../actors/system/ports.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { placeOn } from "../../cluster/rendezvous.ts";
import { dropAbandoned } from "../../service/abandoned-pushes.ts";
import type { AuthenticationDeps } from "../../service/authenticate.ts";
import { createFetch, type FetchRecord } from "../../service/fetch.ts";
import { createParties, type Parties } from "../../service/parties.ts";
import type { PublishDeps } from "../../service/publish.ts";
import { createPushTrees } from "../../service/push-trees.ts";
import { createReceipts } from "../../service/receipts.ts";
import { createRegister, type Register } from "../../service/register.ts";
import { createSearch, type Search } from "../../service/search.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { RemoteFailure, type RemoteTarget } from "../../transport/actor-transport.ts";
import { Life } from "../kernel/life.ts";
import type { Peer } from "../network/network.ts";
import { openSimActorStore } from "../store/actor-store.ts";
import { openSimReceiptStore } from "../store/receipt-store.ts";
import { openSimRecordStore } from "../store/record-store.ts";
import { openSimRegisterStore } from "../store/register-store.ts";
import { openSimRowIndex } from "../store/row-index.ts";
import { beatMs } from "./membership-model.ts";
import { watchAsks } from "./watched-actors.ts";
import type { WorldParts } from "./world-parts.ts";

/** Where a node runs, whichever incarnation: its name, its region, its clock. */
export interface NodeSlot {
  readonly name: string;
  readonly region: string;
  /** Milliseconds that its clock is ahead of the world's. */
  skewMs: number;
}

export interface SimNode extends Peer {
  readonly slot: NodeSlot;
  readonly actors: ActorSystem;
  readonly system: LocalActorSystem;
  readonly parties: Parties;
  readonly register: Register;
  readonly authentication: AuthenticationDeps;
  readonly publishing: PublishDeps;
  readonly search: Search;
  readonly fetch: FetchRecord;
  /** Wakes what waits, and takes part from then on. */
  start(): void;
  /** Stops the actors at once: the lease is lost. */
  halt(): void;
  holdsLease(): boolean;
  drain(): Promise<void>;
}

/** How often the register's changes are followed, as in production. */
const refreshMs = 1_000;
const drainMs = 3_000;
const verifyUrl = "https://verify.svc.test";

export function openNode(parts: WorldParts, slot: NodeSlot, incarnation: string): SimNode {
  const { kernel, keys, crypto, regions } = parts;
  const life = new Life(kernel, incarnation);
  const clock = { now: () => kernel.now() + slot.skewMs };
  const client = { model: parts.stores, life, region: slot.region };
  const register = createRegister({ store: openSimRegisterStore(client), clock });
  const records = openSimRecordStore(client);
  const receiptStore = openSimReceiptStore(client);
  const rows = parts.indexes.get(slot.region);
  if (rows === undefined) throw new Error(`region ${slot.region} has no index`);
  const index = openSimRowIndex({ kernel, life, region: slot.region, rows, weather: parts.indexWeather });
  const trees = createPushTrees(records, crypto.sha256);
  const holdsLease = (): boolean => !life.isOver && parts.membership.holdsLease(slot.region, incarnation);
  const placement = createPlacement(parts, slot, { name: slot.name, incarnation, life });
  const registerStore = openSimRegisterStore(client);
  const projection = { projection: keys.projection, sidecar: keys.sidecar };
  const activities: Record<string, Activity> = {
    ...businessActivities({
      register: registerStore,
      records,
      regions: () => regions,
      registerChanged: () => register.refresh(),
    }),
    ...pushActivities({
      ...{ records, crypto, trees, region: slot.region, regions: () => regions, ...projection },
      recordIdOf: parts.recordIdOf,
      lists: parts.lists,
    }),
    ...regionActivities({ index, records, receipts: receiptStore, sha256: crypto.sha256 }),
  };
  const operations = parts.operations.fork(incarnation);
  const system = createActorSystem({
    store: openSimActorStore(client, parts.variation.storeGuards),
    definitions: parts.variation.definitions,
    activities: parts.variation.activities(activities),
    clock,
    timers: { schedule: (delayMs, run) => life.after(delayMs, `${slot.name} timer`, run) },
    entropy: { newOperationId: () => operations.uuid() },
    owner: `${slot.region}/${incarnation}`,
    route: placement.route,
    limits: parts.limits,
    log: (entry) => parts.log(incarnation, entry),
  });
  const actors = watchAsks(system, { history: parts.history, incarnation, life });
  const receipts = createReceipts({
    environment: "production",
    region: slot.region,
    incarnation: () => (holdsLease() ? incarnation : null),
    signer: keys.receipts.get(slot.region) ?? keys.projection,
    store: receiptStore,
    crypto,
    clock,
  });
  const delayUntil = (atMs: number): Promise<void> =>
    new Promise((resolve) => life.after(atMs - clock.now(), `${slot.name} waits`, resolve));
  return {
    ...{ slot, name: slot.name, incarnation, life, actors, system, register, holdsLease },
    parties: createParties({
      ...{ actors, clock, crypto, recordIdKey: parts.recordIdKey, keys: keys.service(slot.region) },
      passkeys: { rp_ids: [], origins: [] },
      settleHome: async () => {},
    }),
    authentication: {
      ...{ environment: "production", region: slot.region, register, actors, crypto, clock },
      grantSigner: null,
      registerGrantedKey: () => Promise.reject(new Error("there are no grants in production")),
    },
    publishing: { actors, records, crypto, clock, trees, recordIdOf: parts.recordIdOf },
    search: createSearch({ index, register, receipts }),
    fetch: createFetch({ records, register, receipts, clock, verifyUrl, delayUntil }),
    handlers: {
      ask: (to, command, timeoutMs) => system.askHere(to, command as Message, timeoutMs),
      deliver: (to, from, messages) => system.deliver(to, from, messages),
    },
    start: () => {
      placement.beat(system);
      if (parts.slots.length === 1) void dropAbandoned({ actors: system, records }).catch(() => {});
      void system.start();
      follow(life, register, slot.name);
    },
    halt: () => {
      placement.stop();
      parts.membership.leave(slot.region, incarnation);
      system.halt();
    },
    drain: async () => {
      placement.stop();
      parts.membership.leave(slot.region, incarnation);
      await system.drain(drainMs);
    },
  };
}

/** Keeps the cache of the register fresh, while the node lives. */
function follow(life: Life, register: Register, name: string): void {
  const again = (): void => {
    register.refresh().catch(() => {});
    life.after(refreshMs, `${name} follows the register`, again);
  };
  again();
}

interface Placement {
  route(ref: ActorRef): "local" | RemoteTarget;
  /** Beats now and from now on, and tells the actor system when the view changed. */
  beat(system: LocalActorSystem): void;
  /** Beats no more. */
  stop(): void;
}

function createPlacement(
  parts: WorldParts,
  slot: NodeSlot,
  self: { readonly name: string; readonly incarnation: string; readonly life: Life },
): Placement {
  let isStopped = false;
  const views = new Map<string, readonly { readonly address: string; readonly incarnation: string }[]>();
  const look = (): boolean => {
    let changed = false;
    parts.membership.beat(slot.region, self.incarnation);
    for (const region of parts.regions) {
      const known = views.get(region) ?? [];
      const members = parts.membership.view(region).map((incarnation) => ({
        incarnation,
        // Z1 of the placement: an incarnation that follows another at the same address has the same actors.
        address: incarnation.slice(0, incarnation.lastIndexOf("-")),
      }));
      changed ||=
        members.length !== known.length ||
        members.some((each, index) => each.incarnation !== known[index]?.incarnation);
      views.set(region, members);
    }
    return changed;
  };
  const route = (ref: ActorRef): "local" | RemoteTarget => {
    const place = placementOf(ref);
    const region = "region" in place ? place.region : (parts.homes.get(place.party) ?? slot.region);
    const key = "region" in place ? `${ref.kind}/${ref.id}` : place.party;
    const member = placeOn(key, views.get(region) ?? []);
    if (member === null) return nowhere(self.life);
    if (member.incarnation === self.incarnation) return "local";
    const peer = parts.nodes.get(member.incarnation);
    return peer === undefined ? nowhere(self.life) : parts.network.target(self, peer);
  };
  return {
    route,
    stop: () => {
      isStopped = true;
    },
    beat: (system) => {
      const again = (): void => {
        if (isStopped) return;
        if (look()) {
          system.handOver();
          void system.adopt();
          const open = { type: "region.open", region: slot.region } as Message;
          system.ask(regionRef(slot.region), open).catch(() => {});
        }
        self.life.after(beatMs, `${slot.name} beats`, again);
      };
      again();
    },
  };
}

function nowhere(life: Life): RemoteTarget {
  const fail = (): Promise<never> =>
    life.isOver
      ? life.never()
      : Promise.reject(new RemoteFailure("unreachable", { retryAfterSeconds: 1, effect: "not_applied" }));
  return { ask: fail, deliver: fail };
}
