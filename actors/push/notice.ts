// The notice of a push that ended or is held: for every queued push once, and for a held push of any size.

import { noticeEffects, type PushNotice } from "../messages/notices.ts";
import type { Effect } from "../system/definition.ts";
import { type PushView, reportedState, reportPush } from "./report.ts";

export function noticesOf(view: PushView): readonly Effect[] {
  const notice = noticeOf(view);
  return notice === null ? [] : noticeEffects(notice);
}

function noticeOf(view: PushView): PushNotice | null {
  const { facts, heldReasons, error, completedAtMs, updatedAtMs } = view.snapshot.context;
  const state = reportedState(view);
  if (facts === null || facts.path === "B") return null;
  if (state !== "complete" && state !== "failed" && state !== "held") return null;
  if (facts.mode === "inline" && state !== "held") return null;
  const report = reportPush(view, { outcome: null, from_leaf: 0, limit: 0 });
  const { accepted, updated, rejected, held } = report?.counts ?? noCounts;
  return {
    v: 1,
    notice_id: `${facts.push_id}.${state}`,
    business_uuid: facts.business_uuid,
    push_id: facts.push_id,
    state,
    records: facts.records,
    counts: { accepted, updated, rejected, held },
    error,
    held_reasons: state === "held" ? heldReasons.map(({ code }) => code) : [],
    status_url: `/v1/pushes/${facts.push_id}`,
    at: new Date(completedAtMs ?? updatedAtMs).toISOString(),
  };
}

const noCounts = { accepted: 0, updated: 0, rejected: 0, held: 0 };
