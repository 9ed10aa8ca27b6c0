// Ad pool: the ads that one request was served, and what became of each: served, rendered or refused, clicked, expired.
//   AP1. Each item is rendered once and clicked once; what was answered first is answered again.
//   AP2. An item is rendered if its campaign charged it, within ten minutes of the pool; it is clicked only after it was rendered, and
//        within 24 hours of that.
//   AP3. An item of which no render is known in time has expired. Its campaign may tell of one later that was in time.
//   AP4. The pool ends, and is forgotten, once nothing of it can be stated any more. Of a pool that is not known, nothing is kept.

import { assign, setup } from "xstate";
import type { RenderRefusal, ServedItem } from "../actors/messages/ads.ts";
import { adClickMs, adRenderMs } from "../protocol/limits.ts";

export type ItemState = "served" | "rendered" | "refused" | "clicked" | "expired";

export interface PoolItem extends ServedItem {
  readonly state: ItemState;
  /** How it is shown, as the caller stated; null until the campaign tells of its render. */
  readonly format: string | null;
  readonly rendered_at_ms: number | null;
  readonly clicked_at_ms: number | null;
  readonly refusal: RenderRefusal | null;
}

export interface AdPoolContext {
  readonly company: string;
  readonly session: string | null;
  readonly served_at_ms: number;
  readonly items: readonly PoolItem[];
}

export type AdPoolEvent =
  | {
      readonly type: "pool.served";
      readonly company: string;
      readonly session: string | null;
      readonly served_at_ms: number;
      readonly items: readonly ServedItem[];
    }
  /** The format is null if a click tells of the render first. */
  | {
      readonly type: "item.rendered";
      readonly index: number;
      readonly format: string | null;
      readonly at_ms: number;
    }
  | { readonly type: "item.refused"; readonly index: number; readonly refusal: RenderRefusal }
  | { readonly type: "item.clicked"; readonly index: number; readonly at_ms: number }
  /** Its campaign tells of a pool that was forgotten. */
  | { readonly type: "pool.missed" };

/** Some seconds more than the specification's, for a request that arrives in the last moment. */
const spareMs = 30_000;

function changed(
  { items }: AdPoolContext,
  index: number,
  change: Partial<PoolItem>,
): Pick<AdPoolContext, "items"> {
  return { items: items.map((item, at) => (at === index ? { ...item, ...change } : item)) };
}

export const adPoolMachine = setup({
  types: { context: {} as AdPoolContext, events: {} as AdPoolEvent, input: {} as object },
  delays: { renderable: adRenderMs + spareMs, clickable: adClickMs + spareMs },
  actions: {
    noteServed: assign(({ event }) => {
      if (event.type !== "pool.served") return {};
      const { company, session, served_at_ms, items } = event;
      const fresh = {
        state: "served",
        format: null,
        rendered_at_ms: null,
        clicked_at_ms: null,
        refusal: null,
      } as const;
      return { company, session, served_at_ms, items: items.map((item) => ({ ...item, ...fresh })) };
    }),
    expireServed: assign(({ context }) => ({
      items: context.items.map((item) =>
        item.state === "served" ? { ...item, state: "expired" as const } : item,
      ),
    })),
    // Effects: named here, performed by the actor system.
    noteShown: (_, _params: { index: number; at_ms: number }) => {},
  },
}).createMachine({
  id: "ad-pool",
  context: { company: "", session: null, served_at_ms: 0, items: [] },
  initial: "unknown",
  on: {
    "item.rendered": {
      actions: [
        assign(({ context, event: { index, format, at_ms } }) => {
          const state = context.items[index]?.state === "clicked" ? "clicked" : "rendered";
          return changed(context, index, { state, format, rendered_at_ms: at_ms });
        }),
        { type: "noteShown", params: ({ event: { index, at_ms } }) => ({ index, at_ms }) },
      ],
    },
    "item.refused": {
      actions: assign(({ context, event: { index, refusal } }) =>
        changed(context, index, { state: "refused", refusal }),
      ),
    },
    "item.clicked": {
      actions: assign(({ context, event: { index, at_ms } }) =>
        changed(context, index, { state: "clicked", clicked_at_ms: at_ms }),
      ),
    },
  },
  states: {
    unknown: {
      on: { "pool.served": { target: "served", actions: "noteServed" }, "pool.missed": "ended" },
    },
    served: { after: { renderable: { target: "clickable", actions: "expireServed" } } },
    clickable: { after: { clickable: "ended" } },
    ended: { type: "final" },
  },
});
