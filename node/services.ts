// Composition of a node on the embedded default, without its HTTP surfaces: stores, keys, actors and services.

import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { businessActivities } from "../actors/business/activities.ts";
import { businessActor } from "../actors/business/definition.ts";
import { integrationKeyActor } from "../actors/integration-key/definition.ts";
import { pushActivities } from "../actors/push/activities.ts";
import { pushActor } from "../actors/push/definition.ts";
import { regionActivities } from "../actors/region/activities.ts";
import { regionActor } from "../actors/region/definition.ts";
import type { ActorDefinition } from "../actors/system/definition.ts";
import type { LocalActorSystem, LogEntry, TimerPort } from "../actors/system/ports.ts";
import { createActorSystem } from "../actors/system/runtime.ts";
import { createSigner } from "../crypto/file-signer.ts";
import { FileKeyStore } from "../crypto/key-store.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Clock, Signer } from "../crypto/port.ts";
import type { Anchors } from "../protocol/anchors.ts";
import { utf8 } from "../protocol/bytes.ts";
import { type RecordKind, recordIdOf } from "../protocol/identifiers.ts";
import { dropAbandoned } from "../service/abandoned-pushes.ts";
import { createParties, type Parties } from "../service/parties.ts";
import { createPushTrees, type PushTrees } from "../service/push-trees.ts";
import { createRegister, type Register } from "../service/register.ts";
import type { ServiceKeys } from "../service/service-keys.ts";
import type { ActorStore } from "../storage/actor-store.ts";
import type { ReceiptStore } from "../storage/receipt-store.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { RegisterStore } from "../storage/register-store.ts";
import type { RowIndex } from "../storage/row-index.ts";
import { openSqliteActorStore } from "../storage/sqlite/actor-store.ts";
import { SqliteDatabase, type SqliteOptions } from "../storage/sqlite/database.ts";
import { openSqliteReceiptStore } from "../storage/sqlite/receipt-store.ts";
import { openSqliteRecordStore } from "../storage/sqlite/record-store.ts";
import { openSqliteRegisterStore } from "../storage/sqlite/register-store.ts";
import { openRepairedIndex } from "../storage/sqlite/row-index-repair.ts";
import type { NodeConfig } from "./config.ts";
import { loadNodeKeys } from "./node-keys.ts";

export interface NodeServices extends AsyncDisposable {
  readonly config: NodeConfig;
  readonly clock: Clock;
  /** Names this run of the node; no other run has it. */
  readonly incarnation: string;
  readonly keys: ServiceKeys;
  readonly anchors: Anchors;
  readonly actors: LocalActorSystem;
  readonly actorStore: ActorStore;
  readonly records: RecordStore;
  readonly receipts: ReceiptStore;
  readonly registerStore: RegisterStore;
  readonly register: Register;
  readonly index: RowIndex;
  readonly trees: PushTrees;
  readonly parties: Parties;
  readonly keyStore: FileKeyStore;
  readonly hostedSigner: (businessUuid: string) => Promise<Signer>;
  readonly recordIdOf: (businessUuid: string, kind: RecordKind, localId: string) => string;
}

/** Passkeys of the sandbox are made in software for this origin; a deployment names its portal here. */
const passkeys: Anchors["passkeys"] = {
  rp_ids: ["portal.svc.example"],
  origins: ["https://portal.svc.example"],
};

const drainMs = 10_000;
/** How often the register's changes are followed. */
const refreshMs = 1_000;

/** What a test may give in place of the platform's. */
export interface NodePlatform {
  readonly clock?: Clock;
  /** See {@link SqliteOptions.onCommit}; told of both store files. */
  readonly onCommit?: SqliteOptions["onCommit"];
}

export async function openNodeServices(
  config: NodeConfig,
  log: (entry: LogEntry) => void = () => {},
  platform: NodePlatform = {},
): Promise<NodeServices> {
  await mkdir(config.home, { recursive: true, mode: 0o700 });
  const clock = platform.clock ?? { now: Date.now };
  const keyStore = await FileKeyStore.open(join(config.home, "keys"));
  const { keys, anchors, recordIdKey } = await loadNodeKeys(config, keyStore, passkeys, clock.now());
  const { close, ...stores } = await openStores(config, { clock, log, onCommit: platform.onCommit });
  const register = createRegister({ store: stores.registerStore, clock });
  const common = {
    ...stores,
    config,
    clock,
    incarnation: randomUUID().replaceAll("-", "").slice(0, 12),
    keys,
    anchors,
    register,
    trees: createPushTrees(stores.records, nativeCrypto.sha256),
    keyStore,
    recordIdOf: recordIds(recordIdKey),
    hostedSigner: async (uuid: string) =>
      createSigner(await keyStore.loadOrCreate(`hosted-${uuid}`, "Ed25519")),
  };
  const actors = createActors(common, log);
  await dropAbandoned({ actors, records: stores.records });
  const stopRefreshing = follow(register, log);
  return {
    ...common,
    actors,
    parties: createParties({ actors, clock, crypto: nativeCrypto, keys, recordIdKey, passkeys }),
    [Symbol.asyncDispose]: async () => {
      stopRefreshing();
      await actors.drain(drainMs);
      await close();
    },
  };
}

async function openStores(
  config: NodeConfig,
  { clock, log, onCommit }: NodePlatform & { readonly clock: Clock; readonly log: (entry: LogEntry) => void },
) {
  const database = SqliteDatabase.open(join(config.home, "store.db"), { onCommit });
  const records = openSqliteRecordStore(database);
  const rows = await openRepairedIndex(join(config.home, "rows.db"), database, { onCommit });
  if (rows.repaired > 0) {
    const detail = `${rows.repaired} rows were missing${rows.isNew ? ": the file was of another store" : ""}`;
    log({ level: "warn", event: "index.repaired", actor: "", detail });
  }
  return {
    index: rows.index,
    actorStore: openSqliteActorStore(database, { now: clock.now }),
    records,
    receipts: openSqliteReceiptStore(database),
    registerStore: openSqliteRegisterStore(database),
    close: async () => {
      await rows[Symbol.asyncDispose]();
      database.close();
    },
  };
}

function recordIds(recordIdKey: Uint8Array): NodeServices["recordIdOf"] {
  return (businessUuid, kind, localId) =>
    recordIdOf(kind, nativeCrypto.hmacSha256(recordIdKey, utf8(`${businessUuid}\n${kind}\n${localId}`)));
}

function createActors(
  services: Omit<NodeServices, "actors" | "parties" | typeof Symbol.asyncDispose>,
  log: (entry: LogEntry) => void,
): LocalActorSystem {
  const { config, keys, records, register, registerStore, receipts, index, clock } = services;
  const regions = (): readonly string[] => [config.region];
  return createActorSystem({
    store: services.actorStore,
    definitions: [
      businessActor,
      integrationKeyActor,
      pushActor,
      regionActor,
    ] as unknown as readonly ActorDefinition[],
    activities: {
      ...businessActivities({
        register: registerStore,
        records,
        regions,
        registerChanged: () => register.refresh(),
      }),
      ...pushActivities({
        records,
        crypto: nativeCrypto,
        projection: keys.projection,
        sidecar: keys.sidecar,
        trees: services.trees,
        recordIdOf: services.recordIdOf,
        lists: { protectedNames: [], blockedHosts: [] },
        region: config.region,
        regions,
      }),
      ...regionActivities({ index, receipts, records, sha256: nativeCrypto.sha256 }),
    },
    clock,
    timers: nodeTimers,
    entropy: { newOperationId: randomUUID },
    owner: `${config.region}/${services.incarnation}`,
    log,
  });
}

export const nodeTimers: TimerPort = {
  schedule: (delayMs, run) => {
    // A timer alone does not keep the process alive.
    const timer = setTimeout(run, Math.min(delayMs, 2_147_483_647)).unref();
    return () => clearTimeout(timer);
  },
};

function follow(register: Register, log: (entry: LogEntry) => void): () => void {
  const timer = setInterval(() => {
    register.refresh().catch((error: unknown) => {
      log({ level: "warn", event: "register.refresh_failed", actor: "", detail: String(error) });
    });
  }, refreshMs);
  return () => clearInterval(timer);
}
