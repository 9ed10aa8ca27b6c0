// Every bound of the actor system, by name (A7). A system may be given others, tests and the simulator do.

/** Outbox sequences that one commit may use (J4 in journal.ts): part of the stored format, so it is the same for all. */
export const effectsPerCommitMax = 4_096;

export interface ActorLimits {
  /** Commands decided in one turn, and so sharing one commit. */
  readonly batchCommandsMax: number;
  /** Effects of one turn after which it takes no further command. */
  readonly batchEffectsMax: number;
  /** Callers and messages that wait for one actor; one more is refused as overloaded. */
  readonly mailboxMax: number;
  /** Unsettled effects of one actor above which callers are refused as overloaded. */
  readonly outboxMax: number;
  /** Timers of one actor; more are a bug of its machine. */
  readonly timersMax: number;
  /** Actors in memory. */
  readonly activationsMax: number;
  /** An actor that had nothing to do for this long leaves the memory. */
  readonly idleMs: number;
  /** How often idle actors are looked for. */
  readonly idleSweepMs: number;
  /** A timer due sooner keeps its actor in memory. */
  readonly timerHorizonMs: number;
  /** Events after which a snapshot is taken and the events it contains are pruned. */
  readonly snapshotEveryEvents: number;
  /** UTF-8 bytes of a machine's context, and so of a snapshot. */
  readonly contextBytesMax: number;
  /** A caller that gave no timeout of its own waits this long. */
  readonly askTimeoutMs: number;
  /** How often timeouts are looked for: a timeout is this much late at most. */
  readonly deadlineSweepMs: number;
  /** How often an identical commit is sent again before the actor is claimed anew to see what happened (A5). */
  readonly commitResendsMax: number;
  readonly claimAttemptsMax: number;
  /** First delay before a store call is repeated; doubled with every repetition. */
  readonly storeRetryMs: number;
  /** Crashes within `crashWindowMs` at which an actor is quarantined (A6). */
  readonly crashesMax: number;
  readonly crashWindowMs: number;
  /** Back-off before the first restart, and at most. */
  readonly restartMs: number;
  readonly restartMaxMs: number;
  /** Messages on their way to one target at a time. */
  readonly deliveryWindow: number;
  /** Back-off before an unacknowledged effect is repeated, and at most. */
  readonly effectRetryMs: number;
  readonly effectRetryMaxMs: number;
  /** Activities under way at once, of one actor and of all. */
  readonly actorActivitiesMax: number;
  readonly activitiesMax: number;
  /** An acknowledged effect is removed from the journal with the next commit, or by one of its own this much later. */
  readonly ackFlushMs: number;
  /** An actor with unsettled effects is woken this long after its last commit, should its node be gone by then. */
  readonly outboxWakeMs: number;
  /** How long a receiver remembers how far it has heard a sender. */
  readonly inboxKeptMs: number;
  /** How often the store is asked for actors that are due, and for how many. */
  readonly pollMs: number;
  readonly pollActorsMax: number;
  /** Newest events kept in memory for operators. */
  readonly lastEventsMax: number;
  /** Commands handled before timers and input are let in. */
  readonly commandsPerFlushMax: number;
}

export const defaultLimits: ActorLimits = {
  batchCommandsMax: 64,
  batchEffectsMax: 1_024,
  mailboxMax: 10_000,
  outboxMax: 10_000,
  timersMax: 1_000,
  activationsMax: 20_000,
  idleMs: 60_000,
  idleSweepMs: 5_000,
  timerHorizonMs: 60_000,
  snapshotEveryEvents: 128,
  contextBytesMax: 65_536,
  askTimeoutMs: 30_000,
  deadlineSweepMs: 100,
  commitResendsMax: 3,
  claimAttemptsMax: 5,
  storeRetryMs: 50,
  crashesMax: 5,
  crashWindowMs: 300_000,
  restartMs: 200,
  restartMaxMs: 30_000,
  deliveryWindow: 64,
  effectRetryMs: 100,
  effectRetryMaxMs: 30_000,
  actorActivitiesMax: 8,
  activitiesMax: 256,
  ackFlushMs: 200,
  outboxWakeMs: 30_000,
  inboxKeptMs: 7 * 86_400_000,
  pollMs: 1_000,
  pollActorsMax: 256,
  lastEventsMax: 32,
  commandsPerFlushMax: 4_096,
};
