// The messages of protocol version 1, as JSON.
//
//   {"k":"ask","id":7,"to":["kind","id"],"timeout_ms":30000,"command":{"type":…}}
//   {"k":"deliver","id":8,"to":["kind","id"],"from":"kind/id","messages":[{"seq":1,"message":{"type":…}},…]}
//   {"k":"answer","id":7,"value":…}
//   {"k":"failure","id":7,"reason":"overloaded","effect":"not_applied","retry_after_seconds":1,"detail":"…"}
//   {"k":"alive"}
//
// An `ask`, and each message of a `deliver`, may have a `traceparent`: the trace of what caused it.
// Unknown members are ignored. An unknown kind with an id is answered with a failure of reason `unsupported`; one without
// an id is ignored. Members are only ever added; a new kind needs a higher protocol version.

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { traceparentOf } from "../../std/tracing.ts";
import {
  type ActorRef,
  type Delivery,
  type RemoteFailure,
  remoteFailure,
  remoteFailureReasons,
} from "../actor-transport.ts";
import { frameHeadBytes } from "./limits.ts";

const detailCharsMax = 300;
const namePartCharsMax = 1_024;
const timeoutMsMax = 600_000;
const deliveriesMax = 4_096;

export interface Ask {
  readonly kind: "ask";
  readonly id: number;
  readonly to: ActorRef;
  readonly command: { readonly type: string };
  readonly timeoutMs: number;
  /** The trace of what asks; null if that is not recorded. */
  readonly traceparent: string | null;
}

export interface Deliver {
  readonly kind: "deliver";
  readonly id: number;
  readonly to: ActorRef;
  readonly from: string;
  readonly messages: readonly Delivery[];
}

/** A message understood just far enough to be refused. */
export interface Unfit {
  readonly kind: "unfit";
  readonly id: number;
  readonly fault: "unsupported" | "malformed";
}

export type Answer =
  | { readonly id: number; readonly failure: null; readonly value: unknown }
  | { readonly id: number; readonly failure: RemoteFailure };

export const aliveText = '{"k":"alive"}';

/** Throws a TypeError for a command that is not JSON. */
export function askText(
  id: number,
  to: ActorRef,
  command: { readonly type: string },
  { timeoutMs, traceparent }: { readonly timeoutMs: number; readonly traceparent: string | null },
): string {
  const timeout = Math.min(Math.max(Math.ceil(timeoutMs), 1), timeoutMsMax);
  const traced = traceparent === null ? {} : { traceparent };
  return JSON.stringify({ k: "ask", id, to: [to.kind, to.id], timeout_ms: timeout, command, ...traced });
}

/** Throws a TypeError for a message that is not JSON. */
export function deliverText(id: number, to: ActorRef, from: string, messages: readonly Delivery[]): string {
  return JSON.stringify({ k: "deliver", id, to: [to.kind, to.id], from, messages });
}

/** Throws a TypeError for a value that is not JSON. */
export function answerText(id: number, value: unknown): string {
  return JSON.stringify({ k: "answer", id, value });
}

export function failureText(id: number, failure: RemoteFailure): string {
  const { reason, effect, retryAfterSeconds, message } = failure;
  return JSON.stringify({
    k: "failure",
    id,
    reason,
    effect,
    retry_after_seconds: retryAfterSeconds,
    detail: message.slice(0, detailCharsMax),
  });
}

/** Refuses a message that was not executed, and will not be however often it is sent. */
export function refusalText(id: number, reason: "unsupported" | "malformed"): string {
  const about = reason === "unsupported" ? "not a message of this protocol" : "a member is wrong";
  return JSON.stringify({
    k: "failure",
    id,
    reason,
    effect: "not_applied",
    retry_after_seconds: 1,
    detail: about,
  });
}

/** Parses a message from a caller; returns null when it needs no answer. */
export function parseCall(message: unknown): Ask | Deliver | Unfit | null {
  const { k, id, to, from, command, messages, timeout_ms: timeoutMs, traceparent } = membersOf(message);
  if (!isCallId(id)) return null;
  if (k !== "ask" && k !== "deliver") return { kind: "unfit", id, fault: "unsupported" };
  const address = parseAddress(to);
  if (address === null) return { kind: "unfit", id, fault: "malformed" };
  if (k === "ask") {
    const isTimeout = typeof timeoutMs === "number" && timeoutMs > 0 && timeoutMs <= timeoutMsMax;
    if (!isTimeout || !isCommand(command)) return { kind: "unfit", id, fault: "malformed" };
    return { kind: "ask", id, to: address, command, timeoutMs, traceparent: traceparentOf(traceparent) };
  }
  if (typeof from !== "string" || !isDeliveries(messages)) return { kind: "unfit", id, fault: "malformed" };
  return { kind: "deliver", id, to: address, from, messages };
}

/** Parses a message from a receiver; returns null when it is not an answer. */
export function parseAnswer(message: unknown): Answer | null {
  const { k, id, value, reason, effect, retry_after_seconds: seconds, detail } = membersOf(message);
  if (!isCallId(id)) return null;
  if (k === "answer") return { id, failure: null, value };
  if (k !== "failure") return null;
  // A reason that a later version added is read as the one that promises nothing.
  const known = remoteFailureReasons.find((each) => each === reason) ?? "refused";
  const failure = remoteFailure(known, {
    retryAfterSeconds: typeof seconds === "number" && seconds >= 0 ? seconds : 1,
    effect: effect === "not_applied" ? "not_applied" : "unknown",
    detail: `it says: ${String(detail).slice(0, detailCharsMax)}`,
  });
  return { id, failure };
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null ? (value as Members) : {};
}

function isCallId(id: unknown): id is number {
  return Number.isSafeInteger(id) && (id as number) > 0;
}

function parseAddress(to: unknown): ActorRef | null {
  if (!Array.isArray(to)) return null;
  const [kind, id] = to as readonly unknown[];
  return isNamePart(kind) && isNamePart(id) ? { kind, id } : null;
}

function isNamePart(part: unknown): part is string {
  return typeof part === "string" && part.length > 0 && part.length <= namePartCharsMax;
}

function isCommand(command: unknown): command is { readonly type: string } {
  return typeof membersOf(command)["type"] === "string";
}

/** Whether it is a list of deliveries in ascending order of `seq`. */
function isDeliveries(messages: unknown): messages is readonly Delivery[] {
  if (!Array.isArray(messages) || messages.length > deliveriesMax) return false;
  let last = 0;
  for (const each of messages as readonly unknown[]) {
    const { seq, message } = membersOf(each);
    if (!isCallId(seq) || seq <= last || !isCommand(message)) return false;
    last = seq;
  }
  return true;
}

// Frames of an authenticated connection: many messages in one WebSocket message.
//
//   tag (16 bytes) · protocol version (1 byte) · UTF-8 of a JSON array of messages
//
// Over TLS, which protects every byte, there is no tag and no key. Otherwise the tag is the first half of HMAC-SHA-256
// (RFC 2104, truncated as its section 5 allows) over everything that follows it, under a key that only this connection
// and this direction have: a frame from elsewhere, or a changed one, ends the connection. The tag does not protect the
// order: messages that the network duplicated or moved are recognised by their call id.

const tagBytes = 16;
const versionBytes = frameHeadBytes - tagBytes;

export interface FrameKeys {
  readonly sending: KeyObject;
  readonly receiving: KeyObject;
}

export function frameKey(bytes: Uint8Array): KeyObject {
  return createSecretKey(bytes);
}

/** The frame for `messages`, the JSON texts of the messages. */
export function sealFrame(key: KeyObject | null, protocol: number, messages: string): Buffer {
  const from = key === null ? 0 : tagBytes;
  const frame = Buffer.allocUnsafe(from + versionBytes + Buffer.byteLength(messages));
  frame[from] = protocol;
  frame.write(messages, from + versionBytes);
  if (key === null) return frame;
  createHmac("sha256", key).update(frame.subarray(tagBytes)).digest().copy(frame, 0, 0, tagBytes);
  return frame;
}

/** The messages of a frame, unchecked; null for a frame that was not sealed for us or is not a list. */
export function openFrame(key: KeyObject | null, protocol: number, frame: Buffer): readonly unknown[] | null {
  const from = key === null ? 0 : tagBytes;
  if (frame.length < from + versionBytes || frame[from] !== protocol) return null;
  if (key !== null && !isSealed(key, frame)) return null;
  try {
    const messages: unknown = JSON.parse(frame.toString("utf8", from + versionBytes));
    return Array.isArray(messages) ? messages : null;
  } catch {
    return null;
  }
}

function isSealed(key: KeyObject, frame: Buffer): boolean {
  const tag = createHmac("sha256", key).update(frame.subarray(tagBytes)).digest().subarray(0, tagBytes);
  return timingSafeEqual(tag, frame.subarray(0, tagBytes));
}
