// The room that is left on the disks on which a node writes, for /metrics and /readyz.

import { stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { gauge, type Reading } from "../../ops/metrics.ts";
import type { NodeConfig } from "../configuration/config.ts";

export interface DiskSpace {
  /** `home` has the stores of an embedded node, its log and its audit log; `bulk` has uploaded files. */
  readonly place: "home" | "bulk";
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** What a user without privileges can still write at each place. */
export async function diskSpace(
  config: Pick<NodeConfig, "home" | "bulkFolder" | "cluster">,
): Promise<readonly DiskSpace[]> {
  const bulk = config.cluster === null ? config.bulkFolder : null;
  return [
    await spaceOf("home", config.home),
    // The folder is made with the first upload; until then there is no room to tell of.
    ...(bulk === null ? [] : await spaceOf("bulk", bulk).then(asOne, () => [])),
  ];
}

async function spaceOf(place: DiskSpace["place"], path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { place, freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

function asOne<T>(value: T): readonly T[] {
  return [value];
}

/** The readings for /metrics. */
export function diskReadings(spaces: readonly DiskSpace[]): readonly Reading[] {
  return spaces.flatMap(({ place, freeBytes, sizeBytes }): readonly Reading[] => [
    gauge("svc_disk_free_bytes", "Bytes that the node can still write, by place.", freeBytes, { place }),
    gauge("svc_disk_size_bytes", "Size of the file system, by place.", sizeBytes, { place }),
  ]);
}

// How old the newest backup is. Nothing of a backup passes through a node, so the job that makes one notes it in the home of a node.

/** A file whose time is that of the newest backup. */
const noteFile = "last-backup";

/** While none was noted, the home itself has been without one for as long as it is there. */
export async function backupReadings(home: string, nowMs: number): Promise<readonly Reading[]> {
  const noted = await stat(join(home, noteFile)).catch(() => null);
  const sinceMs = noted?.mtimeMs ?? (await stat(home)).birthtimeMs;
  return [
    gauge(
      "svc_backup_age_seconds",
      "Since the newest backup that was noted in the home, or since the home was made while there is none.",
      Math.max(0, nowMs - sinceMs) / 1_000,
    ),
  ];
}
