// Short waits that may take a little longer. Cassandra's idle workers look for work after ten microseconds each time: where
// few cores serve several engines, most of what a core does is switching to them and back. With coarser timers (timer slack,
// Linux, prctl(2)) a push of many records takes a third less time.

/** Nanoseconds that a wait may take longer than asked; Linux's own is 50,000. */
const slackNs = 500_000;

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** The same command, as the same process, with coarse timers where the system has them. */
export function withCoarseTimers({ command, args }: Command): Command {
  const script = `{ echo ${slackNs} > /proc/self/timerslack_ns; } 2> /dev/null; exec "$0" "$@"`;
  return { command: "/bin/sh", args: ["-c", script, command, ...args] };
}
