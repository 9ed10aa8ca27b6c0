// What the actors of a node hold, by kind and by region, for /metrics. There are as many series as kinds and regions.

import type { ActorLoads, KindStats } from "../../actors/system/definition.ts";
import type { Reading } from "../../ops/metrics.ts";

/** `regions` are those whose indexes are updated; each has its series even while nothing waits for it. */
export function actorReadings(loads: ActorLoads, regions: readonly string[]): readonly Reading[] {
  const waits = new Map(loads.regions.map((wait) => [wait.region, wait]));
  return [
    ...ofKinds.flatMap(({ name, help, value }) =>
      Object.entries(loads.kinds).map(
        ([kind, stats]): Reading => ({ name, help, kind: "gauge", value: value(stats), labels: { kind } }),
      ),
    ),
    ...[...new Set([...regions, ...waits.keys()])].flatMap((region): readonly Reading[] => [
      {
        name: "svc_index_unconfirmed_chunks",
        help: "Chunks of pushes of this node that a region's index has not confirmed.",
        ...{ kind: "gauge", value: waits.get(region)?.waiting ?? 0, labels: { region } },
      },
      {
        name: "svc_index_lag_seconds",
        help: "How long the oldest of these chunks has waited for the region's index; 0 if none does.",
        ...{ kind: "gauge", value: (waits.get(region)?.oldestMs ?? 0) / 1_000, labels: { region } },
      },
    ]),
  ];
}

const ofKinds: readonly {
  readonly name: string;
  readonly help: string;
  readonly value: (stats: KindStats) => number;
}[] = [
  { name: "svc_actors_active", help: "Actors in memory.", value: ({ active }) => active },
  {
    name: "svc_actors_waiting",
    help: "Commands and messages waiting in mailboxes.",
    value: ({ mailboxed }) => mailboxed,
  },
  {
    name: "svc_actors_mailbox_longest",
    help: "Commands and messages in the fullest mailbox; 10000 are its bound.",
    value: ({ mailboxLongest }) => mailboxLongest,
  },
  {
    name: "svc_actors_quarantined",
    help: "Actors taken out of service after repeated crashes.",
    value: ({ quarantined }) => quarantined,
  },
  {
    name: "svc_actors_outbox",
    help: "Effects that have not been acknowledged yet.",
    value: ({ outboxPending }) => outboxPending,
  },
  {
    name: "svc_actors_outbox_oldest_seconds",
    help: "Age of the oldest of these effects; 0 if there is none.",
    value: ({ outboxOldestMs }) => outboxOldestMs / 1_000,
  },
];
