// Child process, floor of calls between nodes: plain `ws`. A message is one JSON text with the call's number, the answer
// another; nothing is authenticated, bounded, timed or kept alive.

import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import { answerParent } from "../answer-parent.ts";
import {
  answerOf,
  type CallCommand,
  type CallOnce,
  type CallsResult,
  type PacedLoad,
  pace,
  type SaturatingLoad,
  saturate,
} from "../calls.ts";

const options = { host: "127.0.0.1", port: 0, perMessageDeflate: false };
let server: WebSocketServer | null = null;
let client: WebSocket | null = null;
const waiting = new Map<number, (value: unknown) => void>();
let lastId = 0;

/** Starts to listen and returns the address. */
async function listen(): Promise<string> {
  const started = new WebSocketServer(options);
  server = started;
  started.on("connection", (socket) => {
    socket.on("message", (data: Buffer) => {
      const { id, command } = JSON.parse(data.toString()) as { id: number; command: CallCommand };
      Promise.resolve(answerOf(command)).then((value) => socket.send(JSON.stringify({ id, value })));
    });
  });
  await new Promise((resolve) => started.once("listening", resolve));
  return `127.0.0.1:${(started.address() as AddressInfo).port}`;
}

async function connect(address: string): Promise<void> {
  const socket = new WebSocket(`ws://${address}`, { perMessageDeflate: false });
  client = socket;
  await new Promise((resolve) => socket.once("open", resolve));
  socket.on("message", (data: Buffer) => {
    const { id, value } = JSON.parse(data.toString()) as { id: number; value: unknown };
    waiting.get(id)?.(value);
    waiting.delete(id);
  });
}

const call: CallOnce = (command) =>
  new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    client?.send(JSON.stringify({ id: lastId, command }));
  });

answerParent(
  {
    listen,
    connect,
    saturate: (load: SaturatingLoad): Promise<CallsResult> => saturate(call, load),
    pace: (load: PacedLoad): Promise<CallsResult> => pace(call, load),
  },
  async () => {
    client?.terminate();
    server?.close();
  },
);
