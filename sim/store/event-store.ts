// The events of AI companies on the model's plain tables: as in Cassandra, a position begins with the time of writing, and
// events are read only once nothing with a lower position can still come.

import type { EventStore, StoredEvent } from "../../storage/event-store.ts";
import {
  type DemandPlace,
  type InsightCount,
  type InsightKind,
  type InsightStore,
  totalOf,
} from "../../storage/insight-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import { readPlainly, type StoreClient, writePlainly } from "./store-model.ts";

const settleMs = 12_000;
const writeMaxMs = 8_000;

interface Kept extends StoredEvent {
  readonly region: string;
  readonly company: string;
}

export function openSimEventStore(client: StoreClient, now: () => number): EventStore {
  const table: PlainTable<Kept> = client.model.tables.of("company_event");
  return {
    put: async (region, events) => {
      for (;;) {
        const at = now();
        const cells = events.map(({ company, retrieval_id: id, body }) => ({
          key: `${region}/${company}/${at}/${id}`,
          value: { region, company, body, position: { at, id } },
          stamp: 1,
        }));
        await writePlainly(client, table, cells);
        if (now() - at <= writeMaxMs) return;
      }
    },
    read: ({ region, company, after, limit }) =>
      readPlainly(client, (here) =>
        table
          .values(here)
          .filter((each) => each.region === region && each.company === company)
          .filter(({ position }) => position.at <= now() - settleMs)
          .filter(({ position }) => after === null || isAfter(position, after))
          .toSorted((a, b) => (isAfter(a.position, b.position) ? 1 : -1))
          .slice(0, limit),
      ),
    forget: async () => 0,
  };
}

function isAfter(a: StoredEvent["position"], b: StoredEvent["position"]): boolean {
  return a.at > b.at || (a.at === b.at && a.id > b.id);
}

// What was shown and asked for, on the model's plain tables: a count is stamped with what it amounts to, as in Cassandra.

export function openSimInsightStore(client: StoreClient): InsightStore {
  const { tables } = client.model;
  const counts: Record<InsightKind, PlainTable<InsightCount>> = {
    shown: tables.of("insight_shown"),
    demand: tables.of("insight_demand"),
  };
  const read = (kind: InsightKind, wanted: (count: InsightCount) => boolean) =>
    readPlainly(client, (region) => counts[kind].values(region).filter(wanted));
  return {
    put: (kind, more) => {
      const cells = more.map((value) => ({ key: keyOf(value), value, stamp: totalOf(value) }));
      return writePlainly(client, counts[kind], cells);
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
