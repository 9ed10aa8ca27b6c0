// Settings of notices by mail. Without SVC_SMTP_URL nothing is mailed.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError, type Env } from "../configuration/config-error.ts";

export interface MailConfig {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise STARTTLS, without which nothing is sent. */
  readonly isSecure: boolean;
  /** True for a server on this machine that is spoken to in the clear. */
  readonly isPlain: boolean;
  readonly user: string | null;
  /** Absolute path of the file of the password; read when the node starts. */
  readonly passwordFile: string | null;
  /** Absolute path of the certificate authority of the server; null for the platform's own list. */
  readonly caFile: string | null;
  readonly from: string;
  /** Absolute path of the table of further recipients; null where there is none. */
  readonly recipients: string | null;
}

/** An address as mail headers and SMTP commands may contain it, without a name and without quoting. */
export const mailAddress =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

const dependent = [
  "SVC_NOTICE_FROM",
  "SVC_NOTICE_RECIPIENTS",
  "SVC_SMTP_CA_FILE",
  "SVC_SMTP_PASSWORD_FILE",
] as const;

const urlUse = "use smtps://host:465 or smtp://host:587, with user@ before the host where it asks for one";

/** Throws {@link ConfigError}. */
export function parseMail(env: Env): MailConfig | null {
  const text = env["SVC_SMTP_URL"];
  if (text === undefined) {
    const idle = dependent.find((name) => env[name] !== undefined);
    if (idle !== undefined) throw new ConfigError(idle, "has no effect without SVC_SMTP_URL");
    return null;
  }
  const url = URL.parse(text);
  const isKnown =
    url !== null && (url.protocol === "smtps:" || url.protocol === "smtp:") && url.hostname !== "";
  if (!isKnown || url.password !== "" || (url.pathname !== "" && url.pathname !== "/") || url.search !== "")
    throw new ConfigError("SVC_SMTP_URL", `is not the address of a mail server; ${urlUse}`);
  const from = needed(env, "SVC_NOTICE_FROM");
  if (!mailAddress.test(from))
    throw new ConfigError("SVC_NOTICE_FROM", "is not an address such as notices@svc.example");
  const isSecure = url.protocol === "smtps:";
  const isPlain = !isSecure && isLoopback(url.hostname);
  const user = url.username === "" ? null : decodeURIComponent(url.username);
  const passwordFile = pathOf(env, "SVC_SMTP_PASSWORD_FILE");
  if ((user === null) !== (passwordFile === null))
    throw new ConfigError("SVC_SMTP_PASSWORD_FILE", "goes together with a user in SVC_SMTP_URL");
  if (isPlain && user !== null)
    throw new ConfigError(
      "SVC_SMTP_URL",
      `names a user for a server that is spoken to in the clear; ${urlUse}`,
    );
  return Object.freeze({
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isSecure ? 465 : 587) : Number(url.port),
    isSecure,
    isPlain,
    user,
    passwordFile,
    caFile: pathOf(env, "SVC_SMTP_CA_FILE"),
    from,
    recipients: pathOf(env, "SVC_NOTICE_RECIPIENTS"),
  });
}

/** Throws {@link ConfigError}. */
export function readSecretText(name: string, path: string): string {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new ConfigError(name, `names a file that cannot be read (${String(error)})`);
  }
}

function needed(env: Env, name: string): string {
  const text = env[name];
  if (text === undefined || text === "") throw new ConfigError(name, "is needed for SVC_SMTP_URL");
  return text;
}

function pathOf(env: Env, name: string): string | null {
  const text = env[name];
  return text === undefined || text === "" ? null : resolve(text);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}
