// Runs one side of the handshake over a WebSocket. Until it is over the other side is a stranger: what it may send is
// bounded on the bare connection, before anything of it is put together, and nothing of it is read but the handshake.

import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { type HandshakeParty, type HandshakeRefusal, refusalCodes } from "./hello.ts";
import type { TransportLimits } from "./limits.ts";
import type { Established } from "./wire.ts";

export type HandshakeOutcome =
  | { readonly established: Established; readonly refused: null }
  /** `by` tells who refused; `lost` is a connection that ended without a word. */
  | {
      readonly established: null;
      readonly refused: HandshakeRefusal | "lost";
      readonly by: "us" | "peer";
    };

/**
 * Talks until one side refuses or both are convinced. `done` is called once, at once with the last message, so that
 * whoever takes the connection over misses nothing that came with it. `stream` carries the WebSocket. Whoever calls
 * this ends the connection when it takes too long, a refused one too.
 */
export function runHandshake(
  socket: WebSocket,
  stream: Duplex,
  party: HandshakeParty<Established>,
  limits: TransportLimits,
  done: (outcome: HandshakeOutcome) => void,
): void {
  let heardBytes = 0;
  const onData = (chunk: Uint8Array): void => {
    heardBytes += chunk.length;
    if (heardBytes <= limits.handshakeBytesMax) return;
    finish({ established: null, refused: "malformed", by: "us" });
    socket.terminate();
  };
  const onMessage = (data: RawData, isBinary: boolean): void => {
    if (isBinary || !Buffer.isBuffer(data) || data.length > limits.handshakeMessageMax) {
      refuse("malformed");
      return;
    }
    const step = party.take(data.toString());
    if (step.refused !== undefined) {
      refuse(step.refused);
      return;
    }
    if (step.say !== null) socket.send(step.say);
    if (step.established !== null) finish({ established: step.established, refused: null });
  };
  const onClose = (code: number): void => {
    const refusal = (Object.keys(refusalCodes) as HandshakeRefusal[]).find(
      (each) => refusalCodes[each] === code,
    );
    finish({ established: null, refused: refusal ?? "lost", by: "peer" });
  };
  const refuse = (refused: HandshakeRefusal): void => {
    finish({ established: null, refused, by: "us" });
    socket.close(refusalCodes[refused], refused);
  };
  const finish = (outcome: HandshakeOutcome): void => {
    // A stranger stays one: what it may still send until it is gone is bounded all the same.
    if (outcome.established !== null) stream.off("data", onData);
    socket.off("message", onMessage);
    socket.off("close", onClose);
    done(outcome);
  };
  stream.on("data", onData);
  socket.on("message", onMessage);
  socket.on("close", onClose);
  if (party.opening !== null) socket.send(party.opening);
}
