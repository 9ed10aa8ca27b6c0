// Keeps the index of a region's Elasticsearch whole, from its records.

import type { LogEntry, TimerPort } from "../actors/system/ports.ts";
import { indexSource } from "../service/index-source.ts";
import { rebuildIndex } from "../storage/elasticsearch/rebuild.ts";
import type { ElasticRowIndex } from "../storage/elasticsearch/row-index.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { type IndexKeeping, keepIndexWhole, untilStopped } from "./index-keeping.ts";
import { nodeTimers } from "./node-timers.ts";

/** Publishing does not wait for the index: it is built once the cluster is reachable, and receives again what it missed. */
export function keepElasticIndex(
  index: ElasticRowIndex,
  {
    records,
    now,
    log,
    timers = nodeTimers,
  }: {
    readonly records: Pick<RecordStore, "listHeads" | "readRows">;
    readonly now: () => number;
    readonly log: (entry: LogEntry) => void;
    readonly timers?: TimerPort;
  },
): IndexKeeping {
  return keepIndexWhole({
    index: {
      prepare: () => index.prepare(),
      missing: () => index.missing(),
      build: (collection, stopped) => {
        const source = untilStopped(indexSource(records, collection), stopped);
        return rebuildIndex(index, { collection, source, nowMs: now, onlyMissing: true });
      },
    },
    timers,
    log,
  });
}
