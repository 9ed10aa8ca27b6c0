// The log file of a node: lines go to `node.log`, which is rotated to a timestamped name after a day or when it is large.
//   L1. No line is lost or split at a rotation: a write in progress finishes in the file in which it started.
//   L2. All files together stay within the size limit, apart from what is being written at the moment.
//   L3. A rotated file that is older than the retention of lines is removed, whether the node writes or not.

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
  /** Writes the remaining lines and stops the rotation and removal of files. */
  close(): void;
}

const dayMs = 86_400_000;
const lookEveryMs = 3_600_000;
/** The number of files that the size limit is divided into: each removal frees one such share. */
const filesMax = 8;
const mebibyte = 1_048_576;

/** Opens the file; writes go in blocks, off the caller's path. */
export function openLogFile(options: LogFileOptions): LogFile {
  const { path, clock, timers } = options;
  const fileBytes = (options.retention.logMebibytes * mebibyte) / filesMax;
  const destination = pino.destination({ dest: path, sync: false, mode: 0o600 });
  let { bytes, sinceMs } = standing(path, clock.now());
  const putAside = (): void => {
    const stamp = new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, "");
    // The descriptor stays on the renamed file until the next one is open (L1).
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

/** Removes rotated files (L2 and L3). The newest of them sort last. */
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

/** A log that cannot be rotated is still written to. */
function orSay(act: () => void): void {
  try {
    act();
  } catch (error) {
    process.emitWarning(`The log file cannot be rotated or removed: ${String(error)}`);
  }
}
