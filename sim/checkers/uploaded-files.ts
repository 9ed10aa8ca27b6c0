// Uploaded files once nothing is in flight: what was imported is gone from every region.

import type { World } from "../world/world.ts";
import type { Truth } from "./at-rest.ts";

export function checkUploadedFiles(world: World, truth: Truth): void {
  for (const report of truth.reports.values()) {
    const { file } = report?.facts ?? {};
    if (file === undefined || (report?.state !== "complete" && report?.state !== "failed")) continue;
    world.observed.mark("import.ended");
    for (const region of world.parts.regions) {
      if (world.stagedFile(region, file.name) === null) continue;
      world.observed.violate(
        "files-are-removed",
        `${report.facts.push_id} is ${report.state}, and ${file.name} is still in ${region}`,
      );
    }
  }
}
