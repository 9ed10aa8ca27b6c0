// The log file of a node: lines go to `node.log`, which is put aside under its instant after a day or when it is large.
//   L1. No line is lost or split where one file follows another: what is being written ends in the file it began in.
//   L2. All files together take no more than the bound, but for what is written at once.
//   L3. A file that was put aside longer ago than lines are kept is removed, whether the node writes or not.

import { readdirSync, renameSync, statSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pino } from "pino";
import type { TimerPort } from "../actors/system/ports.ts";
import type { Clock } from "../crypto/port.ts";
import type { RetentionConfig } from "./retention-config.ts";

type Destination = ReturnType<typeof pino.destination>;

export interface LogFileOptions {
  readonly path: string;
  readonly retention: Pick<RetentionConfig, "logDays" | "logMebibytes">;
  readonly clock: Clock;
  readonly timers: TimerPort;
}

export interface LogFile {
  readonly destination: Destination;
  /** Writes what is left, and looks after the files no longer. */
  close(): void;
}

const dayMs = 86_400_000;
const lookEveryMs = 3_600_000;
/** Files that the bound is divided into: each removal takes so large a part of what is kept. */
const filesMax = 8;
const mebibyte = 1_048_576;

/** Opens the file, in blocks off the writer's path. */
export function openLogFile(options: LogFileOptions): LogFile {
  const { path, clock, timers } = options;
  const fileBytes = (options.retention.logMebibytes * mebibyte) / filesMax;
  const destination = pino.destination({ dest: path, sync: false, mode: 0o600 });
  let { bytes, sinceMs } = standing(path, clock.now());
  const putAside = (): void => {
    const stamp = new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, "");
    // The descriptor goes on with the file under its new name until the next one is open (L1).
    renameSync(path, `${path}.${stamp}`);
    destination.reopen();
    bytes = 0;
    sinceMs = clock.now();
    removeOld(options);
  };
  destination.on("write", (written: number) => {
    bytes += written;
    if (bytes >= fileBytes) orSay(putAside);
  });
  let stop = (): void => {};
  const look = (): void => {
    const isOld = bytes > 0 && clock.now() - sinceMs >= dayMs;
    orSay(isOld ? putAside : () => removeOld(options));
    stop = timers.schedule(lookEveryMs, look);
  };
  destination.once("ready", look);
  return {
    destination,
    close: () => {
      destination.off("ready", look);
      stop();
      destination.flushSync();
    },
  };
}

function standing(path: string, nowMs: number): { readonly bytes: number; readonly sinceMs: number } {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { bytes: 0, sinceMs: nowMs };
  return { bytes: found.size, sinceMs: Math.min(found.birthtimeMs || found.mtimeMs, found.mtimeMs) };
}

/** See L2 and L3. The newest of the files that were put aside come last. */
function removeOld({ path, retention, clock }: LogFileOptions): void {
  const folder = dirname(path);
  const aside = readdirSync(folder)
    .filter((name) => name.startsWith(`${basename(path)}.`) && /\.\d{8}T\d{9}Z$/.test(name))
    .sort();
  const keptFromMs = clock.now() - retention.logDays * dayMs;
  const late = aside.filter((name) => asideAtMs(name) < keptFromMs);
  const many = aside.slice(0, Math.max(0, aside.length - (filesMax - 1)));
  for (const name of new Set([...late, ...many])) unlinkSync(join(folder, name));
}

function asideAtMs(name: string): number {
  const [, date, hour, minute, second, ms] = /\.(\d{8})T(\d{2})(\d{2})(\d{2})(\d{3})Z$/.exec(name) ?? [];
  const day = `${date?.slice(0, 4)}-${date?.slice(4, 6)}-${date?.slice(6)}`;
  return Date.parse(`${day}T${hour}:${minute}:${second}.${ms}Z`);
}

/** A log that cannot be looked after is written to all the same. */
function orSay(act: () => void): void {
  try {
    act();
  } catch (error) {
    process.emitWarning(`The log file cannot be rotated or removed: ${String(error)}`);
  }
}
