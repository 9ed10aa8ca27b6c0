// Notices as lines: `notices.jsonl` in the home folder, and one line of the log each.
//   N1. A notice counts as delivered once its line is on the disk.
//   N2. The file is opened by its name for each line, so that an operator's rotation may move it at any time.

import { join } from "node:path";
import type { NoticeChannel, PushNotice } from "../../actors/messages/notices.ts";
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
      const { business_uuid, push_id } = notice;
      const actor = `push/${business_uuid}.${push_id}`;
      options.log({ level: "info", event: "push.notice", actor, detail: summaryOf(notice) });
    },
  };
}

/** A sentence about the push, for people. */
export function summaryOf({ state, records, counts, error, held_reasons }: PushNotice): string {
  const { accepted, updated, rejected } = counts;
  const published = `${accepted} accepted, ${updated} updated, ${rejected} rejected`;
  if (state === "held")
    return `${records} records are held for confirmation by an owner or admin: ${held_reasons.join(", ")}`;
  if (state === "failed")
    return `the push of ${records} records failed (${error?.code ?? "unknown"}): ${published}`;
  return `the push of ${records} records is complete: ${published}`;
}
