// A body that is taken in as it arrives, for a handler that keeps none of it.
//   A1. It must keep arriving: at every moment, as much must have arrived as the time that was waited for it requires
//       (`bodyTimeMs`). The time that the handler takes itself does not count.
//   A2. No more is read ahead than the platform buffers.
//   A3. Reading ends at the first byte over the limit; a longer declared body is not read at all.
//   A4. It ends when it has to make room for others.

import type { IncomingMessage } from "node:http";
import { type Problem, problem } from "../protocol/problem.ts";
import { type BodyLimits, lengthFault } from "./body.ts";
import { bodyTimeMs } from "./http-limits.ts";

export type BodyPiece =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The body does not arrive whole: the last piece. */
  | { readonly kind: "fault"; readonly problem: Problem };

export async function* arrivingBody(
  request: IncomingMessage,
  limits: BodyLimits,
  bytesPerSecondMin: number,
  /** Aborted when the body must make room for others (A4). */
  signal: AbortSignal,
): AsyncGenerator<BodyPiece, void> {
  const fault = lengthFault(request, limits);
  if (fault !== null) return yield { kind: "fault", problem: fault };
  const { edge, bytesMax } = limits;
  // Leaving the loop must not destroy the connection: the answer is still to be sent.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, void>;
  let length = 0;
  let waitedMs = 0;
  try {
    for (;;) {
      const beganAtMs = performance.now();
      const leftMs = bodyTimeMs(edge.limits, length, bytesPerSecondMin) - waitedMs;
      const step = await within(chunks.next(), leftMs, signal);
      if (signal.aborted) return yield { kind: "fault", problem: gaveWay };
      waitedMs += performance.now() - beganAtMs;
      if (step === "late") {
        edge.refused("slow_bodies");
        return yield { kind: "fault", problem: late };
      }
      if (step.done === true) return;
      length += step.value.length;
      if (length > bytesMax) return yield { kind: "fault", problem: tooLarge(bytesMax) };
      yield { kind: "bytes", bytes: step.value };
    }
  } catch {
    yield { kind: "fault", problem: lost };
  } finally {
    request.pause();
  }
}

const late = problem("request_timeout", "The body did not arrive in time.");
const gaveWay = problem(
  "unavailable",
  "Others wait to send a file, and you send several: send this one again later.",
  {
    ...{ reason: "files_in_flight", retry_after_seconds: 10 },
  },
);
const lost = problem("request_timeout", "The connection ended before the body did.");

function tooLarge(bytesMax: number): Problem {
  return problem("record_too_large", `The body is at most ${bytesMax} bytes.`);
}

async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | "late"> {
  const late = Promise.withResolvers<"late">();
  const end = (): void => late.resolve("late");
  const timer = setTimeout(end, Math.max(0, Math.ceil(ms)));
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  // Abandoned work may still fail, and nobody waits for that.
  work.catch(() => {});
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}
