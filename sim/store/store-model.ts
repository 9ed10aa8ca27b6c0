// The stores of the whole world: what is on the disks of every region, for all clients. Nodes come and go; this stays.

import type { ActorCommit, ActorRef } from "../../storage/actor-store.ts";
import type { StoredCheckpoint } from "../../storage/log-store.ts";
import type { RecordVersion, VersionId } from "../../storage/record-store.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Life } from "../kernel/life.ts";
import type { Random } from "../kernel/random.ts";
import { ActorPartition, type Coin, type PartitionHead } from "./actor-partition.ts";
import {
  type Cell,
  createPlainTables,
  type PlainTable,
  type PlainTables,
  type Replicate,
} from "./plain-tables.ts";
import { calmStatements, type Statements } from "./statements.ts";

/** Notified of what happens inside the store, for checkers and coverage. None of it reaches the code under test. */
export interface StoreWitness {
  /** A plain read missed what a later one may see. */
  staleRead?(): void;
  /** A commit was applied to the state found. */
  committed?(
    partition: ActorPartition,
    commit: ActorCommit,
    found: Pick<PartitionHead, "epoch" | "head" | "op">,
  ): void;
  /** A node sends a commit with those of other actors. */
  sentTogether?(commit: ActorCommit, others: readonly ActorCommit[]): void;
  claimed?(partition: ActorPartition, epoch: number, owner: string): void;
  /** A commit was refused because of the state found. */
  refused?(partition: ActorPartition, commit: ActorCommit, found: Pick<PartitionHead, "op">): void;
  /** A claim returns what it read. */
  activated?(partition: ActorPartition, head: Pick<PartitionHead, "head" | "op" | "epoch">): void;
  /** Some of what is staged for a push was removed. */
  droppedStaged?(pushId: string): void;
  removedFile?(name: string): void;
  publishedCheckpoint?(checkpoint: StoredCheckpoint): void;
  /** A version is about to be written to disk. */
  wroteVersion?(version: RecordVersion): void;
  purgedVersion?(version: VersionId): void;
}

export interface StoreModelOptions {
  readonly regions: readonly string[];
  readonly statements: Statements;
  readonly random: Random;
  /** The stores' clock in Unix milliseconds. */
  readonly now: () => number;
  readonly replicate: Replicate;
  readonly witness?: StoreWitness;
  /** Whether it is in the process of its only node, as SQLite is; by default it is not. */
  readonly isEmbedded?: boolean;
}

export class StoreModel {
  readonly regions: readonly string[];
  readonly statements: Statements;
  readonly tables: PlainTables;
  readonly partitions = new Map<string, ActorPartition>();
  /** One cell per key, agreed on like the head of a partition: epoch 1 and the owner, once it is claimed. */
  readonly #keyOwners = new Map<string, ActorPartition>();
  readonly now: () => number;
  readonly witness: StoreWitness;
  readonly coin: Coin;
  readonly isEmbedded: boolean;

  constructor(options: StoreModelOptions) {
    this.regions = options.regions;
    this.isEmbedded = options.isEmbedded ?? false;
    this.statements = options.statements;
    this.now = options.now;
    this.witness = options.witness ?? {};
    this.coin = () => options.random.chance(0.5);
    this.tables = createPlainTables({
      regions: options.regions,
      coin: this.coin,
      replicate: options.replicate,
      missed: () => this.witness.staleRead?.(),
    });
  }

  partition(ref: ActorRef): ActorPartition {
    const key = `${ref.kind}/${ref.id}`;
    const known = this.partitions.get(key);
    if (known !== undefined) return known;
    const partition = new ActorPartition(ref.kind, ref.id);
    this.partitions.set(key, partition);
    return partition;
  }

  keyOwner(keyId: string): ActorPartition {
    const known = this.#keyOwners.get(keyId) ?? new ActorPartition("key_owner", keyId);
    this.#keyOwners.set(keyId, known);
    return known;
  }
}

/** One node's access to the stores: its life and its region. */
export interface StoreClient {
  readonly model: StoreModel;
  readonly life: Life | null;
  readonly region: string;
}

/** A plain read, in the client's region. */
export function readPlainly<T>(
  { model, life, region }: StoreClient,
  execute: (region: string) => T,
): Promise<T> {
  return model.statements.run(life, "read", () => execute(region));
}

/** A plain write to one table, in the client's region. */
export function writePlainly<V>(
  { model, life, region }: StoreClient,
  table: PlainTable<V>,
  cells: readonly Cell<V>[],
): Promise<void> {
  return model.statements.run(life, "write", (reach) => table.write(region, cells, reach));
}

/** Stores of one region without faults and without delays, for tests of the model. */
export function calmStoreModel(random: Random, now: () => number): StoreModel {
  return new StoreModel({
    regions: ["eu-west1"],
    statements: calmStatements,
    random,
    now,
    replicate: () => {},
  });
}

/** Replication with a delay; it waits as long as the link between two regions is cut. */
export function laggingReplication(
  kernel: Kernel,
  link: { lagMs(from: string, to: string): number; isCut(from: string, to: string): boolean },
): Replicate {
  const retryMs = 500;
  return (from, to, change) => {
    const attempt = (): void => {
      if (link.isCut(from, to)) kernel.after(retryMs, "replication waits", attempt);
      else change();
    };
    kernel.after(link.lagMs(from, to), "replication", attempt);
  };
}
