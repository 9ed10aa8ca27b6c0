// Lines that must be durable: written whole, to a file or a stream, before the writer continues.

import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { utf8 } from "../protocol/bytes.ts";

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
export function writeWhole(file: number, text: string): void {
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
