// Searches at a steady rate, whether or not the earlier ones are answered: a search that had to wait counts from when it was
// due, so that a server that stands still for a while cannot hide it.

import { setTimeout as delay } from "node:timers/promises";
import { Connection, type LoadTarget } from "./load.ts";

export interface PacedSearches {
  readonly target: LoadTarget;
  readonly requests: readonly Uint8Array[];
  readonly perSecond: number;
  /** No further search is sent once it is aborted. */
  readonly until?: AbortSignal;
}

/** Milliseconds of each answer, ascending. Rejects at the first answer that is not 200. */
export async function sendPaced({
  target,
  requests,
  perSecond,
  until,
}: PacedSearches): Promise<Float64Array> {
  const free: Connection[] = [];
  const open: Connection[] = [];
  const tookMs: number[] = [];
  const startedMs = performance.now();
  const one = async (request: Uint8Array, dueMs: number): Promise<void> => {
    let connection = free.pop();
    if (connection === undefined) {
      connection = await Connection.open(target);
      open.push(connection);
    }
    const answer = await connection.exchange(request);
    tookMs.push(performance.now() - dueMs);
    if (answer.status !== 200) throw new Error(`answer ${answer.status}: ${answer.body().slice(0, 500)}`);
    free.push(connection);
  };
  const sent: Promise<void>[] = [];
  try {
    for (const [index, request] of requests.entries()) {
      const dueMs = startedMs + (index * 1_000) / perSecond;
      await delay(Math.max(0, dueMs - performance.now()));
      if (until?.aborted === true) break;
      const each = one(request, dueMs);
      // Reported below, once all are sent.
      each.catch(() => {});
      sent.push(each);
    }
    await Promise.all(sent);
    return Float64Array.from(tookMs).sort();
  } finally {
    for (const connection of open) connection.close();
  }
}
