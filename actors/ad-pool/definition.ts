// The actor of a served ad pool, in the region that served it.
//   APD1. Its campaign decides of a render and tells the pool of it. A click may be known before that, and proves the render.
//        What it tells again changes nothing, also once the pool is forgotten.
//        A pool that has ended, and is about to be forgotten, answers as one that is forgotten.
//   APD2. Items of a pool are known by their index. What belongs to no item is unknown, and leaves nothing.

import { adItemMachine, itemAfter, itemTakes, type PoolItem } from "../../machines/ad-item.ts";
import { type AdPoolEvent, adPoolMachine } from "../../machines/ad-pool.ts";
import { adRepeatMs } from "../../protocol/limits.ts";
import type { AdPoolProtocol, ClickReply, PoolReport } from "../messages/ads.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { campaignRef } from "../messages/refs.ts";
import { type Decision, defineActor, type Effect, takenOf, tell, type ViewOf } from "../system/definition.ts";

type View = ViewOf<typeof adPoolMachine>;
type Asked<T extends keyof AdPoolProtocol> = CommandOf<AdPoolProtocol, T>;
type Decided<R> = Decision<R, AdPoolEvent>;

export const adPoolActor = defineActor<"ad-pool", typeof adPoolMachine>({
  kind: "ad-pool",
  schemaVersion: 1,
  machine: adPoolMachine,
  parts: { "ad-item": adItemMachine },
  durability: "journal",
  repeatable: ["item.settle"],
  joinable: ["item.settle"],
  input: () => ({}),
  decide: {
    "pool.serve": serve,
    "item.settle": settle,
    "item.click": click,
    "pool.read": (_command, view) => ({ reply: reportOf(view) }),
  },
  // Anybody may ask about any pool.
  absent: {
    "item.click": { reply: { status: "unknown" } },
    "pool.read": { reply: null },
  },
  effects: { noteShown },
});

function serve({ type: _type, ...pool }: Asked<"pool.serve">, view: View): Decided<DoneReply> {
  return { reply: { status: "done" }, events: takenOf(view, { type: "pool.served", ...pool }) };
}

function settle({ index, format, refusal, at_ms }: Asked<"item.settle">, view: View): Decided<DoneReply> {
  const told: AdPoolEvent =
    refusal === null
      ? { type: "item.rendered", index, format, at_ms }
      : { type: "item.refused", index, refusal };
  return { reply: { status: "done" }, events: takenOf(view, told, { type: "pool.missed" }) };
}

function click({ index, rendered_at_ms }: Asked<"item.click">, view: View): Decided<ClickReply> {
  const item = view.snapshot.status === "active" ? itemOf(index, view) : undefined;
  if (item === undefined) return { reply: { status: "unknown" } };
  const { clicked_at_ms } = item;
  if (clicked_at_ms !== null) return { reply: { status: "clicked", clicked_at_ms } };
  const rendered = { type: "item.rendered", index, format: null, at_ms: rendered_at_ms } as const;
  const clicked = { type: "item.clicked", index, at_ms: view.nowMs } as const;
  // The token proves the render (APD1).
  const isFirst = item.rendered_at_ms === null;
  if (!itemTakes(isFirst ? itemAfter(item, rendered) : item, clicked))
    return { reply: { status: "expired" } };
  const { company } = view.snapshot.context;
  return {
    reply: { status: "clicked", clicked_at_ms: view.nowMs },
    effects: [tell(campaignRef(item.business_uuid, item.campaign_id), { type: "click.note", company })],
    events: isFirst ? [rendered, clicked] : [clicked],
  };
}

function itemOf(index: number, view: View): PoolItem | undefined {
  return view.snapshot.context.items[index];
}

/** After a render the ad is left out of the conversation's pools, unless its advertiser allows repeats. */
function noteShown(
  { index, at_ms }: { readonly index: number; readonly at_ms: number },
  view: View,
): readonly Effect[] {
  const item = itemOf(index, view);
  const { session } = view.snapshot.context;
  if (item === undefined || session === null || item.allow_repeats) return [];
  const command = { type: "shown.note", ad_id: item.ad_id, until_ms: at_ms + adRepeatMs } as const;
  return [tell({ kind: "ad-session", id: session }, command)];
}

function reportOf({ snapshot }: View): PoolReport | null {
  if (snapshot.matches("unknown")) return null;
  const { company, served_at_ms, items } = snapshot.context;
  return { company, served_at_ms, items };
}
