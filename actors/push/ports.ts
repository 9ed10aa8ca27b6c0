// The ports that a push actor's activities need.

import type { CryptoPort, SignerAt } from "../../crypto/port.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import type { MerkleTree } from "../../protocol/merkle.ts";
import type { ContentLists } from "../../protocol/records/name-index.ts";
import { parseTraceparent, type Tracer } from "../../std/tracing.ts";
import type { PaceOf } from "../../std/work.ts";
import type { PartitionRow } from "../../storage/actor-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { PlannedListings } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ChunkWork, PushFacts, PushProtocol } from "../messages/push.ts";
import type { NoticeChannels } from "../messages/serving.ts";
import { defineJsonTable } from "../system/row-table.ts";

/** A push that made no step for ten minutes. */
export interface StalledPush {
  readonly push_id: string;
  readonly business_uuid: string;
  readonly records: number;
  readonly settled: number;
  /** The regions whose index has to confirm, once chunks are settled. */
  readonly regions: readonly string[];
  /** When it made its last step. */
  readonly since: string;
}

export interface StallWatch {
  /** Called when the push stalls, and every ten minutes while it does. */
  note(push: StalledPush): void;
  /** Called when it makes a step, which is often. */
  forget(pushId: string): void;
}

export interface PushPorts {
  readonly records: RecordStore;
  readonly crypto: CryptoPort;
  readonly projection: SignerAt;
  readonly sidecar: SignerAt;
  /** The records of a push, and the tree over them, wherever they are staged. Both throw `FileUnfit`. */
  readonly leaves: {
    load(push: PushFacts, first: number, count: number): Promise<readonly Uint8Array[]>;
    tree(push: PushFacts): Promise<MerkleTree>;
    drop(push: string): void;
  };
  /** Leaves that were judged at admission and are still in memory, with their record ids; each is returned once. */
  readonly parsed: {
    take(
      push: string,
      leafIndex: number,
    ):
      | { readonly record: JsonObject; readonly recordId: string; readonly listsVersion?: number | undefined }
      | undefined;
    readonly listsVersion?: number | undefined;
    drop(push: string): void;
  };
  /** What a pending push of the business would leave for each record. */
  readonly planOf: (businessUuid: string, pushId: string) => Promise<PlannedListings>;
  /** At which pushes are processed: within a request, and where nobody waits, so that what somebody waits for goes first. */
  readonly paces: Readonly<Record<PushFacts["mode"], PaceOf>>;
  /** How long a hold waits for a decision (default 30 days). */
  readonly holdMs?: number | undefined;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  /** The lists that the content rules use. */
  readonly lists: ContentLists;
  /** Whether pushes that nobody waits for are processed here; absent where they always are. */
  readonly background?: { readonly isOn: boolean };
  /** Absent where no trace is recorded. */
  readonly tracer?: Tracer | undefined;
  /** Who is told of pushes that stall; absent where nobody watches. */
  readonly stalled?: StallWatch;
  /** The channels of notices; absent where there are none. */
  readonly notices?: NoticeChannels;
  /** The region in which pushes are processed: their business is at home here. */
  readonly region: string;
  /** The regions whose indexes are currently notified. */
  readonly regions: () => readonly string[];
}

// When a push made its steps, in rows of their own: a journal keeps only the events since its last snapshot.
//   W1. Nothing is decided by them.
//   W2. A chunk's times are those of the attempt that settled it, by the clock of the node that did the work. Its generations are
//       as old as the business's first answer, so after a crash they may be older than the rest.

/** What is known of a push before it was accepted; Unix milliseconds. */
export interface AcceptedTimes {
  readonly charged_ms?: number;
  readonly numbered_ms?: number;
  /** The leaf of its seal in the log, `sha256:<hex>`. */
  readonly leaf: string;
}

/** What is known of a chunk; without `work` if it was given up. Unix milliseconds. */
export interface ChunkTimes {
  readonly settled_ms: number;
  readonly work?: ChunkWork;
}

export const acceptedTimes = defineJsonTable<AcceptedTimes>("steps before the acceptance", 20);
/** The key is the chunk's number. */
export const chunkTimes = defineJsonTable<ChunkTimes>("steps of chunks", 21);
/** When an index confirmed a chunk after it was settled; the keys are the chunk's number and the region. */
export const lateIndexes = defineJsonTable<number>("late confirmations of indexes", 22);

type Asked<T extends keyof PushProtocol> = CommandOf<PushProtocol, T>;

/** The row of a push that is accepted now. */
export function acceptedRow({ times = {}, seal_leaf: leaf }: Asked<"push.accept">): PartitionRow {
  return acceptedTimes.write("a", { ...times, leaf });
}

/** The row of a chunk that is settled now. */
export function chunkRow({ chunk, times }: Asked<"chunk.settle">, nowMs: number): PartitionRow {
  const known: ChunkTimes = { settled_ms: nowMs, ...(times === undefined ? {} : { work: times }) };
  return chunkTimes.write("t", known, { k: chunk });
}

/** The trace in which the caller runs; nothing where none is recorded. */
export function currentTrace(tracer: Tracer | undefined): Pick<ChunkWork, "trace_id"> {
  const parsed = parseTraceparent(tracer?.current());
  return parsed === null ? {} : { trace_id: parsed.traceId };
}
