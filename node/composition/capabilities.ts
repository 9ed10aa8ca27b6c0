// What the parts of a node work with, in eight groups. A node has all of them; a part names those that it takes.

import type { PushPorts } from "../../actors/push/ports.ts";
import type { LocalActorSystem } from "../../actors/system/ports.ts";
import type { FileKeyStore } from "../../crypto/key-store.ts";
import type { Platform, Signer } from "../../crypto/port.ts";
import type { ListActs } from "../../ops/lists.ts";
import type { RecordKind } from "../../protocol/identifiers.ts";
import type { Allowance } from "../../service/money/allowance.ts";
import type { UploadTokens } from "../../service/publishing/bulk-upload.ts";
import type { ParsedLeaves, PushLeaves } from "../../service/publishing/push-leaves.ts";
import type { Registered } from "../../service/register/parties.ts";
import type { Insight } from "../../service/retrieval/insight.ts";
import type { OwnerTurns, Pace, RightOfWay } from "../../std/work.ts";
import type { NodeBackground, NodeConfig } from "../configuration/config.ts";
import type { JudgingFiles } from "../configuration/operator-files.ts";
import type { CountedProbe } from "../domains/domain-probe.ts";
import type { FenceWitness, NewestMoment } from "../keeping/fence-refusals.ts";
import type { LatePurgeList, StalledPushes } from "../keeping/late-purges.ts";
import type { Notices } from "../notices/notices.ts";
import type { WebhookCalls } from "../notices/webhook-calls.ts";
import type { WebhookKeys } from "../notices/webhook-keys.ts";
import type { Timings } from "../telemetry/timings.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { LogWitnesses } from "../witness/log-witnesses.ts";
import type { NodeCluster } from "./cluster.ts";
import type { NodeKeys } from "./node-keys.ts";
import type { NodeStores } from "./stores.ts";

export interface NodeServices
  extends Process,
    Stores,
    Keys,
    Acting,
    Registering,
    JudgingFiles,
    Publishing,
    Serving,
    AsyncDisposable {}

/** This run of the process: its settings, its time, and how it is watched. */
export interface Process extends Platform {
  readonly config: NodeConfig;
  /** Whole milliseconds since an arbitrary instant; monotonic, whatever the clock does. */
  readonly elapsedMs: () => number;
  /** Identifies this run of the process; no other run has the same value. */
  readonly incarnation: string;
  /** Yields to the event loop once. */
  readonly pause: () => Promise<void>;
  /** Has the process hand its actors over and end, as a signal to end does. */
  readonly drain: () => void;
  /** The traces that this node records; null if it records none. */
  readonly tracing: Tracing | null;
  /** How long commits and receipts take. */
  readonly timings: Timings;
  /** By which a node without a cluster sees that its clock was set back; null in a cluster, which compares with the store. */
  readonly newestMoment: NewestMoment | null;
}

export type Stores = Omit<NodeStores, "close" | "fenceLedger">;

/** Keys, and what proofs rest on. */
export interface Keys extends Omit<NodeKeys, "recordIdKey">, DerivedKeys {
  readonly keyStore: FileKeyStore;
  /** In a sandbox the key that is held for a business; in production it throws. */
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
  readonly logWitnesses: LogWitnesses;
  readonly webhookKeys: WebhookKeys;
}

/** What follows from the secret of the record ids: the same on all nodes, and for ever. */
export interface DerivedKeys {
  readonly recordIdOf: (businessUuid: string, kind: RecordKind, localId: string) => string;
  /** Secret bytes for the codes of cursors. */
  readonly cursorKey: Uint8Array;
  /** Secret bytes for the tokens of ads, and for the marks of conversations that are shown some. */
  readonly adTokenKey: Uint8Array;
  readonly adSessionKey: Uint8Array;
  /** Secret bytes for the links to images. */
  readonly imageLinkKey: Uint8Array;
  /** Secret bytes for the keys that sign webhooks. */
  readonly webhookSecret: Uint8Array;
  /** Secret bytes for what passkeys confirm at the portal, and for its forms. */
  readonly portalKey: Uint8Array;
}

/** The actors, and where they live. */
export interface Acting {
  readonly actors: LocalActorSystem;
  /** The cluster side of the node; null if it is standalone. */
  readonly cluster: NodeCluster | null;
  /** The regions that have not been declared dead; the only one of a standalone node. */
  readonly regions: () => readonly string[];
  /** The incarnation under which this node may write now; null while it has no lease. */
  readonly lease: () => string | null;
  /** The commits that the fence refused, for this node and for all. */
  readonly fence: FenceWitness;
}

export interface Registering extends Registered {
  /** What operators do with their lists. */
  readonly listActs: ListActs;
  /** Looks at the domains of endpoints; null if this node does not. */
  readonly domainProbe: CountedProbe | null;
  /** Calls the endpoints of businesses; null where no domains are looked at. */
  readonly webhooks: WebhookCalls | null;
}

/** What pushes need besides the stores. */
export interface Publishing {
  readonly leaves: PushLeaves;
  readonly parsed: ParsedLeaves;
  readonly uploadTokens: UploadTokens;
  readonly background: NodeBackground;
  readonly stalled: StalledPushes;
  readonly latePurges: LatePurgeList;
  readonly notices: Notices;
  /** At which the node works for everybody, as for the key directory. */
  readonly pace: Pace;
  /** At which it works for a business: where a request waits for it, and where nobody does. */
  readonly paces: PushPorts["paces"];
  /** The company whose search is next. */
  readonly searchTurns: OwnerTurns;
  /** Searches and fetches go before the processing of pushes. */
  readonly rightOfWay: RightOfWay;
  /** How long a hold waits for a decision. */
  readonly holdMs: number;
  /** How long after a deletion its bytes are purged. */
  readonly purgeAfterMs: number;
}

/** What answers cost, and what businesses learn from them. */
export interface Serving {
  readonly insight: Insight;
  /** The prepaid money that this node spends; null where nothing is charged. */
  readonly allowance: Allowance | null;
}
