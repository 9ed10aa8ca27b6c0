// What an actor kind is: a pure machine, a pure decision, named effects. The system owns everything else.
//
//   command ──decide──▶ events ──machine.transition──▶ next snapshot + named actions ──effects──▶ outbox, timers
//   and all of it is one fenced commit, before any reply or message leaves (A2).
//
// Rules for a kind:
//   K1. `decide`, `effects` and the machine are pure: time, ids and randomness come in as data.
//   K2. Events and effects carry references, never bodies; context stays under 64 KiB.
//   K3. Big collections are keyed rows (rt >= 16) declared by `rows` and written by `decide`, never context.
//   K4. A repeated command gives the same answer: the kind keeps what it needs to know that it is a repetition.

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

export type { Message };

export interface ActorView<Snapshot = AnyMachineSnapshot> {
  readonly id: string;
  /** Of this activation: what was noted under another epoch died with that activation. 0 for `memory` kinds. */
  readonly epoch: number;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The machine's snapshot: `value`, `context`, `matches()`. */
  readonly snapshot: Snapshot;
  /** A keyed row that `rows` selected, as earlier decisions of the same batch left it. Kinds read it by its table (row-table.ts). */
  row(rt: number, k: number, k2: string): PartitionRow | undefined;
  /** All loaded rows of a table, in (k, k2) order. */
  rowsOf(rt: number): readonly PartitionRow[];
}

/** A view of an actor that runs this machine. */
export type ViewOf<M extends AnyStateMachine> = ActorView<SnapshotFrom<M>>;

/** What leaves the actor after its commit. */
export type Effect =
  /** A message to another actor: delivered at least once, in order per target, deduplicated by the receiver (A3). */
  | { readonly kind: "tell"; readonly to: ActorRef; readonly message: Message }
  /** Work with the outside, done at least once by the registered activity; its answer comes back as a command. */
  | { readonly kind: "activity"; readonly name: string; readonly params: unknown };

/** A message to another actor, as an effect. */
export function tell<K extends KindOf<ActorProtocols>, T extends CommandType<ActorProtocols[K]>>(
  to: ActorRef<K>,
  message: CommandOf<ActorProtocols[K], T>,
): Effect {
  return { kind: "tell", to, message };
}

export interface Decision<R, E extends Message = Message> {
  /** Answer to the caller; sent after the commit. Absent with `wait`. */
  readonly reply?: R;
  /**
   * The caller waits: the command is decided again after each later commit of this activation (for a `memory`
   * actor: after each later command) until a decision has no `wait`. The first decision may have events and
   * effects; they are not lost with the waiting caller, who is answered `restarting` if the activation ends.
   */
  readonly wait?: true;
  /** Past facts, in order; each goes through the machine. None means that nothing changed. */
  readonly events?: readonly E[];
  readonly puts?: readonly PartitionRow[];
  readonly deletes?: readonly RowKey[];
  readonly effects?: readonly Effect[];
}

interface KindFacts<K extends string> {
  readonly kind: K;
  /** Version of context and events; raised with `upgrade` when their shape changes (A9). */
  readonly schemaVersion: number;
  /** `memory` actors have no journal: their commands are answered at once and forgotten with the activation. */
  readonly durability: "journal" | "memory";
  /** Turns the persisted snapshot of version `from` into that of `from + 1`. */
  readonly upgrade?: Readonly<Record<number, (snapshot: unknown) => unknown>>;
  /** Turns an event of version `from` into one of `from + 1`, null to drop it; needed where events changed shape. */
  readonly upgradeEvent?: Readonly<Record<number, (event: Message) => Message | null>>;
}

/** An actor kind as the system runs it, whatever its protocol: commands, events and replies are plain messages. */
export interface ActorDefinition<K extends string = string> extends KindFacts<K> {
  readonly machine: AnyStateMachine;
  /** Input of the machine for a new actor. */
  input(id: string): unknown;
  /** Keyed rows that deciding `command` needs. */
  rows?(command: Message, id: string): readonly RowSelection[];
  decide(command: Message, view: ActorView): Decision<unknown>;
  /**
   * The answer to a question about an actor that never existed, for a command that only looks; null for any other. Such
   * an actor is not made by being asked, for anybody may ask about any id.
   */
  absent?(command: Message): { readonly reply: unknown } | null;
  /** Named machine actions → effects. An action that is not named here is a bug. */
  readonly effects: Readonly<Record<string, NamedEffect>>;
}

/** The effects of one action. A method's type, so that a kind may name the parameters that its own machine gives. */
export type NamedEffect = { of(params: unknown, view: ActorView): readonly Effect[] }["of"];

/** An actor kind as it is written: held to its protocol `P` and to the events and the context of its machine `M`. */
export interface TypedKind<K extends string, P, M extends AnyStateMachine> extends KindFacts<K> {
  readonly machine: M;
  readonly input: (id: string) => InputFrom<M>;
  readonly rows?: (command: Commands<P>, id: string) => readonly RowSelection[];
  /** What is decided on each command: its own reply, and events of the machine. */
  readonly decide: {
    readonly [T in CommandType<P>]: (
      command: CommandOf<P, T>,
      view: ViewOf<M>,
    ) => Decision<ReplyOf<P, T>, EventFrom<M>>;
  };
  /** As {@link ActorDefinition.absent}. */
  readonly absent?: { readonly [T in CommandType<P>]?: { readonly reply: ReplyOf<P, T> } };
  readonly effects: Readonly<Record<string, NamedEffect>>;
}

type AnyDecide = (command: Message, view: ActorView) => Decision<unknown>;

/**
 * Makes a kind known to the system. What it is told crosses nodes and comes out of journals as plain text, so this is where
 * types end: a message is what its `type` says, and one that no command is named after is a fault.
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
    rows: (command, id) => kind.rows?.(command as Commands<Protocols[K]>, id) ?? [],
    decide: (command, view) => {
      const decide = decisions.get(command.type);
      if (decide === undefined) throw new Error(`kind ${kind.kind} has no command ${command.type}`);
      return decide(command, view);
    },
    absent: ({ type }) => absent.get(type) ?? null,
  };
}

export interface AskOptions {
  /** How long the reply is waited for; `askTimeoutMs` of the limits unless told. */
  readonly timeoutMs?: number | undefined;
}

/** Sends a command and waits for the reply, whose type follows from the actor's kind and the command's. Rejects with {@link ActorUnavailable}. */
export type Ask<Protocols = ActorProtocols> = <
  K extends KindOf<Protocols>,
  T extends CommandType<Protocols[K]>,
>(
  to: ActorRef<K>,
  command: CommandOf<Protocols[K], T>,
  options?: AskOptions,
) => Promise<ReplyOf<Protocols[K], T>>;

/** Work with the outside. Must be idempotent: it is repeated until its answer is committed. */
export interface ActivityContext<K extends string = string, Protocols = ActorProtocols> {
  readonly actor: ActorRef<K>;
  /** Identifies this piece of work; the same in every repetition. */
  readonly workId: string;
  readonly nowMs: () => number;
  readonly ask: Ask<Protocols>;
  /** Aborted when the activation ends: stop at the next convenient point. */
  readonly signal: { readonly aborted: boolean };
}

/**
 * Returns the command that the actor gets as the answer, or null for none. A throw is retried with back-off. A method's type,
 * so that an activity may name the parameters that its kind gives it.
 */
export type Activity = { run(params: unknown, context: ActivityContext): Promise<Message | null> }["run"];

/** A reply before it is true, for work that becomes true only together with it. */
export interface AheadOfReply<R> {
  readonly reply: R;
  /**
   * The commit that makes the reply true, when that has not happened yet: whatever is written on the ground of the reply
   * is made to depend on it. Null for a reply that is true already.
   */
  readonly commit: Promise<CommitOutcome> | null;
}

/** What is told of one question: the decision, and the reply once it is true. */
export interface AskedAhead<R> {
  readonly decided: Promise<AheadOfReply<R>>;
  readonly reply: Promise<R>;
}

/** What everybody outside actors/system may use of it. `Protocols` are those of the kinds that it runs. */
export interface ActorSystem<Protocols = ActorProtocols> {
  readonly ask: Ask<Protocols>;
  /**
   * As `ask`, and tells what was decided while its commit is still on its way, where the actor is on this node. Nothing
   * may leave the node on the ground of `decided` before `reply` is there: what is decided may yet turn out untrue.
   */
  askAhead<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
  ): AskedAhead<ReplyOf<Protocols[K], T>>;
  /** Operator's view of one actor, without waking it (A10). */
  inspect(ref: ActorRef): Promise<ActorReport | null>;
  /** Counters for /metrics and readiness. */
  stats(): ActorSystemStats;
  /** Wakes every actor that has waiting work; then keeps doing so. */
  start(): Promise<void>;
  /** Takes no more commands, finishes what was accepted, passivates all (A8). */
  drain(timeoutMs: number): Promise<void>;
}

export interface ActorReport {
  readonly ref: ActorRef;
  readonly status: "active" | "passive" | "backing_off" | "quarantined";
  readonly state: unknown;
  readonly context: unknown;
  readonly epoch: number;
  readonly head: number;
  /** Timers and unacknowledged effects: why it waits. */
  readonly timers: readonly { readonly id: string; readonly dueMs: number; readonly event: string }[];
  readonly outbox: readonly {
    readonly seq: number;
    readonly to: string;
    readonly attempts: number;
    readonly lastError: string | null;
  }[];
  /** The newest events, oldest first. */
  readonly lastEvents: readonly unknown[];
  readonly failure: string | null;
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
}

/** The caller may try again: the actor is overloaded, restarting, quarantined or moving. Nothing is said about the effect when `effect` is `unknown`. */
export type ActorUnavailable = Unavailable<
  "overloaded" | "restarting" | "quarantined" | "draining" | "timeout" | "store"
>;

export function actorUnavailable(
  reason: ActorUnavailable["reason"],
  { cause, ...facts }: { retryAfterSeconds: number; effect: Unavailable["effect"]; cause?: unknown },
): ActorUnavailable {
  return new Unavailable(`actor unavailable: ${reason}`, { reason, ...facts }, { cause });
}
