// What the business actor has done outside: its register projected, its removed records taken out of serving.

import type { RecordStore } from "../../storage/record-store.ts";
import type { RegisterStore, RegisterTable } from "../../storage/register-store.ts";
import type { BusinessCommand, RegisterReadReply } from "../messages/business.ts";
import type { RegionCommand, RowsReply } from "../messages/region.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

export interface BusinessPorts {
  readonly register: RegisterStore;
  readonly records: RecordStore;
  /** Regions whose indexes are told. */
  readonly regions: readonly string[];
  /** Told after the register changed, so that this node's cache need not wait for its next look. */
  readonly registerChanged: () => Promise<void>;
}

export function businessActivities(ports: BusinessPorts): Record<string, Activity> {
  return {
    projectRegister: async (params: { keys: readonly string[] }, context: ActivityContext) => {
      const command: BusinessCommand = { type: "register.read", keys: params.keys };
      const { entries } = await context.ask<RegisterReadReply>(context.actor, command);
      await ports.register.put(entries.map((entry) => ({ ...entry, table: entry.table as RegisterTable })));
      await ports.registerChanged();
      return null;
    },
    removeRecord: async (
      params: { record_id: string; collection: string; change: number },
      context: ActivityContext,
    ) => {
      const head = await ports.records.readHead(params.record_id);
      if (head) await ports.records.putHeads([{ ...head, live: false, change: params.change }]);
      for (const region of ports.regions) await removeRow(params, region, context);
      return null;
    },
  };
}

async function removeRow(
  params: { record_id: string; collection: string; change: number },
  region: string,
  context: ActivityContext,
): Promise<void> {
  const command: RegionCommand = {
    type: "rows.apply",
    work_id: `${context.workId}/${region}`,
    changes: [{ kind: "remove", ...params }],
  };
  const reply = await context.ask<RowsReply>({ kind: "region", id: region }, command);
  if (reply.status !== "applied") throw new Error(`The index of region ${region} is unavailable.`);
}
