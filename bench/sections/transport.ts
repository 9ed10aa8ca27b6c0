// Calls to another node against bare `ws`. What is exported beside the section runs in child processes, of which one answers and the
// other calls, at maximum throughput and at a steady rate, by a node's transport or, as its floor, by plain `ws`, where a message is one
// JSON text with the call's number and the answer another; nothing is authenticated, bounded, timed or kept alive.

import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { WebSocket, WebSocketServer } from "ws";
import { openWsTransport } from "../../transport/ws/transport.ts";
import { compareBy, count, figure, type Measured, quantile, sidesText, takeRounds } from "../figures.ts";
import { inLanes, spend } from "../work.ts";
import type { World } from "../world.ts";

const program = "sections/transport.ts";
const callers = 64;

export async function measureTransport(world: World): Promise<readonly Measured[]> {
  const calls = world.size(200_000, 10_000);
  /** Half of what the floor sustains. */
  const perSecond = (await measureCalls(world, "Bare", calls, null)).saturated.perSecond / 2;
  const side = (kind: "" | "Bare") => async (round: number) => {
    world.say(`transport, round ${round + 1}: ${kind === "" ? "ours" : "the floor"}`);
    return await measureCalls(world, kind, calls, perSecond);
  };
  const rounds = await takeRounds(world.size(5, 1), { ours: side(""), floor: side("Bare") });
  const cpu = sidesText(rounds, ({ saturated }) => (saturated.cpu.mainMs / calls) * 1_000, 1);
  const p99 = sidesText(rounds, ({ paced }) => paced.p99Ms, 2);
  const rates = compareBy(rounds, ({ saturated }) => saturated.perSecond);
  const p50 = compareBy(rounds, ({ paced }) => paced.p50Ms);
  const note =
    `Two processes on each side, one connection, the same commands and answers as JSON. Processor time of the calling process's main thread ${cpu} µs a call. ` +
    "Ours authenticates every frame, knows doubled calls, bounds what waits, and times every call; messages of one turn of the event loop share a frame.";
  const pacedNote = `The rate is half of what bare ws reached before the rounds; both sides are called at this rate. p99 ${p99} ms.`;
  const pacedName = `p50 of a call at ${count(Math.round(perSecond))} calls/s`;
  return [
    figure(`calls to another node, ${callers} at once`, "calls/s", rates, { atLeast: 0.5 }, note),
    figure(pacedName, "ms", p50, { atMost: 3 }, pacedNote),
  ];
}

/** As many calls as possible, and then calls at a steady rate unless that is null. */
async function measureCalls(world: World, kind: "" | "Bare", calls: number, perSecond: number | null) {
  await using answering = world.start();
  await using calling = world.start();
  await calling.call(program, `connect${kind}`, await answering.call(program, `listen${kind}`));
  await calling.call(program, "saturate", Math.ceil(calls / 4), callers);
  const saturated = await calling.call(program, "saturate", calls, callers);
  if (perSecond === null) return { saturated, paced: saturated };
  const paced = Math.ceil(perSecond * world.size(4, 1));
  return { saturated, paced: await calling.call(program, "pace", paced, perSecond) };
}

/** Maximum paced calls in flight: more accumulate only when a process was suspended, and would be refused. */
const openMax = 4_096;
const keyId = "k".repeat(43);
const host = "127.0.0.1";
const timeoutMs = 30_000;
const to = { kind: "integration-key", id: `${keyId}@eu-west1` };

let call: (command: object) => Promise<unknown> = () => Promise.reject(new Error("nobody to call"));
let end: () => unknown = () => {};

export const close = () => end();

/** As long as a nonce claim, the most frequent call between nodes. */
function commandOf(n: number) {
  const nonce = n.toString(36).padStart(32, "n");
  return { type: "nonce.claim", n, nonce, key_id: keyId, expires_at_ms: 1_767_225_600_000 + n };
}

function answerOf(command: unknown) {
  const { n, expires_at_ms: at } = command as ReturnType<typeof commandOf>;
  return { n, status: "claimed", claimed_at_ms: at - 60_000 };
}

async function openTransport(incarnation: string) {
  const transport = await openWsTransport({
    host,
    port: 0,
    cluster: "bench",
    secret: new Uint8Array(32).fill(7),
    self: { incarnation, region: "eu-west1", address: "127.0.0.1:1" },
    protocol: { min: 1, max: 1 },
    handlers: {
      // A node passes the command to its actors, which know its type.
      ask: async (_to, command) => answerOf(command),
      deliver: async (_to, _from, messages) => messages.at(-1)?.seq ?? 0,
    },
    log: ({ level, event, detail }) => {
      if (level !== "info") console.error(`[bench] ${event}: ${detail}`);
    },
  });
  end = () => transport.close();
  return transport;
}

export async function listen(): Promise<string> {
  return (await openTransport("answering")).address;
}

export async function connect(address: string): Promise<void> {
  const target = (await openTransport("calling")).target(address, "answering");
  call = (command) => target.ask(to, command as ReturnType<typeof commandOf>, timeoutMs);
}

/** Starts to listen with plain `ws` and returns the address. */
export async function listenBare(): Promise<string> {
  const server = new WebSocketServer({ host, port: 0, perMessageDeflate: false });
  end = () => server.close();
  server.on("connection", (socket) => {
    socket.on("message", (data: Buffer) => {
      const { id, command } = JSON.parse(data.toString()) as { id: number; command: unknown };
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
export function saturate(calls: number, callers: number) {
  return timeCalls(
    calls,
    () => performance.now(),
    (one) => inLanes(callers, calls, one),
  );
}

/** Makes calls at a steady rate, whether or not answers come; while `openMax` are unanswered the next ones are late. */
export function pace(calls: number, perSecond: number) {
  const startedMs = performance.now();
  const dueMs = (n: number): number => startedMs + (n * 1_000) / perSecond;
  let answered = 0;
  const isDue = (n: number): boolean => n - answered < openMax && dueMs(n) <= performance.now();
  return timeCalls(calls, dueMs, async (one) => {
    const made: Promise<void>[] = [];
    // Busy loop, so that a call leaves when it is due instead of when a timer fires.
    while (made.length < calls) {
      while (made.length < calls && isDue(made.length))
        made.push(
          one(made.length).then(() => {
            answered += 1;
          }),
        );
      await nextTurn();
    }
    await Promise.all(made);
  });
}

/** What calls took of the calling process, each from when it was sent or due. */
async function timeCalls(
  calls: number,
  fromMs: (n: number) => number,
  callAll: (one: (n: number) => Promise<void>) => Promise<void>,
) {
  const latenciesMs = new Float64Array(calls);
  const { elapsedMs, cpu } = await spend(() =>
    callAll(async (n) => {
      const beganMs = fromMs(n);
      const answer = (await call(commandOf(n))) as { readonly n?: number };
      if (answer.n !== n) throw new Error(`call ${n} got another's answer`);
      latenciesMs[n] = performance.now() - beganMs;
    }),
  );
  const perSecond = (calls / elapsedMs) * 1_000;
  return { cpu, perSecond, p50Ms: quantile(latenciesMs, 0.5), p99Ms: quantile(latenciesMs, 0.99) };
}
