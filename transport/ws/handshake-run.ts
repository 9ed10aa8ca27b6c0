// Runs one side of the handshake over a WebSocket. Until it completes, the other side is a stranger: what it may send is
// bounded on the bare connection, before any of it is assembled, and only handshake messages are read.

import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { type HandshakeParty, type HandshakeRefusal, refusalCodes } from "./hello.ts";
import type { TransportLimits } from "./limits.ts";
import type { Established } from "./wire.ts";

export type HandshakeOutcome =
  | { readonly established: Established; readonly refused: null }
  /** `by` says which side refused; `lost` is a connection that ended without a refusal. */
  | {
      readonly established: null;
      readonly refused: HandshakeRefusal | "lost";
      readonly by: "us" | "peer";
    };

/**
 * Exchanges messages until one side refuses or both are convinced. `done` is called once, synchronously with the last
 * message, so that the code that takes over the connection misses nothing that came with it. `stream` carries the
 * WebSocket. The caller ends the connection when it takes too long, and also when it is refused.
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
    // A stranger remains a stranger: what it may still send until it is disconnected stays bounded.
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
