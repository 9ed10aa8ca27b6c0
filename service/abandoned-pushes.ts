// What was staged for pushes that nobody will finish: whoever sent one was refused, or never came back after a crash
// between staging and acceptance. Before requests are taken nobody is in that between, so that a look then is safe;
// who does come back sends all the bytes again.

import type { ActorSystem } from "../actors/system/definition.ts";
import type { RecordStore } from "../storage/record-store.ts";

const pageMax = 100;

export interface AbandonedDeps {
  readonly actors: Pick<ActorSystem, "inspect">;
  readonly records: Pick<RecordStore, "stagedPushes" | "dropStaged">;
}

/** Drops it, and answers of how many pushes. To be called while no request is under way. */
export async function dropAbandoned({ actors, records }: AbandonedDeps): Promise<number> {
  let dropped = 0;
  for (let after = ""; ; ) {
    const page = await records.stagedPushes(after, pageMax);
    for (const id of page) {
      const report = await actors.inspect({ kind: "push", id });
      // A push that was accepted, finished or not, has the dropping among its own effects.
      const context = report?.context as { readonly facts?: unknown } | null | undefined;
      const isReadable = report === null || (report.failure === null && report.context !== null);
      if (!isReadable || (context?.facts ?? null) !== null) continue;
      await records.dropStaged(id);
      dropped += 1;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < pageMax) return dropped;
    after = last;
  }
}
