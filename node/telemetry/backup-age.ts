// How old the newest backup is. Nothing of a backup passes through a node, so the job that makes one notes it in the home of a node.

import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Reading } from "../../ops/metrics.ts";

/** A file whose time is that of the newest backup. */
const noteFile = "last-backup";

/** While none was noted, the home itself has been without one for as long as it is there. */
export async function backupReadings(home: string, nowMs: number): Promise<readonly Reading[]> {
  const noted = await stat(join(home, noteFile)).catch(() => null);
  const sinceMs = noted?.mtimeMs ?? (await stat(home)).birthtimeMs;
  return [
    {
      name: "svc_backup_age_seconds",
      help: "Since the newest backup that was noted in the home, or since the home was made while there is none.",
      ...{ kind: "gauge", value: Math.max(0, nowMs - sinceMs) / 1_000 },
    },
  ];
}
