// The activities of the business actor: projecting its register, and taking removed records out of serving.

import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore, RegisterTable } from "../../storage/register-store.ts";
import { regionRef } from "../messages/refs.ts";
import { type PurgeWatch, type RemovedRecord, removedHead, removedRow } from "../messages/removal.ts";
import type { ServedState } from "../messages/serving.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { confirmDomains, type DomainPorts } from "./confirm-domains.ts";
import { purgeRecords } from "./purge-records.ts";
import { restateAll, restateServing } from "./restate-serving.ts";

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

export function businessActivities(ports: BusinessPorts): Record<string, Activity> {
  return {
    projectRegister: async (params: { keys: readonly string[] }, context: ActivityContext<"business">) => {
      const { entries } = await context.ask(context.actor, { type: "register.read", keys: params.keys });
      await ports.register.put(entries.map((entry) => ({ ...entry, table: entry.table as RegisterTable })));
      await ports.registerChanged();
      return null;
    },
    removeRecord: async (params: RemovedRecord, context: ActivityContext<"business">) => {
      // The head is made from what the business knows: the push that published the record may not have stored it yet.
      await ports.records.putHeads([removedHead(context.actor.id, params)]);
      // A region that cannot be reached does not delay the others.
      const told = await Promise.allSettled(
        ports.regions().map((region) => removeRow(params, region, context)),
      );
      for (const each of told) if (each.status === "rejected") throw each.reason;
      return null;
    },
    restateServing: (params: { records: readonly ServedState[] }, context: ActivityContext<"business">) =>
      restateServing(ports, params.records, context),
    restateAll: (_params: unknown, context: ActivityContext<"business">) => restateAll(context),
    confirmDomains: (_params: unknown, context: ActivityContext<"business">) =>
      confirmDomains(ports, context),
    purgeRecords: (_params: unknown, context: ActivityContext<"business">) => purgeRecords(ports, context),
  };
}

async function removeRow(
  params: RemovedRecord,
  region: string,
  context: ActivityContext<"business">,
): Promise<void> {
  const reply = await context.ask(regionRef(region), removedRow(params));
  if (reply.status !== "applied") throw new Error(`The index of region ${region} is unavailable.`);
}
