// Frames of an authenticated connection: many messages in one WebSocket message.
//
//   tag (16 bytes) · protocol version (1 byte) · UTF-8 of a JSON array of messages
//
// Over TLS, which protects every byte, there is no tag and no key. Otherwise the tag is the first half of HMAC-SHA-256
// (RFC 2104, truncated as its section 5 allows) over everything that follows it, under a key that only this connection
// and this direction have: a frame from elsewhere, or a changed one, ends the connection. The tag does not protect the
// order: messages that the network duplicated or moved are recognised by their call id.

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { frameHeadBytes } from "./limits.ts";

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
