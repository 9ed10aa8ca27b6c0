// The actor of a served ad pool, in the region that served it.
//   APD1. Its campaign decides of a render and tells the pool of it. A click may be known before that, and proves the render.
//        What it tells again changes nothing, also once the pool is forgotten.
//        A pool that has ended, and is about to be forgotten, answers as one that is forgotten.
//   APD2. Items of a pool are known by their index. What belongs to no item is unknown, and leaves nothing.

import { type AdPoolEvent, adPoolMachine, type PoolItem } from "../../machines/ad-pool.ts";
import { adClickMs, adRepeatMs } from "../../protocol/limits.ts";
import type { AdPoolProtocol, ClickReply, PoolReport } from "../messages/ads.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { campaignRef } from "../messages/refs.ts";
import { type Decision, defineActor, type Effect, tell, type ViewOf } from "../system/definition.ts";

type View = ViewOf<typeof adPoolMachine>;
type Asked<T extends keyof AdPoolProtocol> = CommandOf<AdPoolProtocol, T>;
type Decided<R> = Decision<R, AdPoolEvent>;

export const adPoolActor = defineActor<"ad-pool", typeof adPoolMachine>({
  kind: "ad-pool",
  schemaVersion: 1,
  machine: adPoolMachine,
  durability: "journal",
  repeatable: ["item.settle"],
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
  const isKnown = !view.snapshot.matches("unknown");
  return { reply: { status: "done" }, events: isKnown ? [] : [{ type: "pool.served", ...pool }] };
}

function settle({ index, format, refusal, at_ms }: Asked<"item.settle">, view: View): Decided<DoneReply> {
  const reply: DoneReply = { status: "done" };
  if (view.snapshot.matches("unknown")) return { reply, events: [{ type: "pool.missed" }] };
  const item = openItemOf(index, view);
  if (item === undefined || item.format !== null || item.refusal !== null) return { reply };
  const event: AdPoolEvent =
    refusal === null
      ? { type: "item.rendered", index, format, at_ms }
      : { type: "item.refused", index, refusal };
  return { reply, events: [event] };
}

function click({ index, rendered_at_ms }: Asked<"item.click">, view: View): Decided<ClickReply> {
  const item = openItemOf(index, view);
  if (item === undefined) return { reply: { status: "unknown" } };
  const { clicked_at_ms } = item;
  if (clicked_at_ms !== null) return { reply: { status: "clicked", clicked_at_ms } };
  if (view.nowMs > rendered_at_ms + adClickMs) return { reply: { status: "expired" } };
  const rendered: AdPoolEvent = { type: "item.rendered", index, format: null, at_ms: rendered_at_ms };
  const clicked: AdPoolEvent = { type: "item.clicked", index, at_ms: view.nowMs };
  const { company } = view.snapshot.context;
  return {
    reply: { status: "clicked", clicked_at_ms: view.nowMs },
    effects: [tell(campaignRef(item.business_uuid, item.campaign_id), { type: "click.note", company })],
    events: item.rendered_at_ms === null ? [rendered, clicked] : [clicked],
  };
}

/** The item of which something can still be stated; none of a pool that has ended (APD1). */
function openItemOf(index: number, view: View): PoolItem | undefined {
  return view.snapshot.status === "active" ? itemOf(index, view) : undefined;
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
