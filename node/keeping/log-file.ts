// The log file of a node: lines go to `node.log`, which is rotated to a timestamped name after a day or when it is large.
//   L1. No line is lost or split at a rotation: a write in progress finishes in the file in which it started.
//   L2. All files together stay within the size limit, apart from what is being written at the moment.
//   L3. A rotated file that is older than the retention of lines is removed, whether the node writes or not.
//   L4. A log that cannot be written, as on a full disk, never stops the node: lines wait in bounded memory and are written once
//       they can be; what does not fit there is dropped and counted.

import { readdirSync, renameSync, statSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pino } from "pino";
import type { TimerPort } from "../../actors/system/ports.ts";
import type { Clock } from "../../crypto/port.ts";
import type { RetentionConfig } from "../configuration/retention.ts";

type Destination = ReturnType<typeof pino.destination>;

export interface LogFileOptions {
  readonly path: string;
  readonly retention: Pick<RetentionConfig, "logDays" | "logMebibytes">;
  readonly clock: Clock;
  readonly timers: TimerPort;
}

/** Where the lines of a node go. */
export interface NodeLog {
  readonly destination: Destination;
  /** Writes the remaining lines and stops the rotation and removal of files. */
  close(): void;
}

/** Bytes of lines that wait while they cannot be written (L4). */
const waitingBytesMax = 16_777_216;

/** Writes go in blocks, off the caller's path, to a file or a descriptor. */
export function openLog(dest: string | number): NodeLog {
  const destination = pino.destination({ dest, sync: false, mode: 0o600, maxLength: waitingBytesMax });
  let isFailing = false;
  let dropped = 0;
  destination.on("error", (error: Error) => {
    if (!isFailing) process.emitWarning(`The log cannot be written: ${error.message}`);
    isFailing = true;
  });
  destination.on("drop", () => {
    dropped += 1;
  });
  destination.on("write", () => {
    if (isFailing) process.emitWarning(`The log is written again; ${dropped} lines were dropped.`);
    [isFailing, dropped] = [false, 0];
  });
  return {
    destination,
    // What cannot be written would be tried again for ever.
    close: () => (isFailing ? destination.destroy() : destination.flushSync()),
  };
}

const dayMs = 86_400_000;
const lookEveryMs = 3_600_000;
/** The number of files that the size limit is divided into: each removal frees one such share. */
const filesMax = 8;
const mebibyte = 1_048_576;

export function openLogFile(options: LogFileOptions): NodeLog {
  const { path, clock, timers } = options;
  const fileBytes = (options.retention.logMebibytes * mebibyte) / filesMax;
  const log = openLog(path);
  const { destination } = log;
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
      log.close();
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
