// The stores of a node that keeps everything in its own files; those of a cluster are in engine-stores.ts, which such a node does not load.

import { join } from "node:path";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { Clock } from "../../crypto/port.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { EvidenceStore } from "../../storage/evidence-store.ts";
import type { FenceLedger } from "../../storage/fence-ledger.ts";
import { openFolderStagingArea } from "../../storage/folder/staging-area.ts";
import type { ImageStore } from "../../storage/image-store.ts";
import type { InsightStore } from "../../storage/insight-store.ts";
import type { ListStore } from "../../storage/list-store.ts";
import type { LogStore } from "../../storage/log-store.ts";
import type { ReceiptStore } from "../../storage/receipt-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import type { RowIndex } from "../../storage/row-index.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase, type SqliteOptions } from "../../storage/sqlite/database.ts";
import { openSqliteEventStore } from "../../storage/sqlite/event-store.ts";
import { openSqliteEvidenceStore } from "../../storage/sqlite/evidence-store.ts";
import { openSqliteFenceLedger } from "../../storage/sqlite/fence-ledger.ts";
import { openSqliteImageStore } from "../../storage/sqlite/image-store.ts";
import { openSqliteInsightStore } from "../../storage/sqlite/insight-store.ts";
import { openSqliteListStore } from "../../storage/sqlite/list-store.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";
import { openSqliteReceiptStore } from "../../storage/sqlite/receipt-store.ts";
import { openSqliteRecordStore } from "../../storage/sqlite/record-store.ts";
import { openSqliteRegisterStore } from "../../storage/sqlite/register-store.ts";
import { openRepairedIndex } from "../../storage/sqlite/row-index-repair.ts";
import { rowReadThreads } from "../../storage/sqlite/row-read-threads.ts";
import type { StagingArea } from "../../storage/staging-area.ts";
import type { NodeConfig } from "../configuration/config.ts";

export interface NodeStores {
  readonly index: RowIndex;
  /** How many searches the index is given at once; more would wait there, and nobody could decide whose is next. */
  readonly searchPlaces: number;
  /** Collections whose index is missing and being built: they cannot be searched. An embedded index is whole once it is open. */
  readonly missingIndexes: () => readonly CollectionName[];
  /** Why the index takes no writes although it answers; null if it takes them. */
  readonly indexBlock: () => Promise<string | null>;
  readonly actorStore: ActorStore;
  readonly records: RecordStore;
  readonly receipts: ReceiptStore;
  readonly registerStore: RegisterStore;
  readonly insightStore: InsightStore;
  readonly eventStore: EventStore;
  readonly fenceLedger: FenceLedger;
  /** Where uploaded files wait for their import; null if this deployment takes none. */
  readonly staging: StagingArea | null;
  readonly logStore: LogStore;
  readonly imageStore: ImageStore;
  readonly evidenceStore: EvidenceStore;
  readonly listStore: ListStore;
  close(): Promise<void>;
}

export interface StoresOptions {
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
}

/** A thread that has answered goes on with the next search before the main thread has read the answer. */
const searchesOfThread = 2;
const embeddedSearchPlaces = searchesOfThread * rowReadThreads();

/** Opens two files in the node's home. */
export async function openEmbeddedStores(
  config: NodeConfig,
  { clock, log, onCommit }: StoresOptions & Pick<SqliteOptions, "onCommit">,
): Promise<NodeStores> {
  const database = SqliteDatabase.open(join(config.home, "store.db"), { onCommit });
  const records = openSqliteRecordStore(database, clock.now);
  const rows = await openRepairedIndex(join(config.home, "rows.db"), database, { onCommit });
  if (rows.repaired > 0 || rows.remade !== null) {
    const why = {
      other_store: ": the file belonged to another store",
      damaged: ": rows.db was damaged and was made again from store.db",
    };
    const detail = `${rows.repaired} rows were missing${rows.remade === null ? "" : why[rows.remade]}`;
    log({ level: "warn", event: "index.repaired", actor: "", detail });
  }
  const logStore = openSqliteLogStore({ database, folder: join(config.home, "log") });
  return {
    index: rows.index,
    searchPlaces: embeddedSearchPlaces,
    missingIndexes: () => [],
    // A disk without room is a check of its own.
    indexBlock: async () => null,
    actorStore: openSqliteActorStore(database, { now: clock.now }),
    records,
    receipts: openSqliteReceiptStore(database),
    registerStore: openSqliteRegisterStore(database),
    insightStore: openSqliteInsightStore(database),
    eventStore: openSqliteEventStore(database, clock.now),
    fenceLedger: openSqliteFenceLedger(database),
    staging:
      config.bulkFolder === null
        ? null
        : await openFolderStagingArea({
            folder: config.bulkFolder,
            bytesMax: config.bulkFolderMebibytes * 2 ** 20,
            now: clock.now,
          }),
    logStore,
    imageStore: openSqliteImageStore(database, { bytesMax: config.adImageBytesMax, now: clock.now }),
    evidenceStore: openSqliteEvidenceStore(database, { bounds: config.evidenceBounds, now: clock.now }),
    listStore: openSqliteListStore(database, clock.now),
    close: async () => {
      await logStore[Symbol.asyncDispose]();
      await rows[Symbol.asyncDispose]();
      database.close();
    },
  };
}
