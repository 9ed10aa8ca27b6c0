// Keeps a region's index whole. Every node looks; whatever is missing is built from the records by one of them at a time.
//   K1. An index is missing where the deployment is new, or where the cluster lost it. Searches of it are refused until it is
//       built: there is no empty one that could answer them.
//   K2. The cluster lets one builder begin. The other nodes look again, and take over from one that has gone silent.
//   K3. What fails is tried again at the next look, and a loss is noticed at the next look at the latest.

import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import type { Result } from "../../protocol/result.ts";
import { indexSource } from "../../service/retrieval/index-source.ts";
import { type RebuildRefusal, rebuildIndex } from "../../storage/elasticsearch/rebuild.ts";
import type { ElasticRowIndex } from "../../storage/elasticsearch/row-index.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { nodeTimers } from "./node-timers.ts";

const lookAgainMs = 10_000;
const retryMs = 2_000;
/** How long a stop waits for a builder to withdraw what it has built, so that another node need not wait for its silence. */
const withdrawMs = 3_000;

export interface KeptIndex {
  /** The collections whose rows an index of another layout lacks something of, with these fields. */
  prepare(): Promise<ReadonlyMap<string, readonly string[]>>;
  missing(): Promise<readonly CollectionName[]>;
  /** Builds it unless it serves by now. Rejects once it is aborted. */
  build(
    collection: CollectionName,
    stopped: AbortSignal,
  ): Promise<Result<{ readonly changes: number }, RebuildRefusal>>;
}

export interface IndexKeeping {
  /** The collections that are missing, as far as is known: all of them until the cluster could be asked. */
  readonly missing: () => readonly CollectionName[];
  stop(): Promise<void>;
}

export function keepIndexWhole({
  index,
  timers,
  log,
}: {
  readonly index: KeptIndex;
  readonly timers: TimerPort;
  readonly log: (entry: LogEntry) => void;
}): IndexKeeping {
  const stopping = new AbortController();
  const say = (level: LogEntry["level"], event: string, detail: string): void =>
    log({ level, event, actor: "", detail });
  let missing: readonly CollectionName[] = collectionNames;
  let isPrepared = false;

  const build = async (collection: CollectionName): Promise<void> => {
    try {
      const built = await index.build(collection, stopping.signal);
      if (!built.ok) return;
      missing = missing.filter((each) => each !== collection);
      say("info", "index.built", `${collection}, with ${built.value.changes} changes`);
    } catch (error) {
      say("warn", "index.build_failed", `${collection}: ${String(error)}`);
    }
  };
  const prepare = async (): Promise<void> => {
    for (const [collection, lacking] of await index.prepare())
      say(
        "warn",
        "index.outdated",
        `${collection} must be rebuilt before it can be asked for ${lacking.join(", ")}`,
      );
    isPrepared = true;
  };
  const look = async (): Promise<void> => {
    let known = missing;
    try {
      if (!isPrepared) await prepare();
      known = await index.missing();
    } catch (error) {
      say("warn", "index.not_prepared", String(error));
      return;
    }
    if (known.length > 0 && known.join() !== missing.join())
      say("warn", "index.missing", `${known.join(", ")}: built from the records; not searched until then`);
    missing = known;
    for (const collection of known) if (!stopping.signal.aborted) await build(collection);
  };

  let cancel = (): void => {};
  let looking = Promise.resolve();
  const run = (): void => {
    looking = look().then(() => {
      if (stopping.signal.aborted) return;
      cancel = timers.schedule(isPrepared && missing.length === 0 ? lookAgainMs : retryMs, run);
    });
  };
  run();
  return {
    missing: () => missing,
    stop: async () => {
      stopping.abort();
      cancel();
      const late = Promise.withResolvers<void>();
      const forget = timers.schedule(withdrawMs, late.resolve);
      await Promise.race([looking, late.promise]).finally(forget);
    },
  };
}

/** The same changes, until the signal: then it throws. */
export async function* untilStopped<T>(source: AsyncIterable<T>, stopped: AbortSignal): AsyncGenerator<T> {
  for await (const each of source) {
    stopped.throwIfAborted();
    yield each;
  }
  stopped.throwIfAborted();
}

// Keeps the index of a region's Elasticsearch whole, from its records.

/** Publishing does not wait for the index: it is built once the cluster is reachable, and receives again what it missed. */
export function keepElasticIndex(
  index: ElasticRowIndex,
  {
    records,
    now,
    log,
    timers = nodeTimers,
  }: {
    readonly records: RecordStore;
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
