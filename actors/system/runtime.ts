// The actor system of one node: takes commands, finds or creates the activation, and runs the machines of all kinds.
//   A1. An actor has one writer: a commit carries the epoch of its activation, and the store refuses it once another
//       activation has claimed the actor (journaled-activation.ts).
//   A2. Nothing leaves before the commit: no reply and no message (journaled-activation.ts).
//   A3. Messages and activities are repeated until they are acknowledged, and take effect once (outbox.ts, turn.ts).
//   A4. Time is data: a delay is a durable row, which is armed again on activation (activation.ts, journal.ts).
//   A5. An unknown outcome is not a failure: the identical commit is sent again, or the actor is claimed again.
//   A6. A crashed actor is restarted with increasing back-off; one that keeps crashing is quarantined (supervision.ts).
//   A7. Everything is bounded (limits.ts, activation-table.ts).
//   A8. A system that stops hands its actors over (drain, below); one that is killed leaves state from which another can
//       continue.
//   A9. Old state is readable: snapshots have a version, and are upgraded (machine-driver.ts).
//   A10. The machine is the documentation: operators see the machine that runs (inspect.ts).

import { Semaphore } from "../../std/semaphore.ts";
import { failureName, type Tracer } from "../../std/tracing.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { ActorProtocols, KindOf } from "../messages/kinds.ts";
import type { CommandOf, CommandType, ReplyOf } from "../messages/protocol.ts";
import type { Activation, ActorHost, Counters } from "./activation.ts";
import { type DeliveryDone, type Envelope, envelopeOf, postDeliveries } from "./activation.ts";
import { ActivationTable, countActivations, keyOf, RunQueue, totalsOf } from "./activation-table.ts";
import {
  type ActorGlance,
  type ActorLoads,
  type ActorReport,
  type ActorSystemStats,
  type Ask,
  type AskedAhead,
  type AskOptions,
  type Message,
  type SpeculativeReply,
  unavailableSoon,
} from "./definition.ts";
import { glancesAt, reportActive, reportStored } from "./inspect.ts";
import type { JoinedTurn, Joining } from "./joining.ts";
import { JournaledActivation, MemoryActivation } from "./journaled-activation.ts";
import { type ActorLimits, defaultLimits } from "./limits.ts";
import { isReservedName, MachineDriver } from "./machine-driver.ts";
import type { ActorSystemOptions, Delivery, LocalActorSystem, RemoteTarget } from "./ports.ts";
import { Supervisor, Waker } from "./supervision.ts";

/** Makes an actor system. Throws if a definition is not a pure machine with named effects. */
export function createActorSystem<Protocols = ActorProtocols>(
  options: ActorSystemOptions,
): LocalActorSystem<Protocols> {
  return new Runtime<Protocols>(options);
}

/** Who asked, besides what and for how long. */
type AskedBy = Partial<Pick<Envelope, "ahead" | "isNew" | "traceparent">>;

class Runtime<Protocols> implements LocalActorSystem<Protocols> {
  readonly #options: ActorSystemOptions;
  readonly #limits: ActorLimits;
  readonly #drivers = new Map<string, MachineDriver>();
  readonly #table: ActivationTable;
  readonly #supervisor: Supervisor;
  readonly #queue: RunQueue;
  readonly #waker: Waker;
  readonly #pool: WorkPool;
  readonly #host: ActorHost;
  readonly #busy = new Set<Activation>();
  readonly #counters: Counters = { commits: 0, commandsHandled: 0, refusedCommits: 0, crashes: 0 };
  readonly #incarnations = new WeakMap<Activation, number>();
  #activations = 0;
  #deadlinesArmed = false;
  #sweepArmed = false;
  #draining = false;
  #emptied: (() => void) | null = null;

  constructor(options: ActorSystemOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    for (const each of options.definitions) this.#drivers.set(each.kind, new MachineDriver(each));
    this.#table = new ActivationTable(this.#limits);
    this.#supervisor = new Supervisor(this.#limits);
    this.#queue = new RunQueue(options.timers, this.#limits.commandsPerFlushMax);
    this.#pool = new WorkPool(this.#limits.activitiesMax);
    this.#host = this.#makeHost();
    const wake = (ref: ActorRef): boolean => this.#wake(ref);
    this.#waker = new Waker({ ...options, limits: this.#limits, wake, log: this.#host.log });
  }

  ask<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
    options?: AskOptions,
  ): Promise<ReplyOf<Protocols[K], T>> {
    return this.#ask(to, command, options) as Promise<ReplyOf<Protocols[K], T>>;
  }

  askSpeculative<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
  ): AskedAhead<ReplyOf<Protocols[K], T>> {
    return this.#askSpeculative(to, command) as AskedAhead<ReplyOf<Protocols[K], T>>;
  }

  // Messages carry no types at run time. The replies of a kind were checked where the kind was defined.
  #ask(to: ActorRef, command: Message, { timeoutMs, isNew = false }: AskOptions = {}): Promise<unknown> {
    const target = this.#options.route?.(to) ?? "local";
    const [waitMs, traceparent] = [timeoutMs ?? this.#limits.askTimeoutMs, this.#trace()];
    return target === "local"
      ? this.#askHere(to, command, waitMs, { traceparent, isNew })
      : target.ask(to, command, waitMs, traceparent);
  }

  #askSpeculative(to: ActorRef, command: Message): AskedAhead<unknown> {
    const ahead = Promise.withResolvers<SpeculativeReply<unknown>>();
    // A failure is reported through the reply; a caller that awaits both should see it once.
    ahead.promise.catch(() => {});
    const isHere = (this.#options.route?.(to) ?? "local") === "local";
    const reply = isHere
      ? this.#askHere(to, command, this.#limits.askTimeoutMs, {
          ahead: (early, commit) => ahead.resolve({ reply: early, commit }),
          traceparent: this.#trace(),
        })
      : this.#ask(to, command);
    reply.then((known) => ahead.resolve({ reply: known, commit: null }), ahead.reject);
    return { decided: ahead.promise, reply };
  }

  askHere(
    to: ActorRef,
    command: Message,
    timeoutMs: number,
    traceparent: string | null = null,
  ): Promise<unknown> {
    return this.#askHere(to, command, timeoutMs, { traceparent });
  }

  #askHere(to: ActorRef, command: Message, timeoutMs: number, more: AskedBy): Promise<unknown> {
    const absent = more.isNew ? null : this.#absentAnswer(to, command);
    if (absent === null) return this.#askActor(to, command, timeoutMs, more);
    return this.#options.store
      .readHead(to)
      .then((head) => (head === null ? absent.reply : this.#askActor(to, command, timeoutMs, more)));
  }

  #trace(): string | null {
    return this.#options.tracer?.current() ?? null;
  }

  /** The answer to a question if the store has no such actor; null if the actor itself must be asked. */
  #absentAnswer(to: ActorRef, command: Message): { readonly reply: unknown } | null {
    if (this.#draining || this.#table.get(to) !== undefined) return null;
    const definition = this.#drivers.get(to.kind)?.definition;
    return definition?.durability === "journal" ? (definition.absent?.(command) ?? null) : null;
  }

  #askActor(to: ActorRef, command: Message, timeoutMs: number, more: AskedBy): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const deadlineMs = this.#options.clock.now() + timeoutMs;
      const refusal = this.#post(to, envelopeOf("ask", command, { resolve, reject, deadlineMs, ...more }));
      if (refusal !== null) reject(refusal);
    });
  }

  tell<K extends KindOf<Protocols>, T extends CommandType<Protocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<Protocols[K], T>,
  ): boolean {
    return this.#tell(to, command, this.#trace());
  }

  #tell(to: ActorRef, command: Message, traceparent: string | null): boolean {
    const target = this.#options.route?.(to) ?? "local";
    if (target === "local") return this.#post(to, envelopeOf("tell", command, { traceparent })) === null;
    target.ask(to, command, this.#limits.askTimeoutMs, traceparent).catch(() => {});
    return true;
  }

  deliver(to: ActorRef, from: string, messages: readonly Delivery[]): Promise<number> {
    return new Promise((resolve) => this.#deliverHere(to, from, messages, resolve));
  }

  async inspect(ref: ActorRef): Promise<ActorReport | null> {
    const activation = this.#table.get(ref);
    if (activation !== undefined) return reportActive(activation, this.#limits, this.#options.owner);
    const driver = this.#drivers.get(ref.kind);
    if (driver === undefined) return null;
    const { store, clock } = this.#options;
    const crash = this.#supervisor.caseOf(keyOf(ref));
    return reportStored(ref, { store, driver, limits: this.#limits, crash, nowMs: clock.now() });
  }

  glances(): Iterable<ActorGlance> {
    return glancesAt(this.#table.values(), this.#supervisor.resting(this.#options.clock.now()));
  }

  stats(): ActorSystemStats {
    const { quarantined } = this.#supervisor;
    const activitiesWaiting = this.#pool.waiting;
    return { ...totalsOf(this.#table.values()), ...this.#counters, quarantined, activitiesWaiting };
  }

  loads(): ActorLoads {
    const { quarantined } = this.#supervisor;
    const nowMs = this.#options.clock.now();
    return countActivations(this.#table.values(), { kinds: this.#drivers.keys(), quarantined, nowMs });
  }

  start(): Promise<void> {
    return this.#waker.start();
  }

  adopt(): Promise<void> {
    for (const activation of this.#table.values()) activation.outbox?.retryNow();
    return this.#waker.adopt();
  }

  async handOver(): Promise<void> {
    const leaving = [...this.#table.values()].filter((activation) => !this.#isHere(activation.ref));
    for (const activation of leaving) activation.leave();
    await Promise.all(leaving.map((activation) => activation.whenEnded()));
  }

  halt(): void {
    this.#draining = true;
    void this.#waker.stop();
    for (const activation of this.#table.values()) activation.end("draining", "unknown");
  }

  release(ref: ActorRef): boolean {
    return this.#supervisor.release(keyOf(ref));
  }

  retryNow(ref: ActorRef): boolean {
    const known = this.#table.get(ref);
    known?.outbox?.retryNow();
    if (known !== undefined) return true;
    if (!this.#supervisor.hurry(keyOf(ref), this.#options.clock.now())) return false;
    return !(this.#activate(ref, false) instanceof Error);
  }

  passivate(ref: ActorRef): boolean {
    this.#table.get(ref)?.leave();
    return this.#table.get(ref) !== undefined;
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    const stopped = this.#waker.stop();
    const emptied = Promise.withResolvers<void>();
    this.#emptied = emptied.resolve;
    for (const activation of this.#table.values()) activation.leave();
    if (this.#table.size === 0) emptied.resolve();
    const late = Promise.withResolvers<void>();
    const cancel = this.#options.timers.schedule(timeoutMs, () => {
      for (const activation of this.#table.values()) activation.end("draining", "unknown");
      late.resolve();
    });
    await emptied.promise;
    await Promise.race([stopped, late.promise]);
    cancel();
  }

  /** Puts an envelope into its actor's mailbox and activates the actor; returns the reason if it was refused. */
  #post(to: ActorRef, envelope: Envelope): Error | null {
    if (isReservedName(envelope.message.type)) {
      return new TypeError(`message name ${String(envelope.message.type)} is reserved`);
    }
    if (this.#draining) return unavailableSoon("draining");
    const activation = this.#table.get(to) ?? this.#activate(to, true, envelope.isNew);
    if (activation instanceof Error) return activation;
    if (activation.load >= this.#limits.mailboxMax) return unavailableSoon("overloaded");
    // Messages from other actors are accepted nevertheless: refusing them could deadlock a cycle of full actors.
    if (envelope.kind !== "delivery" && (activation.outbox?.pending.size ?? 0) >= this.#limits.outboxMax) {
      return unavailableSoon("overloaded");
    }
    activation.enqueue(traceEnvelope(this.#options.tracer, to, envelope));
    return null;
  }

  /** `isAsked` says that a caller waits for the actor; otherwise it is woken for work of its own. */
  #activate(ref: ActorRef, isAsked: boolean, isNew = false): Activation | Error {
    const driver = this.#drivers.get(ref.kind);
    if (driver === undefined) return new TypeError(`there is no actor kind ${ref.kind}`);
    const key = keyOf(ref);
    const nowMs = this.#options.clock.now();
    const refusal = this.#supervisor.refusal(key, nowMs);
    if (refusal !== null) return refusal;
    if (!this.#table.makeRoom(nowMs, isAsked)) return unavailableSoon("overloaded");
    const isJournaled = driver.definition.durability === "journal";
    const own = { kind: ref.kind, id: ref.id };
    const activation = isJournaled
      ? new JournaledActivation(own, key, driver, this.#host, isNew)
      : new MemoryActivation(own, key, driver, this.#host);
    this.#activations += 1;
    this.#incarnations.set(activation, this.#activations);
    this.#table.add(activation);
    if (!this.#sweepArmed) this.#armSweep();
    activation.open();
    if (activation.isEnded) return unavailableSoon("restarting");
    return activation;
  }

  #deliverHere(to: ActorRef, from: string, messages: readonly Delivery[], done: DeliveryDone): void {
    postDeliveries(from, messages, (envelope) => this.#post(to, envelope), done);
  }

  #send(to: ActorRef, from: string, messages: readonly Delivery[], done: DeliveryDone): void {
    const target: "local" | RemoteTarget = this.#options.route?.(to) ?? "local";
    if (target === "local") {
      this.#deliverHere(to, from, messages, done);
      return;
    }
    const last = messages[messages.length - 1]?.seq ?? 0;
    target.deliver(to, from, messages).then(
      (acknowledged) =>
        done(acknowledged, acknowledged >= last ? null : new Error("the receiver took only a part")),
      (error: unknown) => done(0, error),
    );
  }

  #perform(activation: Activation, name: string, params: unknown, seq: number): Promise<Message | null> {
    const ask = (to: ActorRef, command: Message, options?: AskOptions): Promise<unknown> =>
      this.#ask(to, command, options);
    const incarnation = this.#incarnations.get(activation) ?? 0;
    const work = { activation, incarnation, name, params, seq };
    return performActivity(this.#options, this.#pool, work, ask as Ask);
  }

  /** Called by the waker for an actor that the store found due. */
  #wake(ref: ActorRef): boolean {
    if (this.#draining || !this.#isHere(ref) || !this.#drivers.has(ref.kind)) return false;
    const known = this.#table.get(ref);
    if (known instanceof JournaledActivation) known.nudge();
    return known !== undefined || !(this.#activate(ref, false) instanceof Error);
  }

  #join(to: ActorRef, messages: readonly Joining[]): JoinedTurn | null {
    if (!this.#isHere(to)) return null;
    const activation = this.#table.get(to);
    if (activation === undefined) return null;
    const envelopes = messages.map(({ message, traceparent }) =>
      traceEnvelope(this.#options.tracer, to, envelopeOf("joined", message, { traceparent })),
    );
    const turn = activation.join(envelopes);
    if (turn === null) for (const { resolve } of envelopes) resolve?.(undefined);
    return turn;
  }

  #isHere(ref: ActorRef): boolean {
    return !this.#draining && (this.#options.route?.(ref) ?? "local") === "local";
  }

  #makeHost(): ActorHost {
    const { store, clock, timers, entropy, owner, log } = this.#options;
    return {
      store,
      clock,
      timers,
      entropy,
      owner,
      limits: this.#limits,
      supervisor: this.#supervisor,
      counters: this.#counters,
      schedule: (activation) => this.#queue.add(activation),
      noteBusy: (activation) => {
        this.#busy.add(activation);
        if (!this.#deadlinesArmed) this.#armDeadlines();
      },
      noteIdle: (activation) => void this.#busy.delete(activation),
      isHere: (ref) => this.#isHere(ref),
      mayJoin: (effect) =>
        effect.kind === "tell" &&
        this.#drivers.get(effect.to.kind)?.definition.joinable?.includes(effect.message.type) === true,
      join: (to, messages) => this.#join(to, messages),
      send: (to, from, messages, done) => this.#send(to, from, messages, done),
      tell: (to, message, traceparent) => void this.#tell(to, message, traceparent),
      perform: (activation, name, params, seq) => this.#perform(activation, name, params, seq),
      ended: (activation) => {
        this.#table.delete(activation);
        if (this.#table.size === 0) this.#emptied?.();
      },
      reviveLater: (ref, delayMs) => {
        timers.schedule(delayMs, () => {
          if (this.#isHere(ref) && this.#table.get(ref) === undefined) this.#activate(ref, false);
        });
      },
      resubmit: (ref, envelopes) => {
        for (const envelope of envelopes) {
          const refusal = this.#post(ref, envelope);
          if (refusal !== null) envelope.reject?.(refusal);
        }
      },
      log: (level, event, actor, detail) => log?.({ level, event, actor, detail }),
    };
  }

  #armDeadlines(): void {
    this.#deadlinesArmed = true;
    this.#options.timers.schedule(this.#limits.deadlineSweepMs, () => {
      const nowMs = this.#options.clock.now();
      for (const activation of [...this.#busy]) activation.expire(nowMs);
      this.#deadlinesArmed = false;
      if (this.#busy.size > 0) this.#armDeadlines();
    });
  }

  #armSweep(): void {
    this.#sweepArmed = true;
    this.#options.timers.schedule(this.#limits.idleSweepMs, () => {
      this.#table.sweep(this.#options.clock.now());
      this.#sweepArmed = false;
      if (this.#table.size > 0) this.#armSweep();
    });
  }
}

// The part of traces that actors have: a span for each command that reaches an actor within a trace, and for each piece of work
// outside it. Effects carry the trace of the command that caused them, in their outbox row as well.
//   X1. A command that waits for other commands keeps its own trace; timers have none.
//   X2. A kind whose work is for many callers together ends the traces of its commands (`endsTraces`).
//   X3. Work that fails again and again is recorded at first only: a trace stays small however long something is away.

/** Number of failed attempts of one piece of work that are recorded. */
const failuresMax = 8;
/** The kinds whose ids are public: those of the others may be derived from what a caller keeps to itself. */
const namedKinds = ["business", "push", "region", "log-sequencer", "bulk-upload"];

function attributesOf({ kind, id }: ActorRef): Record<string, string> {
  return { "svc.actor.kind": kind, ...(namedKinds.includes(kind) ? { "svc.actor.id": id } : {}) };
}

/** The envelope as it is put into the mailbox: its span ends with its answer. */
function traceEnvelope(tracer: Tracer | undefined, to: ActorRef, envelope: Envelope): Envelope {
  const { traceparent, resolve, reject, kind, message } = envelope;
  if (
    tracer === undefined ||
    traceparent === null ||
    (kind !== "ask" && kind !== "delivery" && kind !== "joined")
  )
    return envelope;
  const span = tracer.start(`${to.kind} ${message.type}`, traceparent, {
    kind: kind === "ask" ? "internal" : "consumer",
    attributes: { ...attributesOf(to), "svc.command": message.type },
  });
  let isOver = false;
  const end = (failure?: string): void => {
    // A caller that was refused may be refused again when its actor ends.
    if (!isOver) span.end({ failure });
    isOver = true;
  };
  return {
    ...envelope,
    traceparent: span.traceparent,
    resolve: (reply) => {
      end();
      resolve?.(reply);
    },
    reject: (error) => {
      end(failureName(error));
      reject?.(error);
    },
  };
}

export interface TracedWork {
  readonly actor: ActorRef;
  readonly name: string;
  /** The trace of the effect; null if it has none. */
  readonly traceparent: string | null;
  /** Attempts that failed before. */
  readonly attempts: number;
}

/** Does an activity in a span of its effect's trace. */
function traceActivity(
  tracer: Tracer | undefined,
  work: TracedWork,
  run: () => Promise<Message | null>,
): Promise<Message | null> {
  const { traceparent } = work;
  return tracer === undefined || traceparent === null ? run() : traced(tracer, { ...work, traceparent }, run);
}

async function traced(
  tracer: Tracer,
  { actor, name, traceparent, attempts }: TracedWork & { readonly traceparent: string },
  run: () => Promise<Message | null>,
): Promise<Message | null> {
  const attributes = { ...attributesOf(actor), "svc.activity": name, "svc.attempt": attempts + 1 };
  const span = tracer.start(`${actor.kind} ${name}`, traceparent, { attributes });
  try {
    const answer = await tracer.within(span.traceparent, run);
    span.end();
    return answer;
  } catch (error) {
    if (attempts < failuresMax) span.end({ failure: failureName(error) });
    throw error;
  }
}

// Bounds how many activities of one name run at once. Each name has its own pool, because an activity may wait for an
// actor that needs another activity: a single pool could fill up with waiting ones.

class WorkPool {
  readonly #runningMax: number;
  readonly #pools = new Map<string, Semaphore>();

  constructor(runningMax: number) {
    this.#runningMax = runningMax;
  }

  /** Number of activities that wait for their turn. */
  get waiting(): number {
    let waiting = 0;
    for (const pool of this.#pools.values()) waiting += pool.waiting;
    return waiting;
  }

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const pool = this.#pools.get(name) ?? new Semaphore(this.#runningMax);
    this.#pools.set(name, pool);
    return pool.run(work);
  }
}

// One attempt at an activity: in the pool of its name, with the context that identifies the work.

export interface AttemptedWork {
  readonly activation: Activation;
  /** Numbers the activations of the system. */
  readonly incarnation: number;
  readonly name: string;
  readonly params: unknown;
  /** Sequence of the effect in the actor's outbox. */
  readonly seq: number;
}

async function performActivity(
  { activities, clock, owner, tracer }: Pick<ActorSystemOptions, "activities" | "clock" | "owner" | "tracer">,
  pool: WorkPool,
  { activation, incarnation, name, params, seq }: AttemptedWork,
  ask: Ask,
): Promise<Message | null> {
  const activity = activities[name];
  if (activity === undefined) throw new Error(`there is no activity ${name}`);
  // The sequences of an actor without a journal restart with every activation.
  const isJournaled = activation.driver.definition.durability === "journal";
  const prefix = isJournaled ? "" : `${owner}.${incarnation}.`;
  const context = {
    actor: activation.ref,
    workId: `${activation.key}#${prefix}${seq}`,
    nowMs: () => clock.now(),
    ask,
    signal: activation.signal,
  };
  const { traceparent = null, attempts = 0 } = activation.outbox?.pending.get(seq) ?? {};
  const work = { actor: activation.ref, name, traceparent, attempts };
  return pool.run(name, () => traceActivity(tracer, work, () => activity(params, context)));
}
