// The order of test files: by the seed, so that state that files share shows itself, but what takes longest first, so that no
// processor waits at the end for one file.

import { createHash } from "node:crypto";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { root } from "./process.ts";

/** The longest first; each takes half a minute or more. */
const longest = `tools/image.full.test.ts tools/fuzz-faults.full.test.ts mcp/judges.full.test.ts
  stories/operators/inspector-in-browser.full.test.ts tools/push-crash.full.test.ts
  tools/vectors-elsewhere.full.test.ts stories/operators/incidents.full.test.ts
  node/keys/runbook.full.test.ts stories/retrieval/ai-company.full.test.ts
  stories/verification/proof-file-bytes.full.test.ts stories/publishing/bulk-large.full.test.ts
  stories/crashes/crash-points.full.test.ts stories/verification/log-judges.full.test.ts
  storage/elasticsearch/row-index.elastic.test.ts stories/regions/upgrade.regions.test.ts
  stories/regions/ai-company.regions.test.ts stories/regions/incidents.regions.test.ts
  stories/crashes/node-faults.regions.test.ts stories/regions/first-regions.regions.test.ts
  stories/regions/region-away.regions.test.ts stories/crashes/restore.cassandra.test.ts
  storage/elasticsearch/same-answers.elastic.test.ts`.split(/\s+/);

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { seed } = this.ctx.config.sequence;
    const places = new Map(
      files.map((file) => {
        const path = relative(root, file.moduleId).replaceAll("\\", "/");
        const rank = longest.indexOf(path);
        const drawn = createHash("sha256").update(`${seed} ${path}`).digest("hex");
        return [file, `${String(rank < 0 ? longest.length : rank).padStart(3, "0")} ${drawn}`] as const;
      }),
    );
    return files.toSorted((a, b) => ((places.get(a) ?? "") < (places.get(b) ?? "") ? -1 : 1));
  }
}
