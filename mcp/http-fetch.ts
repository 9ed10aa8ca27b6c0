// Requests of the tool server over the platform's HTTP client, which takes about half of the processor time of its `fetch`: what
// that saves is most of what the protocol adds to a search. The client asks for the part of the Fetch standard that it needs.
//   G1. Nothing is followed and nothing is decoded: a redirect is an answer, and a body arrives as it was sent.
//   G2. A body that is longer than `bodyBytesMax` is not read to its end.
//   G3. A failure before the connection was made (with https, before it was encrypted) says so, a time-out among them: nothing
//       of the request was sent.

import type { ClientRequest, IncomingMessage } from "node:http";
import { notConnectedCode } from "../client/errors.ts";
import type { Fetch } from "../client/sender.ts";

// An import of node:http loads the platform's fetch as well, which takes part of the time until the first answer.
const { request: overHttp } = process.getBuiltinModule("node:http");
const { request: overHttps } = process.getBuiltinModule("node:https");

export const bodyBytesMax = 16 * 1_048_576;

/** Rejects with the error of the connection, whose `code` says whether anything was sent. */
export const httpFetch: Fetch = async (url, { method, headers, body, signal }) => {
  if (body instanceof Blob) throw new TypeError("A form is not sent.");
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const length = body === undefined ? {} : { "content-length": String(body.length) };
  const isEncrypted = url.startsWith("https:");
  const start = isEncrypted ? overHttps : overHttp;
  const sent = start(url, { method, headers: { ...headers, ...length }, signal }, resolve);
  const hasConnected = watchConnection(sent, isEncrypted ? "secureConnect" : "connect");
  sent.once("error", (error) => reject(hasConnected() ? error : notConnected(error)));
  sent.end(body);
  const answer = await promise;
  const bytes = await readBody(answer);
  return {
    status: answer.statusCode ?? 0,
    headers: { get: (name) => headerOf(answer, name) },
    arrayBuffer: async () => bytes,
  };
};

/** Tells whether there is a connection yet over which the request goes. */
function watchConnection(sent: ClientRequest, event: "connect" | "secureConnect"): () => boolean {
  let isConnected = false;
  sent.once("socket", (socket) => {
    if (sent.reusedSocket) isConnected = true;
    else
      socket.once(event, () => {
        isConnected = true;
      });
  });
  return () => isConnected;
}

function notConnected(cause: Error): Error {
  return Object.assign(new Error("There was no connection.", { cause }), { code: notConnectedCode });
}

async function readBody(answer: IncomingMessage): Promise<ArrayBuffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of answer) {
    length += (part as Buffer).length;
    if (length > bodyBytesMax) throw new Error(`The answer is longer than ${bodyBytesMax} bytes.`);
    parts.push(part as Buffer);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.buffer;
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}
