// GET /v1/pushes/{push_id}: PushStatus with a page of 100 results in leaf order, and the same document for a 202.

import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { PublishOutcome, PushProtocol, PushReport } from "../../actors/messages/push.ts";
import { type ActorRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { type CollectionName, isPushId } from "../../protocol/identifiers.ts";
import { pushPageMax } from "../../protocol/limits.ts";
import { type PushStatus, type RecordOutcome, recordOutcomes } from "../../protocol/wire/push.ts";
import {
  answerJson,
  type Caller,
  type Given,
  isRefused,
  type Outcome,
  type Refused,
  refusedWith,
  wrongParameter,
} from "../answer.ts";

/** How long a client should wait before it asks again. */
export const pollAfterSeconds = 1;

/** The results of two chunks, which is what a push reads at once. */
const resultsPerRead = 400;

/** A push with its first page of results. */
export const wholeStatus = { type: "push.status", outcome: null, from_leaf: 0, limit: pushPageMax } as const;

export interface ReadPushRequest extends Given<"outcome" | "cursor"> {
  readonly caller: Caller;
  readonly pushId: string;
}

/**
 * Any live integration key of the business may read it; for anybody else the push does not exist. A record that was
 * sealed alone, by a person or a hosted key, is not a push of this interface either.
 */
export async function readPush(actors: ActorSystem, request: ReadPushRequest): Promise<Outcome> {
  const { outcome, cursor } = request;
  if (!isPushId(request.pushId)) return pushUnknown();
  const page = parsePage({ outcome, cursor });
  if (isRefused(page)) return page;
  const push = pushRef(request.caller.party.uuid, request.pushId);
  const report = await readResults(actors, push, { ...page, limit: pushPageMax });
  if (report === null || !isOwnBatch(report, request.caller.party.uuid)) return pushUnknown();
  return answerJson(200, pushStatus(report));
}

/** Which results of a push are asked for: those of an outcome, or of all, from a leaf on. */
export interface ResultsPage {
  readonly outcome: RecordOutcome | null;
  readonly from_leaf: number;
}

/** Judges the query parameters `outcome` and `cursor`. */
export function parsePage({
  outcome,
  cursor,
}: Pick<ReadPushRequest, "outcome" | "cursor">): ResultsPage | Refused {
  if (outcome !== null && !isOutcome(outcome)) {
    return wrongParameter("outcome", `outcome is one of ${recordOutcomes.join(", ")}.`);
  }
  const from_leaf = cursor === null ? 0 : parseCursor(cursor);
  if (from_leaf !== null) return { outcome, from_leaf };
  return wrongParameter("cursor", "cursor must be the next_cursor of an earlier page.");
}

/**
 * A push with up to `limit` results. Its actor reads only so much at once, and a page with a filter may end early there: it
 * is put together here.
 */
export async function readResults(
  actors: ActorSystem,
  push: ActorRef<"push">,
  command: Omit<CommandOf<PushProtocol, "push.status">, "type">,
): Promise<PushReport | null> {
  const results: PublishOutcome[] = [];
  for (let from_leaf = command.from_leaf; ; ) {
    const limit = Math.min(command.limit - results.length, resultsPerRead);
    const report = await actors.ask(push, { type: "push.status", ...command, from_leaf, limit });
    if (report === null) return null;
    results.push(...report.results);
    const next = report.next_leaf;
    if (next === null || next <= from_leaf || results.length >= command.limit) return { ...report, results };
    from_leaf = next;
  }
}

/** Whether the push is a batch of this business. */
export function isOwnBatch({ facts }: PushReport, businessUuid: string): boolean {
  return facts.business_uuid === businessUuid && facts.path === "A";
}

function isOutcome(text: string): text is RecordOutcome {
  return (recordOutcomes as readonly string[]).includes(text);
}

/** 404, for a push of another business as well. */
export function pushUnknown(): Refused {
  return refusedWith("not_found", "No push of this business has this push_id.");
}

/** The cursor of the page that begins at this leaf; null behind the last. */
export function cursorAt(leaf: number | null): string | null {
  return leaf === null ? null : `leaf-${leaf}`;
}

function parseCursor(cursor: string): number | null {
  return /^leaf-(0|[1-9][0-9]{0,6})$/.test(cursor) ? Number(cursor.slice(5)) : null;
}

/** PushStatus (specification, «Push, outcome, status»). */
export function pushStatus(report: PushReport): PushStatus {
  const { facts, state } = report;
  const { hold_expires_at: expiresAt = null, hold_decision: decision = null } = report;
  const { source } = facts;
  if (source === "manual") throw new Error("A record that was sealed alone is no push of this interface.");
  const isOpen = state === "received" || state === "queued" || state === "processing";
  return {
    push_id: facts.push_id,
    batch_id: facts.push_id,
    type: facts.collection as CollectionName,
    seq: facts.seq,
    source,
    mode: facts.mode,
    state: state === "received" ? "queued" : state,
    held: state === "held",
    held_reasons: report.held_reasons,
    ...(expiresAt === null ? {} : { hold_expires_at: expiresAt }),
    ...(decision === null ? {} : { hold_decision: decision }),
    records: facts.records,
    counts: report.counts,
    progress: { settled: report.settled, total: facts.records },
    received_at: facts.received_at,
    updated_at: report.updated_at,
    completed_at: report.completed_at,
    error: report.error,
    status_url: `/v1/pushes/${facts.push_id}`,
    ...(isOpen ? { poll_after_seconds: pollAfterSeconds } : {}),
    stalled: report.stalled,
    results: report.results,
    next_cursor: cursorAt(report.next_leaf),
  };
}
