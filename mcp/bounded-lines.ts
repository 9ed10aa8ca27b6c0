// The lines of stdin, judged before the protocol's transport sees them, so that no peer decides how much memory is used.
//   B1. A line longer than `lineBytesMax` is not kept: what is held of it is dropped, the rest is skipped, it is answered
//       with one error, and the lines behind it are served.
//   B2. What is not one JSON-RPC message (not JSON, not an object, an array of messages) is answered with one error.
//   B3. A second `initialize` is refused, whatever came between.
//   B4. While the peer does not read what it was answered, nothing further is read of it.

import { Transform, type TransformCallback } from "node:stream";
import { isObject } from "../std/is-object.ts";

export const lineBytesMax = 1_048_576;

export interface LineFault {
  /** Of JSON-RPC 2.0 §5.1. */
  readonly code: -32700 | -32600;
  readonly message: string;
  /** The id of the request, if it could be read. */
  readonly id: string | number | null;
}

const lineFeed = 10;
const byteOrderMark = "\ufeff";

/** Passes on the lines that are one message each; every other line becomes one fault. `hasRoom` is waited for first (B4). */
export function boundedLines(
  onFault: (fault: LineFault) => void,
  hasRoom: () => Promise<void> = async () => {},
): Transform {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isSkipping = false;
  let isInitialized = false;
  let isFirst = true;
  const keep = (part: Buffer): void => {
    if (isSkipping) return;
    heldBytes += part.length;
    if (heldBytes <= lineBytesMax) {
      held.push(part);
      return;
    }
    [held, heldBytes, isSkipping] = [[], 0, true];
    onFault({
      code: -32600,
      message: `A line is longer than ${lineBytesMax} bytes and was not read.`,
      id: null,
    });
  };
  const endLine = (push: (line: Buffer) => void): void => {
    const joined = Buffer.concat(held);
    // Some hosts write a byte order mark before everything else; RFC 8259 §8.1 allows to ignore it.
    const line = isFirst && joined.indexOf(byteOrderMark) === 0 ? joined.subarray(3) : joined;
    isFirst = false;
    const wasSkipped = isSkipping;
    [held, heldBytes, isSkipping] = [[], 0, false];
    if (wasSkipped || /^\s*$/.test(line.subarray(0, 64).toString("latin1"))) return;
    const message = parsed(line);
    const fault = faultOf(message, isInitialized);
    if (fault === null) {
      isInitialized ||= isObject(message) && message["method"] === "initialize";
      push(Buffer.concat([line, Buffer.from("\n")]));
    } else onFault(fault);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(lineFeed, start);
        if (end === -1) break;
        keep(chunk.subarray(start, end));
        endLine((line) => this.push(line));
        start = end + 1;
      }
      // A copy, because the rest of a chunk would keep all of it.
      if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)));
      hasRoom().then(() => done(), done);
    },
  });
}

function faultOf(message: unknown, isInitialized: boolean): LineFault | null {
  if (message === undefined) return { code: -32700, message: "The line is not JSON.", id: null };
  if (Array.isArray(message))
    return { code: -32600, message: "Batches are not served; send one message on each line.", id: null };
  if (!isObject(message) || message["jsonrpc"] !== "2.0")
    return { code: -32600, message: "The line is not a message of JSON-RPC 2.0.", id: null };
  const id = typeof message["id"] === "string" || typeof message["id"] === "number" ? message["id"] : null;
  if (!isWellFormed(message))
    return { code: -32600, message: "The message is neither a request, a notification nor a response.", id };
  if (isInitialized && message["method"] === "initialize")
    return {
      code: -32600,
      message: "This connection is initialized; open another one for another session.",
      id,
    };
  return null;
}

/** JSON-RPC 2.0 §4 and §5, with ids as the protocol restricts them. */
function isWellFormed(message: Readonly<Record<string, unknown>>): boolean {
  const { id, method, params } = message;
  const isId = typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
  if ("method" in message)
    return (
      typeof method === "string" && (!("id" in message) || isId) && (params === undefined || isObject(params))
    );
  return isId && ("result" in message ? isObject(message["result"]) : isObject(message["error"]));
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}
