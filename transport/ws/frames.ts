// Frames of an authenticated connection: many messages in one WebSocket message.
//
//   tag (16 bytes) · protocol version (1 byte) · UTF-8 of a JSON array of messages
//
// The tag is the first half of HMAC-SHA-256 (RFC 2104, truncated as its section 5 allows) over all that follows it,
// under a key that only this connection and this direction have: a frame of elsewhere, or a changed one, ends the
// connection. It says nothing about order: what the network doubled or moved is known by its call id.

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from "node:crypto";
import { frameHeadBytes } from "./limits.ts";

const tagBytes = 16;

export interface FrameKeys {
  readonly sending: KeyObject;
  readonly receiving: KeyObject;
}

export function frameKey(bytes: Uint8Array): KeyObject {
  return createSecretKey(bytes);
}

/** The frame of `messages`, each the JSON text of one. */
export function sealFrame(key: KeyObject, protocol: number, messages: string): Buffer {
  const frame = Buffer.allocUnsafe(frameHeadBytes + Buffer.byteLength(messages));
  frame[tagBytes] = protocol;
  frame.write(messages, frameHeadBytes);
  createHmac("sha256", key).update(frame.subarray(tagBytes)).digest().copy(frame, 0, 0, tagBytes);
  return frame;
}

/** The messages of a frame, whatever they may be; null for a frame that was not sealed for us or is no list. */
export function openFrame(key: KeyObject, protocol: number, frame: Buffer): readonly unknown[] | null {
  if (frame.length < frameHeadBytes) return null;
  const tag = createHmac("sha256", key).update(frame.subarray(tagBytes)).digest().subarray(0, tagBytes);
  if (!timingSafeEqual(tag, frame.subarray(0, tagBytes)) || frame[tagBytes] !== protocol) return null;
  try {
    const messages: unknown = JSON.parse(frame.toString("utf8", frameHeadBytes));
    return Array.isArray(messages) ? messages : null;
  } catch {
    return null;
  }
}
