// The activities of the business actor: projecting its register, and taking out of serving what was removed or does not stand any more.

import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore, RegisterTable } from "../../storage/register-store.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { regionRef } from "../messages/refs.ts";
import type { RegionProtocol } from "../messages/region.ts";
import {
  type PurgeWatch,
  type RemovedRecord,
  removedHead,
  removedRow,
  removedRows,
} from "../messages/removal.ts";
import type { ServedState } from "../messages/serving.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { confirmDomains, type DomainPorts } from "./confirm-domains.ts";
import { purgeRecords } from "./purge-records.ts";
import { restateAll, restateServing } from "./restate-serving.ts";
import { reviewStanding } from "./review-standing.ts";

export interface BusinessPorts extends DomainPorts {
  readonly register: RegisterStore;
  readonly records: RecordStore;
  /** The regions whose indexes are currently notified. */
  readonly regions: () => readonly string[];
  /** Called after the register has changed, so that this node's cache need not wait for its next poll. */
  readonly registerChanged: () => Promise<void>;
  /** Who is told of purges that are late; absent where nobody watches. */
  readonly latePurges?: PurgeWatch;
}

type TellRows = CommandOf<RegionProtocol, "rows.apply">;

export function businessActivities(ports: BusinessPorts): Record<string, Activity> {
  return {
    projectRegister: async (params: { keys: readonly string[] }, context: ActivityContext<"business">) => {
      const { entries } = await context.ask(context.actor, { type: "register.read", keys: params.keys });
      await ports.register.put(entries.map((entry) => ({ ...entry, table: entry.table as RegisterTable })));
      await ports.registerChanged();
      return null;
    },
    removeRecord: (params: RemovedRecord, context: ActivityContext<"business">) =>
      takeOut(ports, { records: [params], told: removedRow(params) }, context),
    removeRecords: (
      { records }: { records: readonly RemovedRecord[] },
      context: ActivityContext<"business">,
    ) => takeOut(ports, { records, told: removedRows(records, context.workId) }, context),
    reviewStanding: (_params: unknown, context: ActivityContext<"business">) => reviewStanding(context),
    restateServing: (params: { records: readonly ServedState[] }, context: ActivityContext<"business">) =>
      restateServing(ports, params.records, context),
    restateAll: (_params: unknown, context: ActivityContext<"business">) => restateAll(context),
    confirmDomains: (_params: unknown, context: ActivityContext<"business">) =>
      confirmDomains(ports, context),
    purgeRecords: (_params: unknown, context: ActivityContext<"business">) => purgeRecords(ports, context),
  };
}

async function takeOut(
  ports: BusinessPorts,
  { records, told }: { readonly records: readonly RemovedRecord[]; readonly told: TellRows },
  context: ActivityContext<"business">,
): Promise<null> {
  // The heads are made from what the business knows: the push that published a record may not have stored it yet.
  await ports.records.putHeads(records.map((record) => removedHead(context.actor.id, record)));
  // A region that cannot be reached does not delay the others.
  const replies = await Promise.allSettled(
    ports.regions().map((region) => tellRegion(region, told, context)),
  );
  for (const each of replies) if (each.status === "rejected") throw each.reason;
  return null;
}

async function tellRegion(
  region: string,
  told: TellRows,
  context: ActivityContext<"business">,
): Promise<void> {
  const reply = await context.ask(regionRef(region), told);
  if (reply.status !== "applied") throw new Error(`The index of region ${region} is unavailable.`);
}
