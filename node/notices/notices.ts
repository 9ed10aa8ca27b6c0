// The channels of notices of one node: a file and its log, and mail where a server is named.

import type { NoticeChannel } from "../../actors/messages/notices.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { Clock } from "../../crypto/port.ts";
import type { NodeConfig } from "../config.ts";
import { openNoticeFile } from "./notice-file.ts";
import { openNoticeMail } from "./notice-mail.ts";

export interface Notices {
  readonly record: NoticeChannel;
  readonly mail: NoticeChannel;
  close(): void;
}

/** Throws {@link ConfigError}. */
export function openNotices(
  { home, mail, publicUrls }: Pick<NodeConfig, "home" | "mail" | "publicUrls">,
  { clock, log }: { readonly clock: Clock; readonly log: (entry: LogEntry) => void },
): Notices {
  const record = openNoticeFile({ home, log });
  if (mail === null) return { record, mail: { deliver: async () => {} }, close: () => {} };
  const businessUrl = publicUrls.business_url ?? null;
  const channel = openNoticeMail({ config: mail, businessUrl, clock, log });
  return { record, mail: channel, close: () => channel.close() };
}
