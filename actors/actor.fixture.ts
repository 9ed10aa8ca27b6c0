// Drives one actor kind without the actor system: decide, machine, rows. It is for tests of a kind's decisions; the
// guarantees of the system around it have their own tests.

import { type AnyMachineSnapshot, initialTransition, transition } from "xstate";
import type { PartitionRow, RowSelection } from "../storage/actor-store.ts";
import { PartitionRows } from "../storage/memory/actor-store.ts";
import type { ActorProtocols, KindOf } from "./messages/kinds.ts";
import type { CommandOf, CommandType, ReplyOf } from "./messages/protocol.ts";
import { ClaimedNames, type NameClaim } from "./system/claimed-names.ts";
import type { ActorDefinition, ActorView, Effect, Message } from "./system/definition.ts";
import { TurnRows } from "./system/turn.ts";

/** What expired is never forgotten here: a page may be full of what no decision sees. */
const unexpired = Number.NEGATIVE_INFINITY;

export interface ActorHarness<K extends KindOf<ActorProtocols> = KindOf<ActorProtocols>> {
  /** Returns the reply of the decision, or undefined if the caller would wait. */
  send<T extends CommandType<ActorProtocols[K]>>(
    command: CommandOf<ActorProtocols[K], T>,
  ): ReplyOf<ActorProtocols[K], T>;
  /** Sends commands that share a turn: the rows of each are selected before the first is decided. */
  sendTogether<T extends CommandType<ActorProtocols[K]>>(
    commands: readonly CommandOf<ActorProtocols[K], T>[],
  ): readonly ReplyOf<ActorProtocols[K], T>[];
  readonly effects: Effect[];
  readonly snapshot: AnyMachineSnapshot;
  nowMs: number;
  epoch: number;
  /** The stored rows of a table, for inspection. */
  rows(rt: number): readonly PartitionRow[];
  /** Stores a row. */
  lay(row: PartitionRow): void;
  /** The delays that the machine requested, by id. */
  readonly timers: Map<string, number>;
  /** The time of every requested timer is over. */
  fireTimers(): void;
}

type Driven = Omit<ActorHarness, "send" | "sendTogether">;

export function driveActor<K extends KindOf<ActorProtocols>>(
  definition: ActorDefinition<K>,
  id: string,
): ActorHarness<K> {
  const kept = new PartitionRows();
  const [initial] = initialTransition(definition.machine, definition.input(id));
  let snapshot = initial as AnyMachineSnapshot;
  const delayed = new Map<string, Message>();
  const apply = (event: Message, rows: TurnRows): void => {
    const [next, actions] = transition(definition.machine, snapshot, event);
    snapshot = next as AnyMachineSnapshot;
    for (const action of actions) {
      perform(definition, harness, viewOf(harness, id, rows), action);
      const params = action.params as { readonly id?: string; readonly event?: Message } | undefined;
      if (action.type === "xstate.raise" && params?.event) delayed.set(params.id ?? "", params.event);
    }
  };
  const harness: ActorHarness<K> = {
    effects: [],
    timers: new Map(),
    nowMs: Date.UTC(2026, 0, 1),
    epoch: 1,
    get snapshot() {
      return snapshot;
    },
    rows: (rt) => kept.of(rt, unexpired),
    fireTimers: () => {
      const ids = [...harness.timers.keys()];
      harness.timers.clear();
      for (const event of ids.flatMap((timer) => delayed.get(timer) ?? []))
        apply(event, new TurnRows([], harness.nowMs));
    },
    lay: (row) => kept.change({ puts: [row], deletes: [] }),
    send: (command) => decide(command, definition.rows?.(command, id, snapshot) ?? []),
    sendTogether: (commands) => {
      const selected = commands.map((command) => definition.rows?.(command, id, snapshot) ?? []);
      return commands.map((command, at) => decide(command, selected[at] ?? []));
    },
  };
  const decide = <T extends CommandType<ActorProtocols[K]>>(
    command: CommandOf<ActorProtocols[K], T>,
    selections: readonly RowSelection[],
  ) => {
    const loaded = selections.flatMap((selection) => kept.select(selection, unexpired));
    const rows = new TurnRows(loaded, harness.nowMs);
    rows.selections = selections;
    const names = namesIn(definition, kept, harness.nowMs);
    const view = { ...viewOf(harness, id, rows), claimedUntil: names.until };
    const decision = definition.decide(command, view);
    const { puts = [], deletes = [], claims = [] } = decision;
    kept.change({ puts: [...puts, ...names.rows(claims)], deletes });
    harness.effects.push(...(decision.effects ?? []));
    for (const event of decision.events ?? []) {
      // The actor system fails such a turn (T1 of turn.ts).
      if (snapshot.status !== "active" || !snapshot.can(event))
        throw new Error(`The machine does not take ${event.type} in ${JSON.stringify(snapshot.value)}.`);
      apply(event, rows);
    }
    return (decision.wait ? undefined : decision.reply) as ReplyOf<ActorProtocols[K], T>;
  };
  return harness;
}

/** The names that the actor has claimed, as every activation reads them from its rows. */
function namesIn({ claims }: ActorDefinition, kept: PartitionRows, nowMs: number) {
  if (claims === undefined) return { until: noNames, rows: () => [] };
  const names = new ClaimedNames(claims, "secret");
  let pages = names.firstPages();
  while (pages.length > 0) {
    const rows = pages.flatMap((page) => kept.select(page, unexpired));
    pages = names.load(pages, rows, nowMs);
  }
  const mark = (claim: NameClaim) => ({ mark: names.markOf(claim.name), untilMs: claim.untilMs });
  return {
    until: (name: string) => names.until(names.markOf(name)),
    rows: (claimed: readonly NameClaim[]) =>
      claimed.length === 0 ? [] : [names.row(claimed.map(mark), nowMs)],
  };
}

function noNames(): never {
  throw new Error("The kind claims no names.");
}

function perform(
  definition: ActorDefinition,
  harness: Driven,
  view: ActorView,
  action: { readonly type: string; readonly params?: unknown },
): void {
  const params = action.params as { id?: string; delay?: number; sendId?: string } | undefined;
  if (action.type === "xstate.raise") harness.timers.set(params?.id ?? "", params?.delay ?? 0);
  else if (action.type === "xstate.cancel") harness.timers.delete(params?.sendId ?? "");
  else {
    const effect = definition.effects[action.type];
    if (!effect) throw new Error(`The machine asks for ${action.type}, which the kind does not know.`);
    harness.effects.push(...effect(action.params, view));
  }
}

function viewOf(harness: Driven, id: string, rows: TurnRows): ActorView {
  return {
    id,
    epoch: harness.epoch,
    nowMs: harness.nowMs,
    snapshot: harness.snapshot,
    row: (rt, k, k2) => rows.row(rt, k, k2),
    rowsOf: (rt) => rows.rowsOf(rt),
    claimedUntil: noNames,
  };
}
