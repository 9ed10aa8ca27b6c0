// In a child process: calls from one process to another, by a node's transport or, as its floor, by plain `ws`, where a message is one
// JSON text with the call's number and the answer another; nothing is authenticated, bounded, timed or kept alive. The process
// answers or calls, at maximum throughput and at a steady rate.

import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import { openWsTransport } from "../transport/ws/transport.ts";
import { quantile } from "./figures.ts";
import { inLanes, type Spent, spend } from "./work.ts";

/** As long as a nonce claim, the most frequent call between nodes. */
interface CallCommand {
  readonly type: string;
  readonly n: number;
  readonly nonce: string;
  readonly key_id: string;
  readonly expires_at_ms: number;
}

interface CallAnswer {
  readonly n: number;
  readonly status: string;
  readonly claimed_at_ms: number;
}

/** Makes one call, and resolves with its answer. */
type CallOnce = (command: CallCommand) => Promise<unknown>;

/** Maximum paced calls in flight: more accumulate only when a process was suspended, and would be refused. */
const openMax = 4_096;
const keyId = "k".repeat(43);
const host = "127.0.0.1";
const timeoutMs = 30_000;
const to = { kind: "integration-key", id: `${keyId}@eu-west1` };

let call: CallOnce = () => Promise.reject(new Error("nobody to call"));
let end: () => unknown = () => {};

export function close(): unknown {
  return end();
}

function commandOf(n: number): CallCommand {
  const nonce = n.toString(36).padStart(32, "n");
  return { type: "nonce.claim", n, nonce, key_id: keyId, expires_at_ms: 1_767_225_600_000 + n };
}

function answerOf({ n, expires_at_ms: at }: CallCommand): CallAnswer {
  return { n, status: "claimed", claimed_at_ms: at - 60_000 };
}

async function openTransport(incarnation: string) {
  const transport = await openWsTransport({
    ...{ host, port: 0, cluster: "bench", secret: new Uint8Array(32).fill(7) },
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
  end = () => transport.close();
  return transport;
}

/** Starts to listen and returns the address. */
export async function listen(): Promise<string> {
  return (await openTransport("answering")).address;
}

export async function connect(address: string): Promise<void> {
  const target = (await openTransport("calling")).target(address, "answering");
  call = (command) => target.ask(to, command, timeoutMs);
}

/** Starts to listen with plain `ws` and returns the address. */
export async function listenBare(): Promise<string> {
  const server = new WebSocketServer({ host, port: 0, perMessageDeflate: false });
  end = () => server.close();
  server.on("connection", (socket) => {
    socket.on("message", (data: Buffer) => {
      const { id, command } = JSON.parse(data.toString()) as { id: number; command: CallCommand };
      Promise.resolve(answerOf(command)).then((value) => socket.send(JSON.stringify({ id, value })));
    });
  });
  await new Promise((resolve) => server.once("listening", resolve));
  return `${host}:${(server.address() as AddressInfo).port}`;
}

export async function connectBare(address: string): Promise<void> {
  const socket = new WebSocket(`ws://${address}`, { perMessageDeflate: false });
  end = () => socket.terminate();
  await new Promise((resolve) => socket.once("open", resolve));
  const waiting = new Map<number, (value: unknown) => void>();
  let lastId = 0;
  socket.on("message", (data: Buffer) => {
    const { id, value } = JSON.parse(data.toString()) as { id: number; value: unknown };
    waiting.get(id)?.(value);
    waiting.delete(id);
  });
  call = (command) =>
    new Promise((resolve) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      socket.send(JSON.stringify({ id: lastId, command }));
    });
}

/** Makes as many calls as possible with so many callers, each of which waits for its answer. */
export async function saturate(calls: number, callers: number) {
  const latenciesMs = new Float64Array(calls);
  const one = async (n: number): Promise<void> => {
    const sentMs = performance.now();
    assertAnswer(n, await call(commandOf(n)));
    latenciesMs[n] = performance.now() - sentMs;
  };
  return resultOf(latenciesMs, await spend(() => inLanes(callers, calls, one)));
}

/** Makes calls at a steady rate, whether or not answers come; while `openMax` are unanswered the next ones are late. */
export async function pace(calls: number, perSecond: number) {
  const latenciesMs = new Float64Array(calls);
  const startedMs = performance.now();
  const dueMs = (n: number): number => startedMs + (n * 1_000) / perSecond;
  let answered = 0;
  const one = async (n: number): Promise<void> => {
    assertAnswer(n, await call(commandOf(n)));
    latenciesMs[n] = performance.now() - dueMs(n);
    answered += 1;
  };
  const made: Promise<void>[] = [];
  const isDue = (n: number): boolean => n - answered < openMax && dueMs(n) <= performance.now();
  const spent = await spend(async () => {
    // Busy loop, so that a call leaves when it is due instead of when a timer fires.
    while (made.length < calls) {
      while (made.length < calls && isDue(made.length)) made.push(one(made.length));
      await new Promise(setImmediate);
    }
    await Promise.all(made);
  });
  return resultOf(latenciesMs, spent);
}

function assertAnswer(n: number, answer: unknown): void {
  if ((answer as Partial<CallAnswer>).n !== n) throw new Error(`call ${n} got another's answer`);
}

/** What the calls took of the calling process; a paced call is measured from when it was due. */
function resultOf(latenciesMs: Float64Array, { elapsedMs, cpu }: Spent) {
  const perSecond = (latenciesMs.length / elapsedMs) * 1_000;
  return { cpu, perSecond, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99) };
}
