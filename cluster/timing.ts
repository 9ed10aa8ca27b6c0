// The intervals and time-outs of the cluster, and the relations between them, in milliseconds of a node's own monotonic clock.
//
// How long a failover takes with the defaults: a node is killed at 0; its last heartbeat was seen by 500 (the next poll); the
// read that begins 2,500 later finds the same count, and the view without the node is written about 20 later. The node that
// wrote it places actors by it at once, the others when they are notified or at their next poll: by 3,600 at the latest, and the
// first caller after that claims the actor and is answered. A broken connection to the node makes its peers poll more
// often, but never wait less: it proves nothing about a lease.

export interface ClusterTiming {
  readonly beatMs: number;
  readonly viewMs: number;
  /** Interval between two polls while something is awaited. */
  readonly hurryMs: number;
  /** How long ago the last heartbeat and the last read of the view may have begun. */
  readonly leaseMs: number;
  /** A member whose heartbeat does not change for this long is removed. */
  readonly evictMs: number;
  /** Maximum difference between a node's wall clock and the store's. */
  readonly clockOffMaxMs: number;
  /** How long the nodes that follow a change may be busy with it before it counts as followed. */
  readonly followMs: number;
  /** How long a joining node waits for the others to release what will belong to it. */
  readonly joinPatienceMs: number;
  /** How long the actors of a leaving node wait for it to finish. */
  readonly leaveGraceMs: number;
  /** Initial and maximum back-off before a node that lost its lease joins again. */
  readonly rejoinMs: number;
  readonly rejoinMaxMs: number;
}

export const defaultTiming: ClusterTiming = {
  beatMs: 500,
  viewMs: 500,
  hurryMs: 50,
  leaseMs: 2_000,
  evictMs: 2_500,
  clockOffMaxMs: 2_000,
  followMs: 1_000,
  joinPatienceMs: 5_000,
  leaveGraceMs: 2_500,
  rejoinMs: 500,
  rejoinMaxMs: 5_000,
};

/** The faults of `timing`, naming the intervals concerned; empty if there are none. */
export function timingFaults(timing: ClusterTiming): readonly string[] {
  const { beatMs, viewMs, leaseMs, evictMs, joinPatienceMs, leaveGraceMs } = timing;
  const faults: string[] = [];
  for (const [name, value] of Object.entries(timing)) {
    if (!(value > 0)) faults.push(`${name} must be more than 0, not ${value}`);
  }
  // Two clocks may differ in rate by up to a fifth before one node acts while another has taken over.
  if (evictMs < leaseMs * 1.25) faults.push("evictMs must be at least 1.25 times leaseMs");
  if (leaseMs < 3 * Math.max(beatMs, viewMs))
    faults.push("leaseMs must be at least 3 times beatMs and viewMs");
  if (joinPatienceMs < 2 * leaseMs) faults.push("joinPatienceMs must be at least 2 times leaseMs");
  if (leaveGraceMs < leaseMs) faults.push("leaveGraceMs must be at least leaseMs");
  return faults;
}
