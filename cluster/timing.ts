// The times of the cluster, and what must hold between them. All in milliseconds of a node's own monotonic clock.
//
// How long a failover takes at the defaults: a node is killed at 0; its last beat was seen by 500 (the next poll); the
// read that begins 2,500 later finds the same count, and the view without the node is written some 20 later. Whoever
// wrote it places anew at once, the others when they are told or at their next poll: by 3,600 at the latest, and the
// first caller after that claims the actor and is answered. A broken connection to the node makes its peers look more
// often, and never wait less: it proves nothing about a lease.

export interface ClusterTiming {
  readonly beatMs: number;
  readonly viewMs: number;
  /** Between two looks while something is awaited. */
  readonly hurryMs: number;
  /** How long ago the last beat and the last look at the view may have begun. */
  readonly leaseMs: number;
  /** A member whose beat does not change for so long is removed. */
  readonly evictMs: number;
  /** Between a node's wall clock and the store's. */
  readonly clockOffMaxMs: number;
  /** How long a change may keep those busy who follow it, before it counts as followed. */
  readonly followMs: number;
  /** How long who joins waits for the others to let go of what will be its own. */
  readonly joinPatienceMs: number;
  /** How long what a leaving node had waits for it to finish. */
  readonly leaveGraceMs: number;
  /** Before a node that lost its lease joins again: at first, and at most. */
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

/** What is wrong with `timing`, naming the times; empty when nothing is. */
export function timingFaults(timing: ClusterTiming): readonly string[] {
  const { beatMs, viewMs, leaseMs, evictMs, joinPatienceMs, leaveGraceMs } = timing;
  const faults: string[] = [];
  for (const [name, value] of Object.entries(timing)) {
    if (!(value > 0)) faults.push(`${name} must be more than 0, not ${value}`);
  }
  // Two clocks may run up to a fifth apart before one node acts while another has taken over.
  if (evictMs < leaseMs * 1.25) faults.push("evictMs must be at least 1.25 times leaseMs");
  if (leaseMs < 3 * Math.max(beatMs, viewMs))
    faults.push("leaseMs must be at least 3 times beatMs and viewMs");
  if (joinPatienceMs < 2 * leaseMs) faults.push("joinPatienceMs must be at least 2 times leaseMs");
  if (leaveGraceMs < leaseMs) faults.push("leaveGraceMs must be at least leaseMs");
  return faults;
}
