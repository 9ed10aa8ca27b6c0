// The audit log: what operators did or were refused, and which keys the node signs with. It is JSON lines, separate from
// everything else that a node logs.
//   L1. Before `record` returns, the line is on the disk under the name of its file, or has been taken by the reader of
//       standard output; otherwise it throws.
//   L2. Each line opens the file by its name, so a file that log rotation moves or removes is recreated.
//   L3. A line that was cut off, because the process died or the disk was full, is terminated before the next one.

import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pino } from "pino";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { AuditLog } from "../../ops/acts.ts";
import type { AuditEntry, AuditQuery, OwnAudit } from "../../ops/inspection.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { isObject } from "../../std/json-pointer.ts";
import { ConfigError } from "../configuration/config-error.ts";

/** The log entries about keys or homes that an operator will want to find later. */
const auditedEvents = /^(?:keys\..+|cluster\.(?:moved|move_given_up|evicted))$/;

/** `file` is `audit.log` in the home folder; on standard output each line has `"audit": true`. */
export function openAuditLog({
  auditTo,
  home,
  region,
}: {
  readonly auditTo: "file" | "stdout";
  readonly home: string;
  readonly region: string;
}): AuditLog {
  const path = join(home, "audit.log");
  const write = auditTo === "file" ? (line: string) => appendLine(path, line) : outputLines();
  const lines = pino({ base: { audit: true, region }, timestamp: pino.stdTimeFunctions.isoTime }, { write });
  return { record: (event, detail) => lines.info(detail, event) };
}

/** Records which key set the node starts with. Throws {@link ConfigError}: a node that cannot record is not started. */
export function recordKeySet(audit: AuditLog, keySet: string): void {
  try {
    audit.record("keys.in_force", { key_set: hashOf(utf8(keySet)) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(
      "SVC_AUDIT_TO",
      `names an audit log that cannot be written (${why}); make room for it`,
    );
  }
}

/** Whether an entry of the node's log also belongs in the audit log. */
export function isAudited({ event }: Pick<LogEntry, "event">): boolean {
  return auditedEvents.test(event);
}

const standardOutput = 1;

/** Written by hand: when its reader is gone, the logger's own destination silently drops what it is given. */
function outputLines(): (line: string) => void {
  let isCut = false;
  return (line) => {
    const before = isCut ? "\n" : "";
    isCut = true;
    writeWhole(standardOutput, before + line);
    isCut = false;
  };
}

// Reads the audit log of this node, newest first. It was written a line at a time; what log rotation moved away is not read.
//   AR1. A page holds every entry of the last moment on it: the next page begins before that moment, and leaves nothing out.
//   AR2. A line that was cut off, and anything else that is no entry, is left out.

const chunkBytes = 64 * 1024;
/** Far more than operators do in a year; what is before it is read from the file itself. */
const scannedBytesMax = 256 * 1024 * 1024;

/** Null where the audit log goes to standard output: nobody here can read it. */
export function createAuditReads({
  auditTo,
  home,
}: {
  readonly auditTo: "file" | "stdout";
  readonly home: string;
}): (query: AuditQuery) => Promise<OwnAudit> {
  const path = join(home, "audit.log");
  return async (query) => {
    if (auditTo === "stdout") return { readable: false, entries: [] };
    const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (file === null) return { readable: true, entries: [] };
    try {
      return { readable: true, entries: await newest(file, query) };
    } finally {
      await file.close();
    }
  };
}

async function newest(file: FileHandle, { before, limit }: AuditQuery): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  for await (const line of linesFromEnd(file)) {
    const entry = entryIn(line);
    if (entry === null || (before !== null && entry.at >= before)) continue;
    if (found.length >= limit && entry.at !== found.at(-1)?.at) break;
    found.push(entry);
  }
  return found;
}

/** The lines of the file, the last one first. */
async function* linesFromEnd(file: FileHandle): AsyncGenerator<string> {
  const { size } = await file.stat();
  let rest = Buffer.alloc(0);
  for (let end = size; end > Math.max(0, size - scannedBytesMax); ) {
    const start = Math.max(0, end - chunkBytes);
    const chunk = Buffer.alloc(end - start);
    await file.read(chunk, 0, chunk.length, start);
    const text = Buffer.concat([chunk, rest]);
    end = start;
    const first = start === 0 ? 0 : text.indexOf(0x0a) + 1;
    if (start > 0 && first === 0) {
      rest = text;
      continue;
    }
    rest = text.subarray(0, first);
    const lines = text.subarray(first).toString("utf8").split("\n");
    for (const line of lines.reverse()) if (line !== "") yield line;
  }
}

function entryIn(line: string): AuditEntry | null {
  try {
    const parsed: unknown = JSON.parse(line);
    if (!isObject(parsed)) return null;
    const { time, msg, region, level: _level, audit: _audit, ...rest } = parsed;
    return typeof time === "string" && typeof msg === "string" && typeof region === "string"
      ? { at: time, event: msg, region, detail: rest as JsonObject }
      : null;
  } catch {
    return null;
  }
}

// Lines that must be durable: written whole, to a file or a stream, before the writer continues.

const newline = 0x0a;

/**
 * Appends a line, with its newline, to the file at that path, which is created if missing. If the file ends without a
 * newline, because a process died or the disk was full, that fragment is terminated first. Throws if the line is not on the
 * disk.
 */
export function appendLine(path: string, line: string): void {
  const file = openSync(path, "a+", 0o600);
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1, newline);
    if (size > 0) readSync(file, last, 0, 1, size - 1);
    writeWhole(file, last[0] === newline ? line : `\n${line}`);
    fsyncSync(file);
    if (size === 0) flushName(path);
  } finally {
    closeSync(file);
  }
}

function flushName(path: string): void {
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** How long a slow reader is waited for: far less than a lease. */
const fullMsMax = 250;
const fullPauseMs = 5;

/** Throws if not all of it could be written. */
function writeWhole(file: number, text: string): void {
  const bytes = utf8(text);
  const untilMs = performance.now() + fullMsMax;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(file, bytes, at);
    } catch (error) {
      const isFull = error instanceof Error && "code" in error && error.code === "EAGAIN";
      if (!isFull || performance.now() >= untilMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPauseMs);
    }
  }
}
