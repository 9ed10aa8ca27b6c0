// Writes row changes to one generation of an index, by bulk requests of bounded size and bounded concurrency.
//   B1. Changes of one record go into one request, in their order: the cluster preserves the order only within a request.
//   B2. Every item of every answer is checked. 409 is `stale`; an error that may be transient fails the whole call with
//       `IndexUnavailable`, and the caller repeats it (X1 makes that harmless).

import { rowDocument } from "../../collections/row-change.ts";
import { termImpact } from "../../collections/text-analysis.ts";
import type { Semaphore } from "../../std/semaphore.ts";
import { type IndexDocument, indexUnavailable, type RowChange } from "../row-index.ts";
import { type Engine, EngineRefusal, malformed, memberOf, textOf, unavailableReason } from "./engine.ts";
import { allTermsField, idOrderField, rowsAlias, termsField } from "./layout.ts";

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

// Row changes as lines of a bulk request. A removed row remains as an empty document under its change number, because the
// versions of deleted documents are forgotten after a minute.

/** The two lines of one change, each terminated by a line feed; the change number is the version. */
export function bulkLines(change: RowChange): string {
  const id = JSON.stringify(change.record_id);
  const action = `{"index":{"_id":${id},"version":${change.change},"version_type":"external"}}\n`;
  return change.kind === "put" ? `${action}${documentText(change)}\n` : `${action}{}\n`;
}

function documentText(put: Extract<RowChange, { readonly kind: "put" }>): string {
  const document = rowDocument(put);
  const { countries, fields, points } = document;
  const places = Object.entries(points).map(([name, list]) => [
    name,
    list.map(({ lat, lng }) => ({ lat, lon: lng })),
  ]);
  const head = JSON.stringify({
    [idOrderField]: idOrder(put.record_id),
    business_uuid: put.business_uuid,
    generation: put.generation,
    row: put.row,
    countries,
    ...fields,
    ...Object.fromEntries(places),
    ...(places.length === 0 ? {} : { points: JSON.stringify(points) }),
  });
  return `${head.slice(0, -1)}${termsText(document)}}`;
}

/** Members that say how much each term counts, one for each text and one for all of them; built directly as text. */
function termsText({ texts }: IndexDocument): string {
  const all = new Map<string, number>();
  let members = "";
  for (const name of Object.keys(texts)) {
    const impacts = impactsOf(texts[name] ?? "");
    for (const [term, impact] of impacts) all.set(term, (all.get(term) ?? 0) + impact);
    members += `,"${termsField(name)}":${impactsText(impacts)}`;
  }
  return all.size === 0 ? members : `${members},"${allTermsField}":${impactsText(all)}`;
}

function impactsOf(text: string): ReadonlyMap<string, number> {
  const words = text.split(" ").filter((word) => word !== "");
  const impacts = new Map<string, number>();
  for (const word of words) impacts.set(word, (impacts.get(word) ?? 0) + 1);
  for (const [term, frequency] of impacts) impacts.set(term, termImpact(frequency, words.length));
  return impacts;
}

/** Most terms match this, and then need no escaping in JSON. */
const plainTerm = /^[0-9a-z]+$/;

function impactsText(impacts: ReadonlyMap<string, number>): string {
  let members = "";
  for (const [term, impact] of impacts) {
    const name = plainTerm.test(term) ? `"${term}"` : JSON.stringify(term);
    members += members === "" ? `${name}:${impact}` : `,${name}:${impact}`;
  }
  return `{${members}}`;
}

/** Number of id characters after the prefix that its order represents: 60 bits of a keyed hash. */
const orderedCharacters = 12;

/**
 * A number, as text, that orders ids of one prefix as their texts do: comparing numbers costs a search much less. Two ids
 * with the same characters there are as improbable as guessing a record id.
 */
export function idOrder(recordId: string): string {
  const from = recordId.indexOf("_") + 1;
  let order = 0n;
  for (let at = from; at < from + orderedCharacters; at += 1)
    order = order * 32n + BigInt(digitOf(recordId, at));
  return order.toString();
}

/** The digit of a base32 character in the order of their codes: 2 to 7, then a to z. */
function digitOf(recordId: string, at: number): number {
  const code = recordId.charCodeAt(at);
  if (code >= 50 && code <= 55) return code - 50;
  if (code >= 97 && code <= 122) return code - 91;
  throw new Error(`${recordId} is not a record id`);
}
