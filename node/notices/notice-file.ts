// Notices as lines: `notices.jsonl` in the home folder, and one line of the log each.
//   N1. A notice counts as delivered once its line is on the disk.
//   N2. The file is opened by its name for each line, so that an operator's rotation may move it at any time.

import { join } from "node:path";
import type { Notice, NoticeChannel, PushNotice, TakedownNotice } from "../../actors/messages/notices.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { appendLine } from "../append-line.ts";

export function openNoticeFile(options: {
  readonly home: string;
  readonly log: (entry: LogEntry) => void;
}): NoticeChannel {
  const path = join(options.home, "notices.jsonl");
  return {
    deliver: async (notice) => {
      appendLine(path, `${JSON.stringify(notice)}\n`);
      const event = isOfPush(notice) ? "push.notice" : "takedown.notice";
      options.log({ level: "info", event, actor: actorOf(notice), detail: summaryOf(notice) });
    },
  };
}

export function isOfPush(notice: Notice): notice is PushNotice {
  return "push_id" in notice;
}

/** The actor that decided what the notice is about. */
export function actorOf(notice: Notice): string {
  const { business_uuid } = notice;
  return isOfPush(notice) ? `push/${business_uuid}.${notice.push_id}` : `business/${business_uuid}`;
}

/** A sentence about the push or the takedown, for people. */
export function summaryOf(notice: Notice): string {
  return isOfPush(notice) ? pushSummary(notice) : takedownSummary(notice);
}

function takedownSummary({ record_id, state }: TakedownNotice): string {
  const what = record_id === null ? "everything of the business" : `record ${record_id}`;
  return state === "taken_down"
    ? `the operators of the service took ${what} out of serving`
    : `the takedown of ${what} was lifted`;
}

function pushSummary({ state, records, counts, error, held_reasons }: PushNotice): string {
  const { accepted, updated, rejected } = counts;
  const published = `${accepted} accepted, ${updated} updated, ${rejected} rejected`;
  if (state === "held")
    return `${records} records are held for confirmation by an owner or admin: ${held_reasons.join(", ")}`;
  if (state === "failed")
    return `the push of ${records} records failed (${error?.code ?? "unknown"}): ${published}`;
  return `the push of ${records} records is complete: ${published}`;
}
