// The activity of a bulk upload: removing what was staged for it. It may be repeated.

import type { StagingArea } from "../../storage/staging-area.ts";
import type { Activity } from "../system/definition.ts";

/** `staging` is null where bulk import is not available: nothing was staged then. */
export function bulkUploadActivities(ports: {
  readonly staging: StagingArea | null;
}): Record<string, Activity> {
  return {
    removeStagedFile: async ({ name }: { name: string }): Promise<null> => {
      await ports.staging?.remove(name);
      return null;
    },
  };
}
