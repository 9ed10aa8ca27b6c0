// Ad campaign: what an advertiser pays for, and whether it goes on.
//   AC1. Terms are replaced only by terms that were sealed later.
//   AC2. A campaign whose budget does not cover one more render is `spent`; it runs again with terms that allow more, or once renders
//        are reversed.
//   AC3. Prices, the budget and what is spent of it are a keyed row of the actor. They are neither in the context nor in an
//        event, because operators are shown both.
//   AC4. Operators stop a campaign and let it go on; new terms do neither.
// It is a reducer: what may happen depends on those rows, so the actor decides it, and each event names the state that it leads to.
// The states show whether the campaign goes on; they refuse nothing.

import { assign, setup } from "xstate";
import type { AdFacts, CampaignFacts } from "../actors/messages/ads.ts";

export interface AdCampaignContext {
  /** The seal of the terms in force; null before the first. */
  readonly sealId: string | null;
  readonly sealedAtMs: number;
  readonly renders: number;
  /** Of them, those that operators reversed. */
  readonly reversed: number;
  /** Number of ads that were ever assigned. */
  readonly ads: number;
  /** Orders the entries of the register. */
  readonly change: number;
}

export type AdCampaignEvent =
  | {
      readonly type: "campaign.accepted";
      readonly seal_id: string;
      readonly sealed_at_ms: number;
      readonly state: CampaignFacts["state"];
    }
  | {
      readonly type: "ad.assigned";
      readonly ad_id: string;
      readonly generation: number;
      readonly first: boolean;
    }
  | { readonly type: "ad.published"; readonly ad_id: string; readonly generation: number }
  | {
      readonly type: "ad.removed";
      readonly ad_id: string;
      readonly state: Exclude<AdFacts["state"], "live">;
      /** Every version that is purged; none if the ad is withdrawn. */
      readonly purged: readonly AdVersion[];
    }
  | {
      readonly type: "render.charged";
      readonly ad_id: string;
      readonly state: CampaignFacts["state"];
      /** Whether it was the last one that the day had room for. */
      readonly ends_day: boolean;
    }
  | {
      readonly type: "campaign.stopped" | "campaign.resumed";
      readonly state: CampaignFacts["state"];
    }
  | {
      readonly type: "renders.reversed";
      readonly company: string;
      readonly renders: number;
      readonly state: CampaignFacts["state"];
    };

export interface AdVersion {
  readonly generation: number;
  readonly hash: string;
}

/** A transition to the state that the event names, after what there is to note of it. */
function leading() {
  const projecting = { type: "projectAds", params: { keys: ["campaign"] as readonly string[] } } as const;
  return (["running", "paused", "spent", "stopped"] as const).map((state) => ({
    guard: { type: "isTo", params: { state } } as const,
    target: `.${state}` as const,
    actions: ["noteTerms", "noteReversal", "noteChange", projecting] as const,
  }));
}

export const adCampaignMachine = setup({
  types: { context: {} as AdCampaignContext, events: {} as AdCampaignEvent, input: {} as object },
  guards: {
    isTo: ({ event }, { state }: { readonly state: CampaignFacts["state"] }) =>
      "state" in event && event.state === state,
    isDeleted: ({ event }) => event.type === "ad.removed" && event.state === "deleted",
    becomesSpent: ({ event }) => event.type === "render.charged" && event.state === "spent",
    endsDay: ({ event }) => event.type === "render.charged" && event.ends_day,
  },
  actions: {
    noteChange: assign(({ context }) => ({ change: context.change + 1 })),
    noteTerms: assign(({ event }) =>
      event.type === "campaign.accepted" ? { sealId: event.seal_id, sealedAtMs: event.sealed_at_ms } : {},
    ),
    noteRender: assign(({ context }) => ({ renders: context.renders + 1 })),
    noteReversal: assign(({ context, event }) =>
      event.type === "renders.reversed" ? { reversed: context.reversed + event.renders } : {},
    ),
    // Effects: named here, performed by the actor system.
    projectAds: (_, _params: { keys: readonly string[] }) => {},
    purgeAd: (_, _params: { ad_id: string; versions: readonly AdVersion[] }) => {},
  },
}).createMachine({
  id: "ad-campaign",
  context: { sealId: null, sealedAtMs: 0, renders: 0, reversed: 0, ads: 0, change: 0 },
  initial: "unknown",
  on: {
    "campaign.accepted": leading(),
    "ad.assigned": {
      actions: assign(({ context, event }) => ({ ads: context.ads + (event.first ? 1 : 0) })),
    },
    "ad.published": {
      actions: ["noteChange", { type: "projectAds", params: ({ event }) => ({ keys: [event.ad_id] }) }],
    },
    "ad.removed": [
      {
        guard: "isDeleted",
        actions: [
          "noteChange",
          { type: "projectAds", params: ({ event }) => ({ keys: [event.ad_id] }) },
          {
            type: "purgeAd",
            params: ({ event: { ad_id, purged } }) => ({ ad_id, versions: purged }),
          },
        ],
      },
      { actions: ["noteChange", { type: "projectAds", params: ({ event }) => ({ keys: [event.ad_id] }) }] },
    ],
    "render.charged": [
      {
        guard: "becomesSpent",
        target: ".spent",
        actions: ["noteRender", "noteChange", { type: "projectAds", params: { keys: ["campaign"] } }],
      },
      {
        guard: "endsDay",
        actions: ["noteRender", "noteChange", { type: "projectAds", params: { keys: ["campaign"] } }],
      },
      { actions: "noteRender" },
    ],
    "renders.reversed": leading(),
    "campaign.stopped": leading(),
    "campaign.resumed": leading(),
  },
  states: {
    unknown: {},
    running: {},
    paused: {},
    spent: {},
    stopped: {},
  },
});
