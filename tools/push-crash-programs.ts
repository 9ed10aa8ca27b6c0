// The two programs of the crash check, as processes that can be watched and killed: a node, and `svc push`.

import { join } from "node:path";
import { root, startProcess } from "./process.ts";

export interface Place {
  readonly home: string;
  readonly portBase: number;
  /** Settings besides those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Run {
  hasEnded(): boolean;
  /** Kills it (kill -9), and waits until it is gone. */
  kill(): Promise<void>;
  output(): string;
}

export interface NodeRun extends Run {
  /** Asks it to end, and waits until it did. */
  stop(): Promise<void>;
}

export interface ProgramRun extends Run {
  /** Exit code; null after a kill. */
  readonly ended: Promise<number | null>;
  eventCount(): number;
  /** Whether an event after the first `count` says that records of a batch were still to be settled. */
  wasUnsettledAfter(count: number): boolean;
  lastEvent(): string;
  /** Resolves once `count` events were reported, or the program ended. */
  events(count: number): Promise<void>;
  /** Resolves once an event of a type was reported after the first `count`, or the program ended. */
  event(type: string, count: number): Promise<void>;
}

const program = join(root, "cli", "main.ts");
const outputMax = 20_000;

/** Resolves once the node reports that it runs, which is after its samples are in, if it has any. Rejects when it ends before. */
export async function startNode({ home, portBase, env = {} }: Place): Promise<NodeRun> {
  const args = ["start", "--home", home, "--port-base", String(portBase)];
  const run = watch([program, ...args], env);
  await run.until(() => /A (?:sandbox )?node is running/.test(run.output()) || run.hasEnded());
  if (run.hasEnded()) throw new Error(`The node did not start: ${run.output()}`);
  return {
    ...run,
    stop: async () => {
      run.signal("SIGTERM");
      await run.ended;
    },
  };
}

export function startPush(
  options: Place & { readonly file: string; readonly batchSize: number | null },
): ProgramRun {
  const args = [
    "push",
    options.file,
    "--home",
    options.home,
    ...(options.batchSize === null ? [] : ["--batch-size", String(options.batchSize)]),
    "--json",
  ];
  const run = watch([program, ...args]);
  // What it plans to send is told before anything is, and is no event of the push.
  const told = (): readonly string[] =>
    run.lines().filter((line) => /^{"type":"(?!push\.planned)/.test(line));
  return {
    ...run,
    eventCount: () => told().length,
    wasUnsettledAfter: (count) =>
      told()
        .slice(count)
        .map((line) => JSON.parse(line) as { type: string; settled?: number; records?: number })
        .some(({ type, settled = 0, records = 0 }) => type === "batch.progress" && settled < records),
    lastEvent: () => /"type":"([^"]+)"/.exec(told().at(-1) ?? "")?.[1] ?? "nothing",
    events: (count) => run.until(() => told().length >= count || run.hasEnded()),
    event: (type, count) => {
      const isTold = (): boolean =>
        told()
          .slice(count)
          .some((line) => line.startsWith(`{"type":"${type}"`));
      return run.until(() => isTold() || run.hasEnded());
    },
  };
}

const quietEnv = { ...process.env, SVC_LOG_LEVEL: "error", NO_COLOR: "1" };

function watch(args: readonly string[], env: Place["env"] = {}) {
  const started = startProcess(process.execPath, args, {
    ...{ env: { ...quietEnv, ...env }, stdio: ["ignore", "pipe", "pipe"] },
  });
  const { child, signal } = started;
  let output = "";
  const waiting = new Set<() => void>();
  const look = (): void => {
    for (const wake of waiting) wake();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      look();
    });
  }
  let hasEnded = false;
  const ended = started.closed.then(({ code }) => {
    hasEnded = true;
    look();
    return code;
  });
  return {
    signal,
    ended,
    hasEnded: () => hasEnded,
    output: () => output.slice(-outputMax),
    /** The complete lines so far. */
    lines: () => output.split("\n").slice(0, -1),
    until: (holds: () => boolean): Promise<void> =>
      new Promise((done) => {
        const wake = (): void => {
          if (!holds()) return;
          waiting.delete(wake);
          done();
        };
        waiting.add(wake);
        wake();
      }),
    kill: async (): Promise<void> => {
      signal("SIGKILL");
      await ended;
    },
  };
}
