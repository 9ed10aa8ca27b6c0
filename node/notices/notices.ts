// The channels of notices of one node: a file and its log, and mail where a server is named.

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Notice, NoticeChannel, PushNotice, TakedownNotice } from "../../actors/messages/serving.ts";
import type { FormerMail, NoticeMail, PersonMail } from "../../actors/person/activities.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import { noticeWords } from "../../portal/notice-words.ts";
import { accountPath } from "../../portal/pages/frame.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { counted } from "../../protocol/result.ts";
import { isObject } from "../../std/json-pointer.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { english } from "../../web/texts/catalogue.ts";
import type { NodeConfig } from "../configuration/config.ts";
import { appendLine } from "../keeping/audit-log.ts";
import { type MailConfig, mailAddress, readSecretText } from "./mail-config.ts";

export interface Notices {
  readonly record: NoticeChannel;
  readonly mail: NoticeChannel;
  /** To people, at the addresses that they gave; null where nothing is mailed. */
  readonly people: PeopleMail | null;
  close(): void;
}

export interface PeopleMail extends PersonMail {
  /** Mails the link that confirms an address. False if it was not taken now. */
  sendLink(mail: {
    readonly person_id: string;
    readonly to: string;
    readonly link: string;
  }): Promise<boolean>;
}

/** Throws {@link ConfigError}. */
export function openNotices(
  { home, mail, publicUrls, passkeys }: Pick<NodeConfig, "home" | "mail" | "publicUrls" | "passkeys">,
  { clock, log }: { readonly clock: Clock; readonly log: (entry: LogEntry) => void },
): Notices {
  const record = openNoticeFile({ home, log });
  if (mail === null) return { record, mail: { deliver: async () => {} }, people: null, close: () => {} };
  const { business_url: businessUrl = null } = publicUrls;
  // A sandbox's own portal is the last that it names.
  const portalUrl = publicUrls.portal_url ?? passkeys?.origins.at(-1) ?? null;
  const channel = openNoticeMail({ config: mail, businessUrl, portalUrl, clock, log });
  return { record, mail: channel, people: channel, close: () => channel.close() };
}

// Who is told about the pushes of a business: a JSON file that an operator keeps, `{"<business uuid>": ["address", …]}`. It is
// read for every notice, so a change takes effect at once.

/** Further addresses of a business are left out. */
const recipientsMax = 20;
const fileBytesMax = 16_777_216;

/** Throws if the file cannot be read as such a table; what cannot be an address is left out. */
export async function readRecipients(path: string, businessUuid: string): Promise<readonly string[]> {
  const text = await readFile(path, "utf8");
  if (text.length > fileBytesMax) throw new Error(`${path} is larger than ${fileBytesMax} characters.`);
  const table: unknown = JSON.parse(text);
  if (!isObject(table)) throw new Error(`${path} is not a JSON object.`);
  const listed = (table as Readonly<Record<string, unknown>>)[businessUuid];
  if (listed === undefined) return [];
  if (!Array.isArray(listed)) throw new Error(`${path} has no list of addresses for ${businessUuid}.`);
  const isAddress = (each: unknown): each is string => typeof each === "string" && mailAddress.test(each);
  return [...new Set(listed.filter(isAddress))].slice(0, recipientsMax);
}

// Notices by mail, over SMTP with TLS.
//   M1. A notice that no server took is delivered again later, by the push's actor, with the same Message-ID; what a server has
//       refused for good (5xx), and what is older than three days, is given up, with a line of the log.
//   M2. A server that cannot be reached is left alone for a minute, whatever else waits for it. What keeps one message from being made
//       holds up no other.
//   M3. Everything is bounded: connections, the time that each step may take, recipients, the size of a message.
//   M4. Nothing that a business or a person chose is part of a header but the address of the person that the mail is for.
//   M5. No log, and nothing that operators see, has the address of a person: of what a server answers about mail to people, only the code
//       is kept, since servers repeat addresses in spellings of their own.

const connectionsMax = 2;
const connectMs = 10_000;
const silentMs = 20_000;
const pauseAfterFailureMs = 60_000;
const givenUpAfterMs = 3 * 86_400_000;

export interface NoticeMailer extends NoticeChannel, PeopleMail {
  close(): void;
}

interface MailDeps {
  readonly config: MailConfig;
  readonly businessUrl: string | null;
  readonly portalUrl: string | null;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
}

/** Throws {@link ConfigError} if the password or the authority cannot be read. */
export function openNoticeMail({ config, businessUrl, portalUrl, clock, log }: MailDeps): NoticeMailer {
  const transport = transportOf(config);
  let pausedUntilMs = 0;
  /** Gives a message up, or throws for it to be tried again (M1, M2). Null is for nobody. */
  const take = async (
    { id, actor, atMs, isPersonal = false }: Attempted,
    messageFor: () => SendMailOptions | null | Promise<SendMailOptions | null>,
  ): Promise<void> => {
    const note = (level: LogEntry["level"], event: string, detail: string): void =>
      log({ level, event, actor, detail });
    const nowMs = clock.now();
    if (nowMs - atMs > givenUpAfterMs) {
      note("error", "notice.given_up", `${id} was not taken for three days`);
      return;
    }
    if (nowMs < pausedUntilMs) throw unavailable("the mail server was not reached a moment ago");
    let isMade = false;
    try {
      const message = await messageFor();
      if (message === null) return;
      isMade = true;
      await transport.sendMail(message);
      const count = Array.isArray(message.to) ? message.to.length : 1;
      note("info", "notice.mailed", `${id} to ${counted(count, "recipient")}`);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      const detail = isPersonal ? answerOf(error) : said;
      if (isRefusedForGood(error)) {
        note("error", "notice.refused", detail);
        return;
      }
      if (isMade && !isOfMessage(error)) pausedUntilMs = clock.now() + pauseAfterFailureMs;
      note("warn", "notice.not_mailed", detail);
      throw unavailable(detail);
    }
  };
  return {
    deliver: (notice) => {
      const { notice_id: id, at, business_uuid } = notice;
      const actor = actorOf(notice);
      return take({ id, actor, atMs: Date.parse(at) }, async () => {
        const { recipients } = config;
        const to = recipients === null ? [] : await readRecipients(recipients, business_uuid);
        return to.length === 0 ? null : messageOf(notice, { config, businessUrl, to });
      });
    },
    send: (mail) => {
      const { notice_id: id, at_ms: atMs } = mail.notice;
      const actor = `person/${mail.person_id}`;
      return take({ id, actor, atMs, isPersonal: true }, () => personMessageOf(mail, { config, portalUrl }));
    },
    sendFormer: (mail) => {
      const id = `mail.${mail.change}.${mail.at_ms}`;
      const actor = `person/${mail.person_id}`;
      return take({ id, actor, atMs: mail.at_ms, isPersonal: true }, () =>
        formerMessageOf(mail, { config, portalUrl }),
      );
    },
    sendLink: async ({ person_id, to, link }) => {
      const { subject, text } = english.portal.notices.mail.link(link);
      try {
        await transport.sendMail({ ...ofService(config), to, subject, text });
        return true;
      } catch (error) {
        const actor = `person/${person_id}`;
        log({ level: "warn", event: "notice.link_not_mailed", actor, detail: answerOf(error) });
        return false;
      }
    },
    close: () => transport.close(),
  };
}

interface Attempted {
  readonly id: string;
  readonly actor: string;
  readonly atMs: number;
  /** Whether it goes to a person's address (M5). */
  readonly isPersonal?: boolean;
}

function answerOf(error: unknown): string {
  const { responseCode } = Object(error) as { readonly responseCode?: unknown };
  return `the mail server answered ${typeof responseCode === "number" ? responseCode : "nothing"}`;
}

/** What is the same on all mail. */
function ofService({ from }: MailConfig) {
  return { from, headers: { "auto-submitted": "auto-generated" } };
}

function domainOf({ from }: MailConfig): string {
  return from.slice(from.lastIndexOf("@") + 1);
}

/** A hash: ids have characters that a business chose (M4). */
function messageIdOf(parts: readonly string[], config: MailConfig): string {
  const hash = nativeCrypto.sha256(utf8(JSON.stringify(parts)));
  return `<${toBase64Url(hash)}@${domainOf(config)}>`;
}

/** One message for a notice and a person, however often it is sent. */
function personMessageOf(
  { uuid, legal_name, notice, person_id, to, name }: NoticeMail,
  { config, portalUrl }: Pick<MailDeps, "config" | "portalUrl">,
) {
  const { title, words } = noticeWords(notice, name);
  const date = new Date(notice.at_ms);
  const { mail } = english.portal.notices;
  const page = portalUrl === null ? [] : [mail.page(`${portalUrl}/notices/${uuid}`)];
  const lines = [mail.about(legal_name), words, mail.at(date.toISOString()), ...page];
  return {
    ...ofService(config),
    to,
    subject: title,
    messageId: messageIdOf([uuid, notice.notice_id, person_id], config),
    date,
    text: `${lines.join("\n\n")}\n`,
  };
}

function formerMessageOf(
  { to, change, at_ms, person_id }: FormerMail,
  { config, portalUrl }: Pick<MailDeps, "config" | "portalUrl">,
) {
  const date = new Date(at_ms);
  const page = portalUrl === null ? null : `${portalUrl}${accountPath}`;
  const { subject, text } = english.portal.notices.mail.former(change, date.toISOString(), page);
  const messageId = messageIdOf([person_id, `mail.${change}.${at_ms}`], config);
  return { ...ofService(config), to, subject, messageId, date, text };
}

function transportOf(config: MailConfig) {
  const { host, port, isSecure, isPlain, user, passwordFile, caFile } = config;
  const pass = passwordFile === null ? null : readSecretText("SVC_SMTP_PASSWORD_FILE", passwordFile);
  return createTransport({
    pool: true,
    maxConnections: connectionsMax,
    host,
    port,
    secure: isSecure,
    requireTLS: !isSecure && !isPlain,
    ignoreTLS: isPlain,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silentMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    tls: {
      minVersion: "TLSv1.2",
      ...(caFile === null ? {} : { ca: readFileSync(caFile) }),
    },
    ...(user === null || pass === null ? {} : { auth: { user, pass } }),
  });
}

function messageOf(
  notice: Notice,
  { config, businessUrl, to }: Pick<MailDeps, "config" | "businessUrl"> & { readonly to: readonly string[] },
) {
  const { notice_id, at } = notice;
  const { subject, about, reason } = wordsOf(notice);
  const lines = [
    `${about}: ${summaryOf(notice)}.`,
    ...(reason === null ? [] : [`Reason: ${reason}`]),
    `Since ${at}.`,
    `Status: ${businessUrl ?? ""}${notice.status_url}`,
  ];
  return {
    ...ofService(config),
    to: [...to],
    subject,
    messageId: `<${notice_id}@${domainOf(config)}>`,
    date: new Date(at),
    text: `${lines.join("\n\n")}\n`,
    attachments: [
      { filename: "notice.json", contentType: "application/json", content: JSON.stringify(notice) },
    ],
  };
}

interface Words {
  /** Made of nothing that anybody wrote (M4). */
  readonly subject: string;
  readonly about: string;
  readonly reason: string | null;
}

function wordsOf(notice: Notice): Words {
  const { business_uuid, state } = notice;
  if (isOfPush(notice)) {
    const { push_id, error } = notice;
    const reason = error === null ? null : `${error.code}: ${error.detail}`;
    return {
      subject: `Push ${push_id} is ${state}`,
      reason,
      about: `Push ${push_id} of business ${business_uuid}`,
    };
  }
  const { record_id, statement_of_reasons: reason } = notice;
  const what = record_id === null ? "Your business" : `Record ${record_id}`;
  return {
    subject: state === "lifted" ? `${what} is served again` : `${what} was taken out of serving`,
    about: `Business ${business_uuid}`,
    reason,
  };
}

/** The server understood the message, or its envelope, and will never take it. A refused login may be mended. */
function isRefusedForGood(error: unknown): boolean {
  const { responseCode } = Object(error) as { readonly responseCode?: unknown };
  return isOfMessage(error) && typeof responseCode === "number" && responseCode >= 500;
}

/** Whether the server was reached and objects to this message or its recipients. */
function isOfMessage(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return code === "EENVELOPE" || code === "EMESSAGE";
}

function unavailable(detail: string): Unavailable {
  return new Unavailable(`The notice was not mailed: ${detail}`, {
    reason: "smtp",
    effect: "unknown",
    retryAfterSeconds: 60,
  });
}

// Notices as lines: `notices.jsonl` in the home folder, and one line of the log each.
//   N1. A notice counts as delivered once its line is on the disk.
//   N2. The file is opened by its name for each line, so that an operator's rotation may move it at any time.

function openNoticeFile(options: {
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

function isOfPush(notice: Notice): notice is PushNotice {
  return "push_id" in notice;
}

/** The actor that decided what the notice is about. */
function actorOf(notice: Notice): string {
  const { business_uuid } = notice;
  return isOfPush(notice) ? `push/${business_uuid}.${notice.push_id}` : `business/${business_uuid}`;
}

/** A sentence about the push or the takedown, for people. */
function summaryOf(notice: Notice): string {
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
