// Request bodies: exact bytes, bounded in size and time, read by the handler that wants them and by nobody before.

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Problem, problem } from "../protocol/problem.ts";

export interface BodyLimits {
  readonly bytesMax: number;
  /** From the moment the body is wanted until its last byte. */
  readonly timeoutMs: number;
}

export type BodyOutcome =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly problem: Problem };

const empty = new Uint8Array();

/** Whether a body follows the head (RFC 9112 §6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  return coding !== undefined || (length !== undefined && length !== "0");
}

/** The whole body. A longer one than allowed is not read past the limit, and not at all when its length is declared. */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<BodyOutcome> {
  if (!hasBody(request)) return Promise.resolve({ ok: true, bytes: empty });
  if (Number(request.headers["content-length"] ?? 0) > limits.bytesMax)
    return Promise.resolve(tooLarge(limits));
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const finish = (outcome: BodyOutcome): void => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("error", onLost).off("close", onLost);
      resolve(outcome);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limits.bytesMax) {
        request.pause();
        finish(tooLarge(limits));
      } else chunks.push(chunk);
    };
    const onEnd = (): void => finish({ ok: true, bytes: joined(chunks, length) });
    const onLost = (): void => finish(incomplete("The connection ended before the body did."));
    const timer = setTimeout(() => {
      request.pause();
      finish(incomplete("The body did not arrive in time."));
    }, limits.timeoutMs);
    request.on("data", onData).on("end", onEnd).on("error", onLost).on("close", onLost);
  });
}

function joined(chunks: readonly Buffer[], length: number): Uint8Array {
  const [only] = chunks;
  const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
  // Without Buffer's own behaviour: below this layer bytes are plain.
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

function tooLarge(limits: BodyLimits): BodyOutcome {
  return { ok: false, problem: problem("record_too_large", `The body is at most ${limits.bytesMax} bytes.`) };
}

function incomplete(detail: string): BodyOutcome {
  return { ok: false, problem: problem("request_timeout", detail) };
}

/** How long a client may take to read an answer that it got before its body was read. */
const lingerMs = 2_000;
/** A declared body of at most this is read and dropped by the platform, so that the connection can be used again. */
const droppedBytesMax = 65_536;

/** To be called before an answer that is sent without having looked at the body. */
export function leaveBodyUnread(request: FastifyRequest, reply: FastifyReply): void {
  const { "transfer-encoding": coding, "content-length": length } = request.raw.headers;
  const isShort = coding === undefined && Number(length) <= droppedBytesMax;
  if (hasBody(request.raw) && !isShort) closeUnread(request, reply);
}

/**
 * To be called before an answer that is sent while the rest of the body is unread and shall stay so. Destroying a socket
 * with unread bytes resets the connection, and with it the answer under way; so it is half closed, nothing more is read
 * of it, and it goes a little later.
 */
export function closeUnread(request: FastifyRequest, reply: FastifyReply): void {
  const { socket } = request.raw;
  reply.header("connection", "close");
  socket.destroySoon = () => {
    socket.end();
    socket.pause();
    const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once("close", () => clearTimeout(timer));
  };
}
