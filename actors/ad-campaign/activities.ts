// The activities of an ad campaign: telling the regions of it, and purging what was deleted.

import type { AdVersion } from "../../machines/ad-campaign.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

export interface AdCampaignPorts {
  readonly register: RegisterStore;
  readonly records: RecordStore;
  /** Called after the register has changed, so that this node need not wait for its next poll. */
  readonly registerChanged: () => Promise<void>;
}

/** What a campaign does outside its journal: its ads in the register, and the purge of an ad's versions. */
export function adCampaignActivities(ports: AdCampaignPorts): Record<string, Activity> {
  return {
    projectAds: async ({ keys }: { keys: readonly string[] }, context: ActivityContext<"ad-campaign">) => {
      const { entries } = await context.ask(context.actor, { type: "entries.read", keys });
      await ports.register.put(entries);
      await ports.registerChanged();
      return null;
    },
    // Every version of the ad: each had its own bytes. What stays says only that they were there.
    purgeAd: async ({ ad_id, versions }: { ad_id: string; versions: readonly AdVersion[] }) => {
      await ports.records.purgeVersions(
        versions.map((version) => ({
          record_id: ad_id,
          ...version,
          remains: JSON.stringify({ ad_id, ...version }),
        })),
      );
      await ports.records.overwriteUnused();
      return null;
    },
  };
}
