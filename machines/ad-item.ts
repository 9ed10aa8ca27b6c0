// Ad item: one ad of a served pool. Its pool's actor runs this machine for each of its items (ad-pool.ts).
//   AI1. An item is rendered once and clicked once; what was answered first is answered again.
//   AI2. It is rendered if its campaign charged it. It is clicked only after it was rendered, and within 24 hours of that.
//   AI3. A click may tell of the render first. What its campaign tells of it later says how it was shown.
//   AI4. It expires if no render is known in time. Its campaign may tell of one later that was in time.
//   AI5. Its states contain no others and do nothing when they are entered or left, and its actions are notes about one event. So a pool
//        follows them itself: XState's own run takes ten times as long, for each render and click. A property compares the two (actors/money-machines.property.test.ts).

import { assign, setup } from "xstate";
import type { RenderRefusal, ServedItem } from "../actors/messages/ads.ts";
import { adClickMs } from "../protocol/limits.ts";

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

const guards = {
  isFormatOpen: ({ context }: { readonly context: AdItemFacts }) => context.format === null,
  isInTime: ({ context, event }: { readonly context: AdItemFacts; readonly event: AdItemEvent }) =>
    event.type === "item.clicked" && event.at_ms <= (context.rendered_at_ms ?? 0) + adClickMs,
};

/** What an event changes in an item. */
const notes = {
  noteRender: (event: AdItemEvent): Partial<AdItemFacts> =>
    event.type === "item.rendered" ? { format: event.format, rendered_at_ms: event.at_ms } : {},
  noteRefusal: (event: AdItemEvent): Partial<AdItemFacts> =>
    event.type === "item.refused" ? { refusal: event.refusal } : {},
  noteClick: (event: AdItemEvent): Partial<AdItemFacts> =>
    event.type === "item.clicked" ? { clicked_at_ms: event.at_ms } : {},
};

const itemSetup = setup({
  types: { context: {} as AdItemFacts, events: {} as AdItemEvent, input: {} as ServedItem },
  guards,
  actions: {
    noteRender: assign(({ event }) => notes.noteRender(event)),
    noteRefusal: assign(({ event }) => notes.noteRefusal(event)),
    noteClick: assign(({ event }) => notes.noteClick(event)),
  },
});

const untold = { format: null, rendered_at_ms: null, clicked_at_ms: null, refusal: null };

const settled = {
  "item.rendered": { target: "rendered", actions: "noteRender" },
  "item.refused": { target: "refused", actions: "noteRefusal" },
} as const;

const states = {
  served: { on: { ...settled, "item.expired": { target: "expired" } } },
  rendered: { on: { "item.clicked": { guard: "isInTime", target: "clicked", actions: "noteClick" } } },
  clicked: { on: { "item.rendered": { guard: "isFormatOpen", actions: "noteRender" } } },
  refused: { on: {} },
  expired: { on: settled },
} as const;

export const adItemMachine = itemSetup.createMachine({
  id: "ad-item",
  context: ({ input }) => ({ ...input, ...untold }),
  initial: "served",
  states,
});

/** An item as its pool keeps it: what its machine knows, and the state that it is in. */
export interface PoolItem extends AdItemFacts {
  readonly state: keyof typeof states;
}

export function servedItem(input: ServedItem): PoolItem {
  return { ...input, ...untold, state: "served" };
}

/** Whether the item's machine takes the event. */
export function itemTakes(item: PoolItem, event: AdItemEvent): boolean {
  return wayOf(item, event) !== undefined;
}

/** The item after an event; as it is where its machine does not take it. */
export function itemAfter(item: PoolItem, event: AdItemEvent): PoolItem {
  const way = wayOf(item, event);
  if (way === undefined) return item;
  const { actions, target: state = item.state } = way;
  return { ...item, ...(actions === undefined ? null : notes[actions](event)), state };
}

interface Way {
  readonly guard?: keyof typeof guards;
  readonly actions?: keyof typeof notes;
  readonly target?: PoolItem["state"];
}

/** See AI5. */
function wayOf(item: PoolItem, event: AdItemEvent): Way | undefined {
  const { on }: { readonly on: Readonly<Partial<Record<AdItemEvent["type"], Way>>> } = states[item.state];
  const way = on[event.type];
  return way?.guard === undefined || guards[way.guard]({ context: item, event }) ? way : undefined;
}
