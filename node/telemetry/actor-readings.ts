// What the actors of a node hold, by kind and by region, for /metrics. There are as many series as kinds and regions, and
// a bounded number for accounts that run low.

import { logRef } from "../../actors/messages/refs.ts";
import type { ActorGlance, ActorLoads, ActorReport, KindStats } from "../../actors/system/definition.ts";
import { livesHere } from "../../cluster/placement.ts";
import { type LedgerContext, outlookOf } from "../../machines/ledger.ts";
import type { LogSequencerContext } from "../../machines/log-sequencer.ts";
import { gauge, type Reading } from "../../ops/metrics.ts";
import type { Acting, Process } from "../composition/capabilities.ts";

/** `regions` are those whose indexes are updated; each has its series even while nothing waits for it. */
export function actorReadings(loads: ActorLoads, regions: readonly string[]): readonly Reading[] {
  const waits = new Map(loads.regions.map((wait) => [wait.region, wait]));
  return [
    ...ofKinds.flatMap(({ name, help, value }) =>
      Object.entries(loads.kinds).map(([kind, stats]) => gauge(name, help, value(stats), { kind })),
    ),
    ...[...new Set([...regions, ...waits.keys()])].flatMap((region): readonly Reading[] => [
      gauge(
        "svc_index_unconfirmed_chunks",
        "Chunks of pushes of this node that a region's index has not confirmed.",
        waits.get(region)?.waiting ?? 0,
        { region },
      ),
      gauge(
        "svc_index_lag_seconds",
        "How long the oldest of these chunks has waited for the region's index; 0 if none does.",
        (waits.get(region)?.oldestMs ?? 0) / 1_000,
        { region },
      ),
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

// How far the transparency log is, for /metrics. One node has the log's sequencer, and only that node shows them.

/** Empty on a node that does not have the sequencer. */
export async function logReadings({ actors, cluster, clock }: Acting & Process): Promise<readonly Reading[]> {
  if (cluster !== null && !livesHere(cluster.placement, logRef())) return [];
  return readingsOf(await actors.inspect(logRef()), clock.now());
}

/** A log that has nothing yet has no sequencer either. */
export function readingsOf(report: Pick<ActorReport, "context"> | null, nowMs: number): readonly Reading[] {
  const context = (report?.context ?? null) as LogSequencerContext | null;
  const secondsSince = (ms: number | null | undefined): number =>
    ms === null || ms === undefined ? 0 : Math.max(0, nowMs - ms) / 1_000;
  return [
    gauge("svc_log_waiting_leaves", "Leaves that are not in the log yet.", context?.pending ?? 0),
    gauge(
      "svc_log_oldest_leaf_seconds",
      "How long the oldest of these leaves has waited; 0 if none waits.",
      secondsSince(context?.oldestMs),
    ),
    gauge("svc_log_leaves", "Leaves in the log.", context?.head.size ?? 0),
    gauge(
      "svc_log_published_leaves",
      "Leaves under the newest published checkpoint.",
      context?.published?.size ?? 0,
    ),
    gauge(
      "svc_log_unwitnessed_seconds",
      "How long witnesses have kept the next checkpoint back; 0 if none does.",
      secondsSince(context?.unwitnessed?.sinceMs),
    ),
    gauge(
      "svc_log_held_seconds",
      "How long the log has waited for its head to be confirmed; 0 if it is.",
      secondsSince(context?.held?.sinceMs),
    ),
  ];
}

// The accounts that run low, for /metrics: of those that this node has in memory, which are those that are spent from or asked for.

/** A node names so many at most, and those that run low first. */
const lowAccountsMax = 20;
const daySeconds = 86_400;

export function accountReadings(
  glances: Iterable<Pick<ActorGlance, "ref" | "context">>,
  nowMs: number,
): readonly Reading[] {
  const low: { readonly company: string; readonly days: number }[] = [];
  for (const { ref, context } of glances) {
    if (ref.kind !== "ledger" || context === null) continue;
    const ledger = context as LedgerContext;
    const { is_low, days_left } = outlookOf(ledger, nowMs);
    if (is_low && ledger.currency !== null) low.push({ company: ref.id, days: days_left ?? 0 });
  }
  low.sort((a, b) => a.days - b.days);
  return low
    .slice(0, lowAccountsMax)
    .map(({ company, days }) =>
      gauge(
        "svc_account_left_seconds",
        "How long an account that runs low lasts, in whole days; only of those, 20 at most.",
        days * daySeconds,
        { company },
      ),
    );
}
