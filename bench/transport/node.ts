// Child process: one node's transport, as the answering or the calling side.

import type { RemoteTarget } from "../../transport/actor-transport.ts";
import { openWsTransport, type WsTransport } from "../../transport/ws/transport.ts";
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

/** The parameters and results of this program, which are the same for the floor. */
export type { CallsResult, PacedLoad, SaturatingLoad };

const timeoutMs = 30_000;
const to = { kind: "integration-key", id: `${"k".repeat(43)}@eu-west1` };

let transport: WsTransport | null = null;
let target: RemoteTarget | null = null;

async function open(incarnation: string): Promise<WsTransport> {
  transport = await openWsTransport({
    ...{ host: "127.0.0.1", port: 0, cluster: "bench", secret: new Uint8Array(32).fill(7) },
    ...{ self: { incarnation, region: "eu-west1", address: "127.0.0.1:1" }, protocol: { min: 1, max: 1 } },
    handlers: {
      // A node passes the command to its actors, which know its type.
      ask: async (_to, command) => answerOf(command as CallCommand),
      deliver: async (_to, _from, messages) => messages.at(-1)?.seq ?? 0,
    },
    log: ({ level, event, detail }) => {
      if (level !== "info") console.error(`[bench] ${event}: ${detail}`);
    },
  });
  return transport;
}

/** Starts to listen and returns the address. */
async function listen(): Promise<string> {
  return (await open("answering")).address;
}

async function connect(address: string): Promise<void> {
  target = (await open("calling")).target(address, "answering");
}

const call: CallOnce = (command) => {
  if (target === null) throw new Error("nobody to call");
  return target.ask(to, command, timeoutMs);
};

answerParent(
  {
    listen,
    connect,
    saturate: (load: SaturatingLoad): Promise<CallsResult> => saturate(call, load),
    pace: (load: PacedLoad): Promise<CallsResult> => pace(call, load),
  },
  async () => transport?.close(),
);
