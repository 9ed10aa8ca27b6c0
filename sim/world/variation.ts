// The code under test unchanged, or with one guard removed. A world is built from a variation; the true one is what
// production runs.

import { bulkUploadActor } from "../../actors/bulk-upload/definition.ts";
import { businessActor } from "../../actors/business/definition.ts";
import { integrationKeyActor } from "../../actors/integration-key/definition.ts";
import { keyLimitsActor } from "../../actors/key-limits/definition.ts";
import { ledgerActor } from "../../actors/ledger/definition.ts";
import { type LogIntervals, logSequencerActor } from "../../actors/log-sequencer/definition.ts";
import { pushActor } from "../../actors/push/definition.ts";
import { regionActor } from "../../actors/region/definition.ts";
import type { Activity, ActorDefinition } from "../../actors/system/definition.ts";
import type { ContentLists } from "../../protocol/records/name-index.ts";
import type { AllowanceDeps } from "../../service/money/allowance.ts";
import type { SweepDeps } from "../../service/publishing/abandoned-pushes.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { InsightStore } from "../../storage/insight-store.ts";
import type { LogStore } from "../../storage/log-store.ts";
import type { ReceiptStore } from "../../storage/receipt-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import type { RowChange, RowIndex } from "../../storage/row-index.ts";
import { type ActorStoreGuards, allGuards } from "../store/actor-store.ts";

export interface Variation {
  readonly name: string;
  readonly definitions: readonly ActorDefinition[];
  readonly storeGuards: ActorStoreGuards;
  /** Called where one of the guards missing from `storeGuards` would have made a difference. */
  guardMissed(): void;
  activities(given: Record<string, Activity>): Record<string, Activity>;
  actorStore(given: ActorStore): ActorStore;
  records(given: RecordStore): RecordStore;
  receipts(given: ReceiptStore): ReceiptStore;
  events(given: EventStore): EventStore;
  insight(given: InsightStore): InsightStore;
  register(given: RegisterStore): RegisterStore;
  index(given: RowIndex): RowIndex;
  log(given: LogStore): LogStore;
  sweep(given: SweepDeps): SweepDeps;
  allowance(given: AllowanceDeps): AllowanceDeps;
  /** The lists that a node judges by. */
  lists(given: ContentLists): ContentLists;
  /** What an index keeps of a change. */
  indexed(change: RowChange): RowChange;
  /** The name under which a node writes receipts. */
  lease(given: () => string | null, process: string): () => string | null;
}

/** How long leaves may wait until they are sequenced. */
export const logIntervals: LogIntervals = { leafMs: 5_000, receiptsMs: 500 };

const same = <T>(given: T): T => given;

export const asItIs: Variation = {
  name: "as it is",
  definitions: [
    bulkUploadActor,
    businessActor,
    integrationKeyActor,
    keyLimitsActor,
    pushActor,
    regionActor,
    ledgerActor,
    logSequencerActor({ origin: "svc.test/log", intervals: logIntervals }),
  ],
  storeGuards: allGuards,
  guardMissed: () => {},
  activities: same,
  actorStore: same,
  records: same,
  receipts: same,
  events: same,
  insight: same,
  register: same,
  index: same,
  log: same,
  sweep: same,
  allowance: same,
  lists: same,
  indexed: same,
  lease: same,
};
