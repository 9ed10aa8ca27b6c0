// GET /v1/holds: the held pushes of a business, oldest first, with the reasons for which they wait.

import { businessRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { problem } from "../protocol/problem.ts";
import type { HeldPushes } from "../protocol/wire/push.ts";
import { answerJson, type Outcome, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";

/** Number of held pushes in one answer: each is asked for its own report. */
export const holdsPageMax = 20;

export interface ListHoldsRequest {
  readonly caller: Pick<Caller, "party">;
  /** The `next_cursor` of the previous page; null for the first page. */
  readonly cursor: string | null;
}

export async function listHolds(
  { actors }: { readonly actors: ActorSystem },
  { caller, cursor }: ListHoldsRequest,
): Promise<Outcome> {
  const after = cursor === null ? 0 : parseCursor(cursor);
  if (after === null) {
    return refused(
      problem("request_invalid", "cursor must be the next_cursor of an earlier page.", {
        pointer: "/query/cursor",
      }),
    );
  }
  const { uuid } = caller.party;
  const { holds } = await actors.ask(businessRef(uuid), { type: "holds.read", after, limit: holdsPageMax });
  const reports = await Promise.all(
    holds.map(({ push_id }) =>
      actors.ask(pushRef(uuid, push_id), { type: "push.status", outcome: null, from_leaf: 0, limit: 0 }),
    ),
  );
  const last = holds.at(-1);
  const body: HeldPushes = {
    // A push that was numbered and is not accepted yet, or whose hold has just ended, is not held.
    holds: reports.flatMap((report) =>
      report?.state === "held" && report.hold_expires_at !== null
        ? [
            {
              push_id: report.facts.push_id,
              seq: report.facts.seq,
              key_id: report.facts.key_id,
              records: report.facts.records,
              received_at: report.facts.received_at,
              hold_expires_at: report.hold_expires_at,
              held_reasons: report.held_reasons,
              status_url: `/v1/pushes/${report.facts.push_id}`,
            },
          ]
        : [],
    ),
    next_cursor: last === undefined || holds.length < holdsPageMax ? null : `hold-${last.number}`,
  };
  return answerJson(200, body);
}

function parseCursor(cursor: string): number | null {
  return /^hold-(0|[1-9][0-9]{0,14})$/.test(cursor) ? Number(cursor.slice(5)) : null;
}
