// The ports that a push actor's activities need.

import type { CryptoPort, SignerAt } from "../../crypto/port.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { MerkleTree } from "../../protocol/merkle.ts";
import type { ContentLists } from "../../protocol/records/name-index.ts";
import type { Tracer } from "../../std/tracing.ts";
import type { PaceOf } from "../../std/work.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { PlannedListings } from "../messages/business.ts";
import type { AcceptedLeaf, PushFacts } from "../messages/push.ts";
import type { NoticeChannels } from "../messages/serving.ts";

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
  /** Leaves that were judged before, at admission or with their file, and are still known, with their record ids; each is returned once. */
  readonly parsed: {
    take(push: string, leafIndex: number): AcceptedLeaf | undefined;
    /** Knows that a leaf was accepted, where nobody has put the leaves of its push. */
    note(push: string, leafIndex: number, leaf: Omit<AcceptedLeaf, "record">): void;
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
