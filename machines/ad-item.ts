// Ad item: one ad of a served pool. Its pool's actor runs this machine for each of its items (ad-pool.ts).
//   AI1. An item is rendered once and clicked once; what was answered first is answered again.
//   AI2. It is rendered if its campaign charged it. It is clicked only after it was rendered, and within 24 hours of that.
//   AI3. A click may tell of the render first. What its campaign tells of it later says how it was shown.
//   AI4. It expires if no render is known in time. Its campaign may tell of one later that was in time.

import { assign, type SnapshotFrom, setup } from "xstate";
import type { RenderRefusal, ServedItem } from "../actors/messages/ads.ts";
import { adClickMs } from "../protocol/limits.ts";
import { madeOnce } from "../std/bounded-map.ts";
import { inertScope } from "./runs/inert-scope.ts";

export interface AdItemFacts extends ServedItem {
  /** How it is shown, as the caller stated; null until the campaign tells of its render. */
  readonly format: string | null;
  readonly rendered_at_ms: number | null;
  readonly clicked_at_ms: number | null;
  readonly refusal: RenderRefusal | null;
}

export type AdItemEvent =
  /** The format is null if a click tells of the render first. */
  | { readonly type: "item.rendered"; readonly format: string | null; readonly at_ms: number }
  | { readonly type: "item.refused"; readonly refusal: RenderRefusal }
  | { readonly type: "item.clicked"; readonly at_ms: number }
  | { readonly type: "item.expired" };

const itemSetup = setup({
  types: { context: {} as AdItemFacts, events: {} as AdItemEvent, input: {} as ServedItem },
  guards: {
    isFormatOpen: ({ context }) => context.format === null,
    isInTime: ({ context, event }) =>
      event.type === "item.clicked" && event.at_ms <= (context.rendered_at_ms ?? 0) + adClickMs,
  },
  actions: {
    noteRender: assign(({ event }) =>
      event.type === "item.rendered" ? { format: event.format, rendered_at_ms: event.at_ms } : {},
    ),
    noteRefusal: assign(({ event }) => (event.type === "item.refused" ? { refusal: event.refusal } : {})),
    noteClick: assign(({ event }) => (event.type === "item.clicked" ? { clicked_at_ms: event.at_ms } : {})),
  },
});

const untold = { format: null, rendered_at_ms: null, clicked_at_ms: null, refusal: null };

const settled = {
  "item.rendered": { target: "rendered", actions: "noteRender" },
  "item.refused": { target: "refused", actions: "noteRefusal" },
} as const;

export const adItemMachine = itemSetup.createMachine({
  id: "ad-item",
  context: ({ input }) => ({ ...input, ...untold }),
  initial: "served",
  states: {
    served: { on: { ...settled, "item.expired": "expired" } },
    rendered: { on: { "item.clicked": { guard: "isInTime", target: "clicked", actions: "noteClick" } } },
    clicked: { on: { "item.rendered": { guard: "isFormatOpen", actions: "noteRender" } } },
    refused: {},
    expired: { on: settled },
  },
});

/** An item as its pool keeps it: what its machine knows, and the state that it is in. */
export interface PoolItem extends AdItemFacts {
  readonly state: keyof typeof adItemMachine.states;
}

export function servedItem(input: ServedItem): PoolItem {
  return { ...input, ...untold, state: "served" };
}

const nothing = (): void => {};
const scope = inertScope({ collect: nothing, inspect: nothing });
type Snapshot = SnapshotFrom<typeof adItemMachine>;
/** Made once for each item: an event is asked about before it is applied. */
const snapshotOf = madeOnce(
  ({ state: value, ...context }: PoolItem): Snapshot => adItemMachine.resolveState({ value, context }),
);

/** Whether the item's machine takes the event. */
export function itemTakes(item: PoolItem, event: AdItemEvent): boolean {
  return snapshotOf(item).can(event);
}

/** The item after an event; as it is where its machine does not take it. */
export function itemAfter(item: PoolItem, event: AdItemEvent): PoolItem {
  const { context, value: state } = adItemMachine.transition(snapshotOf(item), event, scope);
  return { ...context, state };
}
