// The actor of a webhook: what one endpoint of a business is told, and when it is tried again. Keyed rows: 16 deliveries that wait, by when
// they are due; 17 those that were tried, the newest first.
//   WD1. A delivery that is owed is tried until an attempt succeeds, or until so many failed: then it is given up. The pauses between
//        attempts grow.
//   WD2. An attempt may be made twice, where its outcome was not committed: its receiver knows a delivery by its id.
//   WD3. So many deliveries wait at most; what is owed beyond that is left out. So many are tried at once.
//   WD4. An endpoint at which nothing succeeded for days is reported to its business when a delivery is given up, once; what waits for
//        one that was switched off goes nowhere.

import { type WebhookEvent, webhookMachine } from "../../machines/webhook.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { CommandOf, Commands, DoneReply } from "../messages/protocol.ts";
import { businessRef, partsOf } from "../messages/refs.ts";
import type { Delivery, EndpointReport, TriedDelivery, WebhookProtocol } from "../messages/webhooks.ts";
import { type Decision, defineActor, takenOf, tell, type ViewOf, workAt } from "../system/definition.ts";
import { defineJsonTable, type Keyed, newestFirst } from "../system/row-table.ts";

type View = ViewOf<typeof webhookMachine>;
type Asked<T extends keyof WebhookProtocol> = CommandOf<WebhookProtocol, T>;
type Decided = Decision<DoneReply, WebhookEvent>;

interface Waiting extends Delivery {
  readonly attempts: number;
}

const waiting = defineJsonTable<Waiting>("deliveries that wait", 16);
/** By the time that is left until the last instant (`k`), so that the newest come first. */
const tried = defineJsonTable<TriedDelivery>("deliveries that were tried", 17);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** The pauses after each failed attempt but the last: eight attempts within a day. */
const pausesMs = [
  minuteMs,
  5 * minuteMs,
  20 * minuteMs,
  hourMs,
  3 * hourMs,
  6 * hourMs,
  12 * hourMs,
] as const;
const attemptsMax = pausesMs.length + 1;
/** How long nothing may succeed before an endpoint is reported (WD4). */
const offAfterMs = 5 * dayMs;
const waitingMax = 1_000;
/** Deliveries that are tried together. */
const triedAtOnce = 4;
const triedKept = 25;
const triedKeptMs = 30 * dayMs;

const done = { status: "done" } as const;

export const webhookActor = defineActor<"webhook", typeof webhookMachine>({
  kind: "webhook",
  schemaVersion: 1,
  machine: webhookMachine,
  durability: "journal",
  input: () => ({}),
  rows: rowsFor,
  decide: {
    "delivery.owe": owe,
    "webhook.end": (_command, view) => ({
      reply: done,
      events: takenOf(view, { type: "webhook.ended" }),
    }),
    "deliveries.due": (_command, view) => ({ reply: { due: dueIn(view).map(({ value }) => value) } }),
    "deliveries.tried": noteTried,
    "deliveries.read": (_command, view) => ({ reply: reportOf(view) }),
  },
  absent: {
    "webhook.end": { reply: done },
    "deliveries.due": { reply: { due: [] } },
    "deliveries.tried": { reply: done },
    "deliveries.read": { reply: { waiting: 0, failing_since_ms: null, deliveries: [] } },
  },
  effects: {
    callEndpoint: () => [{ kind: "activity", name: "callEndpoint", params: {} }],
  },
});

function rowsFor(command: Commands<WebhookProtocol>): readonly RowSelection[] {
  // Those that are tried stay the first of all: what is owed or put off meanwhile is due later. Clocks of nodes differ, hence the spare ones.
  const first = waiting.selectPage(2 * triedAtOnce + 1);
  switch (command.type) {
    case "delivery.owe":
    case "webhook.end":
      return [];
    case "deliveries.due":
      return [first];
    case "deliveries.tried":
      return [first, tried.selectPage(triedKept + triedAtOnce)];
    case "deliveries.read":
      return [tried.selectPage(triedKept)];
  }
}

/** See WD3. The business gives each of its notices once, and a message is received once. */
function owe({ delivery }: Asked<"delivery.owe">, view: View): Decided {
  if (view.snapshot.context.waiting >= waitingMax) return { reply: done };
  const events = takenOf(view, { type: "delivery.owed", timer: workAt(view.nowMs, view) });
  if (events.length === 0) return { reply: done };
  const row = waiting.write(delivery.id, { ...delivery, attempts: 0 }, { k: view.nowMs });
  return { reply: done, events, puts: [row] };
}

function dueIn(view: View): readonly Keyed<Waiting>[] {
  return waiting
    .readAll(view)
    .filter(({ k }) => k <= view.nowMs)
    .slice(0, triedAtOnce);
}

type Outcomes = Asked<"deliveries.tried">["tried"];
type Named = Keyed<Waiting> & Pick<Outcomes[number], "outcome">;

function noteTried({ tried: outcomes }: Asked<"deliveries.tried">, view: View): Decided {
  const { nowMs, snapshot } = view;
  const all = waiting.readAll(view);
  const named = all.flatMap((each): readonly Named[] => {
    const found = outcomes.find(({ id }) => id === each.k2);
    return found === undefined ? [] : [{ ...each, outcome: found.outcome }];
  });
  const after = named.map((each) => afterAttempt(each, nowMs));
  const called = after.filter(({ row }) => row !== null);
  const isWell = called.some(({ state }) => state === "delivered");
  const failing_since_ms = isWell || called.length === 0 ? null : (snapshot.context.failingSinceMs ?? nowMs);
  const since_ms = called.length === 0 ? snapshot.context.failingSinceMs : failing_since_ms;
  const isOff =
    since_ms !== null && nowMs - since_ms >= offAfterMs && after.some(({ state }) => state === "given_up");
  const rest = all.filter((each) => !named.some(({ k2 }) => k2 === each.k2)).map(({ k }) => k);
  const next = [...rest, ...after.flatMap(({ dueMs }) => dueMs ?? [])];
  const events = takenOf(view, {
    type: "deliveries.tried",
    settled: after.filter(({ dueMs }) => dueMs === null).length,
    failing_since_ms: isOff ? null : since_ms,
    timer: next.length === 0 ? null : workAt(Math.min(...next), view),
  });
  if (events.length === 0) return { reply: done };
  const { party, own } = partsOf(view.id);
  return {
    reply: done,
    events,
    puts: after.flatMap(({ dueMs, row, waits }) => [
      ...(dueMs === null ? [] : [waiting.write(waits.id, waits, { k: dueMs })]),
      ...(row === null ? [] : [row]),
    ]),
    deletes: [...named.map(({ k, k2 }) => waiting.key(k2, k)), ...surplus(called, view)],
    effects: isOff ? [tell(businessRef(party), { type: "webhook.fail", endpoint_id: own, since_ms })] : [],
  };
}

interface After {
  readonly state: TriedDelivery["state"];
  /** When it is tried again; null if it is not. */
  readonly dueMs: number | null;
  readonly waits: Waiting;
  /** What is shown of it; null for what went nowhere. */
  readonly row: PartitionRow | null;
}

/** See WD1. */
function afterAttempt({ value: { attempts: before, ...delivery }, outcome }: Named, nowMs: number): After {
  const attempts = before + 1;
  const waits = { ...delivery, attempts };
  if (outcome === null) return { state: "given_up", dueMs: null, waits, row: null };
  const pauseMs = outcome.failure === null ? undefined : pausesMs[before];
  const state =
    outcome.failure === null ? "delivered" : attempts < attemptsMax ? "waiting" : ("given_up" as const);
  const { ids: _ids, ...shown } = waits;
  const { id, at_ms } = delivery;
  const row = tried.write(
    id,
    { ...shown, state, outcome, tried_at_ms: nowMs },
    { k: newestFirst(at_ms), expiresAtMs: nowMs + triedKeptMs },
  );
  return { state, dueMs: pauseMs === undefined ? null : nowMs + pauseMs, waits, row };
}

/** Those beyond the newest, once these are there as well. */
function surplus(called: readonly After[], view: View): readonly RowKey[] {
  const known = tried.readAll(view);
  const fresh = called.filter(({ waits }) => !known.some(({ k2 }) => k2 === waits.id)).length;
  return known
    .slice(Math.max(0, triedKept - fresh))
    .filter(({ k2 }) => !called.some(({ waits }) => waits.id === k2))
    .map(({ k, k2 }) => tried.key(k2, k));
}

function reportOf(view: View): EndpointReport {
  const { waiting: count, failingSinceMs } = view.snapshot.context;
  const deliveries = tried.readAll(view).map(({ value }) => value);
  return { waiting: count, failing_since_ms: failingSinceMs, deliveries };
}
