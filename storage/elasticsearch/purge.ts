// Makes a generation forget what was deleted or replaced in it: its segments are written again without it.
//   A deletion in Lucene only marks a document; its text leaves the disk when the segment is merged. Elasticsearch keeps deleted documents for
//   copies that may have to catch up, and counts a segment as worth merging only from a tenth of deletions on: both are settings.
//   What copies may still need for minutes stays for that long, and the translog until the next flush, which is requested here.

import { type Engine, EngineRefusal } from "./engine.ts";

/** Merges every segment that has any deletion, however few. */
const settings = { "index.merge.policy.expunge_deletes_allowed": 0 };

/** Does nothing for a generation that has gone in the meantime. */
export async function expungeDeleted(engine: Pick<Engine, "write">, generation: string): Promise<void> {
  try {
    await engine.write({ method: "PUT", path: `/${generation}/_settings`, body: settings });
    await engine.write({ method: "POST", path: `/${generation}/_flush?wait_if_ongoing=true` });
    await engine.write({ method: "POST", path: `/${generation}/_forcemerge?only_expunge_deletes=true` });
    await engine.write({ method: "POST", path: `/${generation}/_flush?wait_if_ongoing=true` });
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return;
    throw error;
  }
}
