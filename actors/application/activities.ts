// The activity of an application: what was sent with it is removed. It may be repeated.

import type { EvidenceStore } from "../../storage/evidence-store.ts";
import type { Activity } from "../system/definition.ts";

/** What an application has done outside its journal: `forgetEvidence` removes what was sent with it. Throws {@link StoreError}. */
export function applicationActivities({
  evidenceStore,
}: {
  readonly evidenceStore: Pick<EvidenceStore, "forget">;
}): Record<string, Activity> {
  return {
    forgetEvidence: async (name: Parameters<EvidenceStore["forget"]>[0]): Promise<null> => {
      await evidenceStore.forget(name);
      return null;
    },
  };
}
