// What was shown and asked for, on the model's plain tables: a count is stamped with what it amounts to, as in Cassandra.

import {
  type DemandPlace,
  type InsightCount,
  type InsightKind,
  type InsightStore,
  totalOf,
} from "../../storage/insight-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { StoreClient } from "./store-model.ts";

export function openSimInsightStore(client: StoreClient): InsightStore {
  const { model, life, region } = client;
  const tables: Record<InsightKind, PlainTable<InsightCount>> = {
    shown: model.tables.of("insight_shown"),
    demand: model.tables.of("insight_demand"),
  };
  const read = (kind: InsightKind, wanted: (count: InsightCount) => boolean) =>
    model.statements.run(life, "read", () => tables[kind].values(region).filter(wanted));
  return {
    put: async (kind, counts) => {
      const cells = counts.map((value) => ({ key: keyOf(value), value, stamp: totalOf(value) }));
      await model.statements.run(life, "write", (reach) => tables[kind].write(region, cells, reach));
    },
    readShown: (business, fromDay, toDay) =>
      read("shown", ({ name, day }) => name === business && day >= fromDay && day <= toDay),
    readDemand: (place: DemandPlace) =>
      read(
        "demand",
        ({ day, country, collection }) =>
          day === place.day && country === place.country && collection === place.collection,
      ),
    forget: async () => 0,
  };
}

function keyOf({ name, day, country, collection, company, writer }: InsightCount): string {
  return JSON.stringify([name, day, country, collection, company, writer]);
}
