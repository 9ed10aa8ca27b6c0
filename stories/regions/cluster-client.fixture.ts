// A caller of a region's nodes, acting as a load balancer and a patient client in one: it signs every attempt, fails
// over to another node if one is unreachable or says «later», and records every attempt. For tests.
//   A1. An answer is final; only 409, 429 and 503 that name a time, and connection failures, are retried.
//   A2. A body and its Idempotency-Key stay the same across attempts; the nonce never does.

import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import {
  freshNonce,
  type ReceivedAnswer,
  type SentRequest,
  send,
  type TestCaller,
} from "../../api/surfaces.fixture.ts";
import type { TestNode } from "../../node/composition/cluster.fixture.ts";

export interface Attempt {
  readonly node: string;
  readonly nonce: string;
  /** Milliseconds of `performance.now()`. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** `lost` means that the outcome is unknown; `unsent` means that nobody listened. */
  readonly outcome: "answered" | "later" | "lost" | "unsent";
  /** 0 if no answer came. */
  readonly status: number;
  /** The code of the problem, or how the connection failed. */
  readonly code: string;
}

export interface Exchange {
  readonly what: string;
  readonly attempts: readonly Attempt[];
  /** The final answer; null if none came in time. */
  readonly answer: ReceivedAnswer | null;
}

export interface RequestOptions {
  /** How long the request is retried, in milliseconds. */
  readonly patienceMs?: number;
  /** The time-out of one attempt. */
  readonly attemptMs?: number;
  /** The longest wait between two attempts, whatever `Retry-After` says. */
  readonly pauseMaxMs?: number;
}

export type Surface = "retrieval" | "business" | "verification";

export interface ClusterClient {
  readonly caller: TestCaller;
  /** Every request made through this client, in order of completion. */
  readonly exchanges: readonly Exchange[];
  request(surface: Surface, request: SentRequest, options?: RequestOptions): Promise<Exchange>;
  /** Sends the request like {@link request}; throws unless the final answer has this status. */
  expectAnswer(
    status: number,
    surface: Surface,
    request: SentRequest,
    options?: RequestOptions,
  ): Promise<ReceivedAnswer>;
}

const patienceMsDefault = 30_000;
const attemptMsDefault = 30_000;
const pauseMaxMsDefault = 1_000;
/** The pause between two rounds in which no node could be reached. */
const unreachedPauseMs = 50;
/** Long, so that a nonce is still remembered when the test sends it again. */
const lifetimeSeconds = 300;

/** Asks the nodes in turn, starting with the first. */
export function createClient(caller: TestCaller, nodes: readonly TestNode[]): ClusterClient {
  const exchanges: Exchange[] = [];
  let next = 0;
  const request: ClusterClient["request"] = async (surface, asked, options = {}) => {
    const lateMs = performance.now() + (options.patienceMs ?? patienceMsDefault);
    const attempts: Attempt[] = [];
    let answer: ReceivedAnswer | null = null;
    for (;;) {
      const node = nodes[next % nodes.length];
      if (node === undefined) throw new Error("The client has no node to ask.");
      const { attempt, received } = await attemptAt(node, { surface, caller, request: asked, options });
      attempts.push(attempt);
      if (attempt.outcome === "answered") {
        answer = received;
        break;
      }
      next += 1;
      const pauseMs = pauseAfter(attempt, received, options);
      if (performance.now() + pauseMs > lateMs) break;
      await wait(pauseMs);
    }
    const exchange = { what: `${asked.method ?? ""} ${asked.path}`.trim(), attempts, answer };
    exchanges.push(exchange);
    return exchange;
  };
  return {
    caller,
    exchanges,
    request,
    expectAnswer: async (status, surface, asked, options) => {
      const { answer, attempts, what } = await request(surface, asked, options);
      if (answer?.status === status) return answer;
      const told = attempts.map(({ node, status: got, code }) => `${node}: ${got} ${code}`).join("; ");
      throw new Error(
        `${what} was answered ${answer?.status ?? "not at all"} ${answer?.text ?? ""} (${told})`,
      );
    },
  };
}

async function attemptAt(
  node: TestNode,
  {
    surface,
    caller,
    request,
    options,
  }: {
    readonly surface: Surface;
    readonly caller: TestCaller;
    readonly request: SentRequest;
    readonly options: RequestOptions;
  },
): Promise<{ readonly attempt: Attempt; readonly received: ReceivedAnswer | null }> {
  const nonce = request.nonce ?? newNonce();
  const startedMs = performance.now();
  const note = (outcome: Attempt["outcome"], status: number, code: string): Attempt => ({
    node: node.name,
    nonce,
    startedMs,
    endedMs: performance.now(),
    outcome,
    status,
    code,
  });
  try {
    const signal = AbortSignal.timeout(options.attemptMs ?? attemptMsDefault);
    const received = await send(node.urls[surface], caller, { lifetimeSeconds, ...request, nonce }, signal);
    const code = typeof received.json["code"] === "string" ? received.json["code"] : "";
    const outcome = isLater(received) ? "later" : "answered";
    return { attempt: note(outcome, received.status, code), received };
  } catch (error) {
    const code = connectionCode(error);
    return { attempt: note(code === "ECONNREFUSED" ? "unsent" : "lost", 0, code), received: null };
  }
}

/** Whether an attempt is retried (A1). */
function isLater({ status, headers }: ReceivedAnswer): boolean {
  return [409, 429, 503].includes(status) && headers.get("retry-after") !== null;
}

function pauseAfter(
  { outcome }: Attempt,
  received: ReceivedAnswer | null,
  { pauseMaxMs = pauseMaxMsDefault }: RequestOptions,
): number {
  if (outcome !== "later") return Math.min(unreachedPauseMs, pauseMaxMs);
  return Math.min(Number(received?.headers.get("retry-after") ?? 1) * 1_000, pauseMaxMs);
}

function connectionCode(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "timeout";
  const { cause } = error;
  return cause instanceof Error ? ((cause as { code?: string }).code ?? cause.message) : error.message;
}

function newNonce(): string {
  return `${freshNonce()}-${randomBytes(8).toString("hex")}`;
}
