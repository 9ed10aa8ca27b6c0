// Ad pool: the ads that one request was served. What became of each is the state of a machine of its own (ad-item.ts), which this
// one runs for each item.
//   AP1. An item's event is taken where the item's own machine takes it, while something of the pool can still be stated.
//   AP2. Items expire ten minutes after the pool was served, and are clicked for 24 hours after that.
//   AP3. The pool ends, and is forgotten, once nothing of it can be stated any more. Of a pool that is not known, nothing is kept.

import { assign, setup } from "xstate";
import type { ServedItem } from "../actors/messages/ads.ts";
import { adClickMs, adRenderMs } from "../protocol/limits.ts";
import { type AdItemEvent, itemAfter, itemTakes, type PoolItem, servedItem } from "./ad-item.ts";

export interface AdPoolContext {
  readonly company: string;
  readonly session: string | null;
  readonly served_at_ms: number;
  readonly items: readonly PoolItem[];
}

type ItemEvent = Exclude<AdItemEvent, { type: "item.expired" }> & { readonly index: number };

export type AdPoolEvent =
  | {
      readonly type: "pool.served";
      readonly company: string;
      readonly session: string | null;
      readonly served_at_ms: number;
      readonly items: readonly ServedItem[];
    }
  | ItemEvent
  /** Its campaign tells of a pool that was forgotten. */
  | { readonly type: "pool.missed" };

/** Some seconds more than the specification's, for a request that arrives in the last moment. */
const spareMs = 30_000;

const poolSetup = setup({
  types: { context: {} as AdPoolContext, events: {} as AdPoolEvent, input: {} as object },
  delays: { renderable: adRenderMs + spareMs, clickable: adClickMs + spareMs },
  guards: {
    itemTakes: ({ context, event }) => {
      const item = "index" in event ? context.items[event.index] : undefined;
      return item !== undefined && "index" in event && itemTakes(item, event);
    },
  },
  actions: {
    noteServed: assign(({ event }) => {
      if (event.type !== "pool.served") return {};
      const { company, session, served_at_ms, items } = event;
      return { company, session, served_at_ms, items: items.map(servedItem) };
    }),
    stepItem: assign(({ context: { items }, event }) => ({
      items: items.map((item, at) =>
        "index" in event && at === event.index ? itemAfter(item, event) : item,
      ),
    })),
    expireItems: assign(({ context }) => ({
      items: context.items.map((item) => itemAfter(item, { type: "item.expired" })),
    })),
    // Effects: named here, performed by the actor system.
    noteShown: (_, _params: { index: number; at_ms: number }) => {},
  },
});

/** See AP1. */
const items = poolSetup.createStateConfig({
  on: {
    "item.rendered": {
      guard: "itemTakes",
      actions: [
        "stepItem",
        { type: "noteShown", params: ({ event: { index, at_ms } }) => ({ index, at_ms }) },
      ],
    },
    "item.refused": { guard: "itemTakes", actions: "stepItem" },
    "item.clicked": { guard: "itemTakes", actions: "stepItem" },
  },
});

export const adPoolMachine = poolSetup.createMachine({
  id: "ad-pool",
  context: { company: "", session: null, served_at_ms: 0, items: [] },
  initial: "unknown",
  states: {
    unknown: {
      on: { "pool.served": { target: "served", actions: "noteServed" }, "pool.missed": "ended" },
    },
    served: { ...items, after: { renderable: { target: "clickable", actions: "expireItems" } } },
    clickable: { ...items, after: { clickable: "ended" } },
    ended: { type: "final" },
  },
});
