// Every bound of the actor system, by name (A7). A system may be given other values, as tests and the simulator do.

/**
 * Maximum number of outbox sequences in one commit (J4 in journal.ts). It is part of the stored format, so it is the same
 * for all systems.
 */
export const effectsPerCommitMax = 4_096;

export interface ActorLimits {
  /** Maximum number of commands decided in one turn, which share one commit. */
  readonly batchCommandsMax: number;
  /** Number of effects in one turn after which it takes no further command. */
  readonly batchEffectsMax: number;
  /** Maximum number of callers and messages that wait for one actor; one more is refused as overloaded. */
  readonly mailboxMax: number;
  /** Number of unsettled effects of one actor above which callers are refused as overloaded. */
  readonly outboxMax: number;
  /** Maximum number of timers of one actor; more are a bug of its machine. */
  readonly timersMax: number;
  readonly activationsMax: number;
  /** An actor that has been idle for this long is passivated. */
  readonly idleMs: number;
  /** Interval between two sweeps for idle actors. */
  readonly idleSweepMs: number;
  /** A timer that is due sooner than this keeps its actor in memory. */
  readonly timerHorizonMs: number;
  /** Number of events after which a snapshot is taken and the events that it contains are pruned. */
  readonly snapshotEveryEvents: number;
  /** Maximum size of a machine's context, and so of a snapshot, in bytes of UTF-8. */
  readonly contextBytesMax: number;
  /** Time-out of a caller that sets none of its own. */
  readonly askTimeoutMs: number;
  /** Interval between two checks for time-outs: a time-out is at most this much late. */
  readonly deadlineSweepMs: number;
  /** How often an identical commit is sent again before the actor is claimed again to find out what happened (A5). */
  readonly commitResendsMax: number;
  readonly claimAttemptsMax: number;
  /** Back-off before a store call is first retried; doubled with every retry. */
  readonly storeRetryMs: number;
  /** Number of crashes within `crashWindowMs` at which an actor is quarantined (A6). */
  readonly crashesMax: number;
  readonly crashWindowMs: number;
  /** Initial and maximum back-off before a restart. */
  readonly restartMs: number;
  readonly restartMaxMs: number;
  /** Maximum number of messages under way to one target at a time. */
  readonly deliveryWindow: number;
  /** Initial and maximum back-off before an unacknowledged effect is retried. */
  readonly effectRetryMs: number;
  readonly effectRetryMaxMs: number;
  /** Maximum number of concurrent activities, of one actor and of all actors. */
  readonly actorActivitiesMax: number;
  readonly activitiesMax: number;
  /** An acknowledged effect is removed from the journal with the next commit, or after this time by a commit of its own. */
  readonly ackFlushMs: number;
  /** An actor with unsettled effects is woken this long after its last commit, in case its node is gone by then. */
  readonly outboxWakeMs: number;
  /** How long a receiver remembers the highest sequence received from a sender. */
  readonly inboxKeptMs: number;
  /** How often the store is polled for actors that are due, and for how many. */
  readonly pollMs: number;
  readonly pollActorsMax: number;
  /** Number of newest events kept in memory for operators. */
  readonly lastEventsMax: number;
  /** Number of commands handled before timers and input get their turn. */
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
