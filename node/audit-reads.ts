// Reads the audit log of this node, newest first. It was written a line at a time (audit-log.ts); what log rotation moved away is not read.
//   AR1. A page holds every entry of the last moment on it: the next page begins before that moment, and leaves nothing out.
//   AR2. A line that was cut off, and anything else that is no entry, is left out.

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEntry, AuditQuery, OwnAudit } from "../ops/audit.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { isObject } from "../std/is-object.ts";

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
