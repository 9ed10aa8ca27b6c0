// Writes row changes to one generation of an index, by bulk requests of bounded size and bounded concurrency.
//   B1. Changes of one record go into one request, in their order: the cluster preserves the order only within a request.
//   B2. Every item of every answer is checked. 409 is `stale`; an error that may be transient fails the whole call with
//       `IndexUnavailable`, and the caller repeats it (X1 makes that harmless).

import type { Semaphore } from "../../std/semaphore.ts";
import { indexUnavailable, type RowChange } from "../row-index.ts";
import { bulkLines } from "./document.ts";
import { type Engine, EngineRefusal, malformed, memberOf, textOf, unavailableReason } from "./engine.ts";
import { rowsAlias } from "./names.ts";

/** A request is closed when it reaches either limit. */
const requestRowsMax = 1_000;
const requestCharactersMax = 4 * 1024 * 1024;

export type Outcome = "applied" | "stale";

/** Some changes, in the form in which they are sent. */
export interface BulkRequest {
  readonly lines: string;
  /** Places of the changes in the list from which the requests were made. */
  readonly places: readonly number[];
  readonly changes: readonly RowChange[];
}

/** Builds the requests for changes of one collection. */
export function bulkRequests(changes: readonly RowChange[]): readonly BulkRequest[] {
  const requests: { lines: string; places: number[]; changes: RowChange[] }[] = [];
  const requestOf = new Map<string, number>();
  for (const [place, change] of changes.entries()) {
    let at = requestOf.get(change.record_id);
    if (at === undefined) {
      const last = requests.at(-1);
      const isFull =
        last === undefined ||
        last.places.length >= requestRowsMax ||
        last.lines.length >= requestCharactersMax;
      if (isFull) requests.push({ lines: "", places: [], changes: [] });
      at = requests.length - 1;
      requestOf.set(change.record_id, at);
    }
    const request = requests[at];
    if (request === undefined) throw new Error("A change belongs to a request");
    request.lines += bulkLines(change);
    request.places.push(place);
    request.changes.push(change);
  }
  return requests;
}

export interface BulkTarget {
  readonly engine: Engine;
  readonly slots: Semaphore;
  /** Index of the generation. */
  readonly generation: string;
}

/** Sends all requests; returns the outcome of each change by its place, or null if the generation no longer exists. */
export async function sendBulk(
  { engine, slots, generation }: BulkTarget,
  requests: readonly BulkRequest[],
): Promise<readonly Outcome[] | null> {
  const path = `/${rowsAlias(generation)}/_bulk?require_alias=true&filter_path=items.*.status,items.*.error.type,items.*.error.reason`;
  const outcomes: Outcome[] = [];
  let isGone = false;
  const send = async (request: BulkRequest): Promise<void> => {
    const answer = await slots.run(() => write(engine, path, request.lines));
    if (answer === "gone") {
      isGone = true;
      return;
    }
    const items = memberOf(answer, "items");
    if (!Array.isArray(items) || items.length !== request.changes.length)
      throw malformed("an item for each change");
    for (const [index, place] of request.places.entries()) {
      const outcome = outcomeOf(items[index], request.changes[index]);
      if (outcome === "gone") isGone = true;
      else outcomes[place] = outcome;
    }
  };
  await settleAll(requests.map(send));
  return isGone ? null : outcomes;
}

async function write(engine: Engine, path: string, lines: string): Promise<unknown> {
  try {
    return await engine.write({ method: "POST", path, lines });
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return "gone";
    throw error;
  }
}

/** Waits for all, so that nothing is still under way when the first failure is reported. */
async function settleAll(work: readonly Promise<void>[]): Promise<void> {
  for (const each of await Promise.allSettled(work)) if (each.status === "rejected") throw each.reason;
}

function outcomeOf(item: unknown, change: RowChange | undefined): Outcome | "gone" {
  const result = memberOf(item, "index");
  const status = memberOf(result, "status");
  if (typeof status !== "number") throw malformed("the status of an item");
  if (status === 200 || status === 201) return "applied";
  const type = textOf(memberOf(memberOf(result, "error"), "type"));
  if (status === 409 && type === "version_conflict_engine_exception") return "stale";
  if (type === "index_not_found_exception") return "gone";
  const reason = textOf(memberOf(memberOf(result, "error"), "reason"));
  const unavailable = unavailableReason(status, type);
  if (unavailable !== null)
    throw indexUnavailable(unavailable, `The index could not store a row: ${status} ${type}: ${reason}`);
  throw new EngineRefusal(status, type, `${change?.record_id ?? "a row"}: ${reason}`);
}
