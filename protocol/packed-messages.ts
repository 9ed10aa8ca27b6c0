// Messages to be signed, concatenated in one byte string: a push creates tens of thousands of them, and as separate arrays
// each would be allocated, copied and collected individually.

import { toBase64, utf8 } from "./bytes.ts";
import { paeHead } from "./dsse.ts";

export interface PackedMessages {
  /** The messages, with nothing between them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The offset in `bytes` at which each message ends, ascending. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

const capacityMin = 4_096;
/** Maximum number of UTF-8 bytes for one UTF-16 code unit (RFC 3629 §3). */
const bytesPerUnitMax = 3;

/** Collects texts; {@link MessagePacker.pack} returns them in the order they were added. */
export class MessagePacker {
  readonly #encoder = new TextEncoder();
  readonly #ends: number[] = [];
  #bytes = new Uint8Array(capacityMin);
  #length = 0;

  /** Adds the UTF-8 encoding of a text as a message. Lone surrogates become U+FFFD, so refuse them beforehand. */
  addText(text: string): void {
    this.#append(text);
    this.#ends.push(this.#length);
  }

  /**
   * Adds a message that is the pre-authentication encoding (dsse.ts) of a payload given as text. Returns the payload in
   * base64.
   */
  addEnvelope(type: string, payload: string): string {
    const start = this.#length;
    this.#append(paeHead(type, payload.length));
    const payloadStart = this.#length;
    this.#append(payload);
    if (this.#length - payloadStart !== payload.length) return this.#addLongEnvelope(start, type, payload);
    this.#ends.push(this.#length);
    return toBase64(this.#bytes.subarray(payloadStart, this.#length));
  }

  pack(): PackedMessages {
    return { bytes: this.#bytes.slice(0, this.#length), ends: Uint32Array.from(this.#ends) };
  }

  /** Handles a payload that is not ASCII, whose length in bytes is known only at this point. */
  #addLongEnvelope(start: number, type: string, payload: string): string {
    this.#length = start;
    const bytes = utf8(payload);
    this.#append(paeHead(type, bytes.length) + payload);
    this.#ends.push(this.#length);
    return toBase64(bytes);
  }

  #append(text: string): void {
    const needed = this.#length + text.length * bytesPerUnitMax;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#length += this.#encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }
}

/** Packs messages that are already byte strings. */
export function packMessages(messages: readonly Uint8Array[]): PackedMessages {
  const ends = new Uint32Array(messages.length);
  let length = 0;
  for (const [index, message] of messages.entries()) {
    length += message.length;
    ends[index] = length;
  }
  const bytes = new Uint8Array(length);
  for (const [index, message] of messages.entries()) bytes.set(message, (ends[index] ?? 0) - message.length);
  return { bytes, ends };
}

/** The messages, as views of the packed bytes. */
export function unpackMessages({ bytes, ends }: PackedMessages): readonly Uint8Array[] {
  const messages: Uint8Array[] = [];
  let start = 0;
  for (const end of ends) {
    messages.push(bytes.subarray(start, end));
    start = end;
  }
  return messages;
}
