// What the nodes of one world share, and what a checker or a fault may access.

import type { Notice } from "../../actors/messages/serving.ts";
import type { ActorLimits } from "../../actors/system/limits.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { ServiceKeys } from "../../service/register/service-keys.ts";
import type { MemoryCluster } from "../../storage/memory/cluster-store.ts";
import type { RowIndex } from "../../storage/row-index.ts";
import type { Trust } from "../../verifier/trust.ts";
import type { History } from "../checkers/history.ts";
import type { SimCrypto, SimSigner } from "../crypto/sim-crypto.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Random } from "../kernel/random.ts";
import type { Network } from "../network/network.ts";
import type { StoreModel } from "../store/store-model.ts";
import type { Faults, RegionIndexes } from "./faults.ts";
import type { Before } from "./from-journal.ts";
import type { MembershipModel } from "./model-place.ts";
import type { Money } from "./money.ts";
import type { Night, NodeThread } from "./paces.ts";
import type { NodeSlot, SimNode } from "./sim-node.ts";
import type { Variation } from "./variation.ts";
import type { SimWitnesses } from "./witnesses.ts";

export interface WorldKeys {
  readonly projection: SimSigner;
  readonly sidecar: SimSigner;
  readonly log: SimSigner;
  readonly receipts: ReadonlyMap<string, SimSigner>;
  service(region: string): ServiceKeys;
  /** The trust by which nodes judge seals. It trusts no key of the service, because no node checks what another signed. */
  readonly trust: Trust;
}

export interface WorldParts {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly network: Network;
  readonly stores: StoreModel;
  readonly indexes: ReadonlyMap<string, RowIndex>;
  readonly indexWeather: RegionIndexes;
  readonly membership: MembershipModel;
  /** Whether the only node has its store within its own process, as with the embedded default. */
  readonly isEmbedded: boolean;
  /** Whether nodes use the real membership; otherwise its model. */
  readonly hasRealMembership: boolean;
  readonly cluster: MemoryCluster;
  readonly regions: readonly string[];
  readonly before: Before;
  readonly slots: readonly NodeSlot[];
  /** All nodes that ever started, by incarnation. */
  readonly nodes: Map<string, SimNode>;
  /** Home region of each party. */
  readonly homes: Map<string, string>;
  readonly keys: WorldKeys;
  readonly crypto: SimCrypto;
  readonly recordIdKey: Uint8Array;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
  readonly limits: Partial<ActorLimits>;
  readonly operations: Random;
  /** How long a hold waits for a decision; undefined for the default, which is longer than any world. */
  readonly holdMs: number | undefined;
  /** Null in worlds that end before a day is over. */
  readonly night: Night | null;
  /** Null where nothing is charged. */
  readonly money: Money | null;
  readonly history: History;
  /** What the businesses were told of their pushes, in the order in which it was delivered. */
  readonly notices: Notice[];
  readonly variation: Variation;
  /** Null where no time passes while a node works. */
  readonly thread: NodeThread | null;
  readonly witnesses: SimWitnesses;
  mark(name: string): void;
  log(incarnation: string, entry: LogEntry): void;
}
