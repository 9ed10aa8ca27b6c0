// What an actor kind consists of: a pure machine, a pure decision function and named effects. The system owns everything else.
//
//   command ──decide──▶ events ──machine.transition──▶ next snapshot + named actions ──effects──▶ outbox, timers
//   and all of it is one fenced commit, before any reply or message leaves (A2).
//
// Rules for a kind:
//   K1. `decide`, `effects` and the machine are pure: time, ids and randomness are passed in as data.
//   K2. Events and effects carry references, never bodies; the context stays under 64 KiB.
//   K3. Large collections are keyed rows (rt >= 16), declared by `rows` and written by `decide`, and never part of the context.
//   K4. A repeated command gets the same answer: the kind keeps what it needs to recognise the repetition.
//   K5. What its machine ends (in a final state) is forgotten, once nothing of it is under way. Nobody remembers then what it was told:
//       an actor that is made of its id later, by a message that comes too late, must do nothing that is seen elsewhere.

import type { AnyMachineSnapshot, AnyStateMachine, EventFrom, InputFrom, SnapshotFrom } from "xstate";
import { Unavailable } from "../../std/unavailable.ts";
import type {
  ActorRef,
  CommitOutcome,
  PartitionRow,
  RowKey,
  RowSelection,
} from "../../storage/actor-store.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, Commands, CommandType, Message, ReplyOf } from "../messages/protocol.ts";
import type { NameClaim, NameClaims } from "./claimed-names.ts";

export type { ActorRef, Message };

export interface ActorView<Snapshot = AnyMachineSnapshot> {
  readonly id: string;
  /** Epoch of this activation: notes made under another epoch ended with that activation. Always 0 for `memory` kinds. */
  readonly epoch: number;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The machine's snapshot: `value`, `context`, `matches()`. */
  readonly snapshot: Snapshot;
  /**
   * A keyed row that `rows` selected, as the earlier decisions of the same batch left it. Kinds read rows through tables
   * (row-table.ts).
   */
  row(rt: number, k: number, k2: string): PartitionRow | undefined;
  /** All loaded rows of a table, in (k, k2) order. */
  rowsOf(rt: number): readonly PartitionRow[];
  /**
   * When the claim of a name ends or ended, in Unix milliseconds, as the earlier decisions of the same batch left it; undefined if none is
   * known. Only for commands that the kind's {@link NameClaims} name.
   */
  claimedUntil(name: string): number | undefined;
}

/** The view of an actor that runs this machine. */
export type ViewOf<M extends AnyStateMachine> = ActorView<SnapshotFrom<M>>;

/** An action that leaves the actor after its commit. */
export type Effect =
  /** A message to another actor: delivered at least once, in order for each target, and deduplicated by the receiver (A3). */
  | { readonly kind: "tell"; readonly to: ActorRef; readonly message: Message }
  /** Work outside the actor, done at least once by the registered activity; its result comes back as a command. */
  | { readonly kind: "activity"; readonly name: string; readonly params: unknown };

/** Makes the effect that sends a message to another actor. */
export function tell<K extends KindOf<ActorProtocols>, T extends CommandType<ActorProtocols[K]>>(
  to: ActorRef<K>,
  message: CommandOf<ActorProtocols[K], T>,
): Effect {
  return { kind: "tell", to, message };
}

export interface Decision<R, E extends Message = Message> {
  /** The reply to the caller, sent after the commit. Absent with `wait`. */
  readonly reply?: R;
  /**
   * The caller waits: the command is decided again after each later commit of this activation (for a `memory`
   * actor: after each later command) until a decision has no `wait`. The first decision may have events and
   * effects; they are not lost if the activation ends, but the waiting caller is then answered `restarting`.
   */
  readonly wait?: true;
  /**
   * The facts that this decision establishes, in order; each one is applied to the machine, which must take it: see
   * {@link takenOf}. If there are none, the state did not change.
   */
  readonly events?: readonly E[];
  readonly puts?: readonly PartitionRow[];
  readonly deletes?: readonly RowKey[];
  /** Names that nobody else gets until then: all those of a commit are one row (claimed-names.ts). */
  readonly claims?: readonly NameClaim[];
  readonly effects?: readonly Effect[];
}

/**
 * The first of these events that the machine takes in its state, if any. A machine that refuses them all leaves its state as it is, and
 * the decision says to its caller what that means.
 */
export function takenOf<M extends AnyStateMachine>(
  { snapshot }: ViewOf<M>,
  ...events: readonly EventFrom<M>[]
): readonly EventFrom<M>[] {
  const taken = events.find((event) => (snapshot as AnyMachineSnapshot).can(event));
  return taken === undefined ? [] : [taken];
}

/** Next work at an instant, in Unix milliseconds; what is due already comes as soon as a timer can. */
export function workAt(at_ms: number, { nowMs }: { readonly nowMs: number }) {
  return { at_ms, in_ms: Math.max(1, at_ms - nowMs) };
}

interface KindFacts<K extends string> {
  readonly kind: K;
  /** The machines that its own one runs for each of what it keeps, by name, for operators. */
  readonly parts?: Readonly<Record<string, AnyStateMachine>>;
  /** Version of the context and the events; it is raised, with an `upgrade`, when their shape changes (A9). */
  readonly schemaVersion: number;
  /** `memory` actors have no journal: their commands are answered at once, and their state ends with the activation. */
  readonly durability: "journal" | "memory";
  /** Maximum number of commands in one turn, if another than that of the limits. */
  readonly turnCommandsMax?: number;
  /** Whether its work is for many callers together, so that the traces of its commands end with them. */
  readonly endsTraces?: true;
  /** The activities that wait for the region that their parameter `region` names, for operators. */
  readonly regionWaits?: readonly string[];
  /**
   * Messages of other actors that change nothing when they are received again, however late: the actor knows what they said from its own
   * state, and keeps no note of their sequence.
   */
  readonly repeatable?: readonly string[];
  /** Tables whose rows are kept in memory as far as they fit (kept-rows.ts). */
  readonly keeps?: readonly number[];
  /**
   * Messages of other actors that the actor takes within their sender's commit, where both are in memory on one node and the store joins
   * commits. Where not, they are delivered as any other.
   */
  readonly joinable?: readonly string[];
  /** Upgrades the persisted snapshot of version `from` to version `from + 1`. */
  readonly upgrade?: Readonly<Record<number, (snapshot: unknown) => unknown>>;
  /** Upgrades an event of version `from` to version `from + 1`, or returns null to drop it; needed if events changed shape. */
  readonly upgradeEvent?: Readonly<Record<number, (event: Message) => Message | null>>;
}

/** An actor kind as the system runs it, whatever its protocol: commands, events and replies are plain messages. */
export interface ActorDefinition<K extends string = string> extends KindFacts<K> {
  readonly machine: AnyStateMachine;
  /** How its actors claim names, if they do. */
  readonly claims?: NameClaims;
  /** The machine's input for a new actor. */
  input(id: string): unknown;
  /**
   * The keyed rows that the decision on `command` needs. The snapshot is the one before the turn: decisions on commands of
   * the same turn may have changed it by the time of the decision on this one.
   */
  rows?(command: Message, id: string, snapshot: AnyMachineSnapshot): readonly RowSelection[];
  decide(command: Message, view: ActorView): Decision<unknown>;
  /**
   * For a read-only command, the answer if the actor never existed; null for any other command. A question does not create
   * such an actor, because anybody may ask about any id.
   */
  absent?(command: Message): { readonly reply: unknown } | null;
  /** Maps each named action of the machine to its effects. An action that is missing here is a bug. */
  readonly effects: Readonly<Record<string, NamedEffect>>;
}

/**
 * The effects of one action. This is a method's type, so that a kind may declare the parameter types that its own machine
 * uses.
 */
export type NamedEffect = { of(params: unknown, view: ActorView): readonly Effect[] }["of"];

/** An actor kind as its author writes it: checked against its protocol `P` and the events and context of its machine `M`. */
export interface TypedKind<K extends string, P, M extends AnyStateMachine> extends KindFacts<K> {
  readonly machine: M;
  readonly claims?: NameClaims & { readonly commands: readonly CommandType<P>[] };
  readonly input: (id: string) => InputFrom<M>;
  readonly rows?: (command: Commands<P>, id: string, snapshot: SnapshotFrom<M>) => readonly RowSelection[];
  /** The decision on each command: its own reply, and events of the machine. */
  readonly decide: {
    readonly [T in CommandType<P>]: (
      command: CommandOf<P, T>,
      view: ViewOf<M>,
    ) => Decision<ReplyOf<P, T>, EventFrom<M>>;
  };
  /** The answers to read-only commands if the actor never existed; see {@link ActorDefinition.absent}. */
  readonly absent?: { readonly [T in CommandType<P>]?: { readonly reply: ReplyOf<P, T> } };
  readonly effects: Readonly<Record<string, NamedEffect>>;
}

type AnyDecide = (command: Message, view: ActorView) => Decision<unknown>;

/**
 * Makes a kind known to the system. Its messages cross nodes and come out of journals as plain text, so types end here: a
 * message is what its `type` says, and a message whose type names no command is an error.
 */
export function defineActor<
  K extends KindOf<Protocols>,
  M extends AnyStateMachine,
  Protocols = ActorProtocols,
>(kind: TypedKind<K, Protocols[K], M>): ActorDefinition<K> {
  const decisions = new Map(Object.entries(kind.decide) as readonly (readonly [string, AnyDecide])[]);
  const absent = new Map(Object.entries<{ readonly reply: unknown } | undefined>(kind.absent ?? {}));
  return {
    ...kind,
    rows: (command, id, snapshot) =>
      kind.rows?.(command as Commands<Protocols[K]>, id, snapshot as SnapshotFrom<M>) ?? [],
    decide: (command, view) => {
      const decide = decisions.get(command.type);
      if (decide === undefined) throw new Error(`kind ${kind.kind} has no command ${command.type}`);
      return decide(command, view);
    },
    absent: ({ type }) => absent.get(type) ?? null,
  };
}

export interface AskOptions {
  /** How long to wait for the reply; defaults to `askTimeoutMs` of the limits. */
  readonly timeoutMs?: number | undefined;
  /**
   * The caller has just drawn the actor's id, so the actor has never existed: where the store can, its first commit creates it and no claim
   * precedes. If it does exist, it is claimed as usual.
   */
  readonly isNew?: boolean | undefined;
}

/**
 * Sends a command and waits for the reply, whose type follows from the actor's kind and the command's. Rejects with
 * {@link ActorUnavailable}.
 */
export type Ask<Protocols = ActorProtocols> = <
  K extends KindOf<Protocols>,
  T extends CommandType<Protocols[K]>,
>(
  to: ActorRef<K>,
  command: CommandOf<Protocols[K], T>,
  options?: AskOptions,
) => Promise<ReplyOf<Protocols[K], T>>;

/**
 * The context of an activity, which is work outside the actor. It must be idempotent: it is repeated until its result is
 * committed.
 */
export interface ActivityContext<K extends string = string, Protocols = ActorProtocols> {
  readonly actor: ActorRef<K>;
  /** Identifies this piece of work; it is the same in every repetition. */
  readonly workId: string;
  readonly nowMs: () => number;
  readonly ask: Ask<Protocols>;
  /** Aborted when the activation ends: the activity should stop at the next convenient point. */
  readonly signal: { readonly aborted: boolean };
}

/**
 * Returns the command that the actor receives as the result, or null if there is none. If it throws, it is retried with
 * back-off. This is a method's type, so that an activity may declare the types of the parameters that its kind passes.
 */
export type Activity = { run(params: unknown, context: ActivityContext): Promise<Message | null> }["run"];

/** A reply that is not yet true, for work that becomes true only together with it. */
export interface SpeculativeReply<R> {
  readonly reply: R;
  /**
   * The commit that makes the reply true, if it has not happened yet: anything written on the basis of the reply
   * must be made to depend on it. Null if the reply is already true.
   */
  readonly commit: Promise<CommitOutcome> | null;
}

/** The two results of one question: the decision, and the reply once it is true. */
export interface AskedAhead<R> {
  readonly decided: Promise<SpeculativeReply<R>>;
  readonly reply: Promise<R>;
}

/** The part of the actor system that code outside actors/system may use. `Protocols` are those of the kinds that it runs. */
export interface ActorSystem<Protocols = ActorProtocols> {
  readonly ask: Ask<Protocols>;
  /**
   * Like `ask`, but if the actor is on this node, it also reports the decision while its commit is still under way. Nothing
   * may leave the node on the basis of `decided` until `reply` resolves: the decision may still turn out to be untrue.
   */
  askSpeculative<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
  ): AskedAhead<ReplyOf<Protocols[K], T>>;
  /** An operator's view of one actor, without waking it (A10). */
  inspect(ref: ActorRef): Promise<ActorReport | null>;
  /** A look at each actor in memory, and at each that crashed and is not back yet. Nothing is woken. */
  glances(): Iterable<ActorGlance>;
  /** The counters for /metrics and readiness. */
  stats(): ActorSystemStats;
  /** Wakes every actor that has pending work, and keeps doing so. */
  start(): Promise<void>;
  /** Takes no more commands, finishes those that were accepted, and passivates all actors (A8). */
  drain(timeoutMs: number): Promise<void>;
}

/** The actors, as services ask them. */
export interface Actors {
  readonly actors: ActorSystem;
}

export interface ActorReport {
  readonly ref: ActorRef;
  readonly status: "active" | "passive" | "backing_off" | "quarantined";
  readonly state: unknown;
  readonly context: unknown;
  readonly epoch: number;
  readonly head: number;
  /** Timers and unacknowledged effects: the reasons why the actor waits. */
  readonly timers: readonly { readonly id: string; readonly dueMs: number; readonly event: string }[];
  readonly outbox: readonly {
    readonly seq: number;
    readonly to: string;
    readonly attempts: number;
    readonly lastError: string | null;
    /** When it was decided, in Unix milliseconds. */
    readonly sinceMs: number;
  }[];
  /** Messages and callers that wait in memory; 0 for an actor that is not in memory. */
  readonly mailbox: number;
  /** The node incarnation that claimed the epoch, as `region/incarnation`; empty for an actor without a journal. */
  readonly owner: string;
  /** The newest events, oldest first. */
  readonly lastEvents: readonly unknown[];
  readonly failure: string | null;
  /** Its newest crash; null where it may run. */
  readonly crash: Crash | null;
}

/** A crash of an actor that is not back yet. */
export interface Crash {
  readonly atMs: number;
  /** The type of the command that it handled; null where it handled none, as while it was loaded. */
  readonly command: string | null;
  /** Where in the program it happened. */
  readonly stack: string | null;
}

/**
 * What operators see of an actor in memory, or of one that crashed, in a list. Its members are those of its report, read when they are
 * asked for: a look at an actor in memory is the same object each time, and shows the actor as it is by then.
 */
export interface ActorGlance extends Pick<ActorReport, "ref" | "status" | "state" | "mailbox" | "head"> {
  /** As long as it is the same, nothing of the look but its mailbox changed. */
  readonly revision: number;
  /** The machine's context; null while the state is loaded, and for an actor that crashed. */
  readonly context: unknown;
  readonly timers: ActorReport["timers"];
  readonly outbox: ActorReport["outbox"];
  readonly failure: string | null;
  readonly crash: Crash | null;
}

export interface ActorSystemStats {
  readonly active: number;
  readonly mailboxed: number;
  readonly commits: number;
  readonly commandsHandled: number;
  readonly refusedCommits: number;
  readonly crashes: number;
  readonly quarantined: readonly ActorRef[];
  readonly outboxPending: number;
  /** Activities that wait for others to end before they begin. */
  readonly activitiesWaiting: number;
}

/** What the actors in memory hold. It looks at every pending effect, and so is for /metrics and not for requests. */
export interface ActorLoads {
  /** Every kind that the system runs. */
  readonly kinds: Readonly<Record<string, KindStats>>;
  /** What waits for a region, for each region that something waits for. */
  readonly regions: readonly RegionWait[];
}

export interface KindStats {
  readonly active: number;
  readonly mailboxed: number;
  /** Commands and messages in the fullest mailbox. */
  readonly mailboxLongest: number;
  readonly outboxPending: number;
  /** Age of the oldest of these effects, in milliseconds; 0 if there is none. */
  readonly outboxOldestMs: number;
  readonly quarantined: number;
}

export interface RegionWait {
  readonly region: string;
  readonly waiting: number;
  /** Age of the oldest, in milliseconds. */
  readonly oldestMs: number;
}

/**
 * The caller may try again: the actor is overloaded, restarting, quarantined or moving. If `effect` is `unknown`, the
 * command may or may not have been applied.
 */
export type ActorUnavailable = Unavailable<
  "overloaded" | "restarting" | "quarantined" | "draining" | "timeout" | "store"
>;

/** Says why an actor did not answer, and whether the command may have taken effect. */
export function actorUnavailable(
  reason: ActorUnavailable["reason"],
  { cause, ...facts }: { retryAfterSeconds: number; effect: Unavailable["effect"]; cause?: unknown },
): ActorUnavailable {
  return new Unavailable(`actor unavailable: ${reason}`, { reason, ...facts }, { cause });
}

/** It was not applied, and may be tried again in a second. */
export function unavailableSoon(reason: ActorUnavailable["reason"]): ActorUnavailable {
  return actorUnavailable(reason, { retryAfterSeconds: 1, effect: "not_applied" });
}
