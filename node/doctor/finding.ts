// A finding of the doctor: one thing that is unsafe, where it is, and how to fix it.

import { ConfigError } from "../configuration/config-error.ts";

export interface Finding {
  /** Stable identifier in lower_snake. */
  readonly code: FindingCode;
  /** The setting, file or address concerned. */
  readonly where: string;
  /** What is wrong; continues the sentence after `where`. */
  readonly problem: string;
  /** What to do. */
  readonly fix: string;
  /** Not unsafe for the node or its callers, but less than production should have. It fails nothing. */
  readonly warning?: true;
}

export type FindingCode =
  | "log_key_missing"
  | "setting_refused"
  | "setting_unknown"
  | "not_production"
  | "plain_text_allowed"
  | "tls_unverified"
  | "debugger_open"
  | "sandbox_left"
  | "url_missing"
  | "url_plain"
  | "proxies_missing"
  | "limit_missing"
  | "lists_missing"
  | "list_file_unused"
  | "log_unwitnessed"
  | "ops_hosts_missing"
  | "secret_weak"
  | "secret_shared"
  | "default_user"
  | "no_password"
  | "file_unreadable"
  | "file_open"
  | "certificate_ends"
  | "certificate_wrong"
  | "keys_refused"
  | "key_ends"
  | "database_unreachable"
  | "database_open"
  | "database_superuser"
  | "schema_newer"
  | "clock_off"
  | "node_unreachable"
  | "node_not_ready"
  | "ops_unguarded";

/** Turns one of the node's own refusals into a finding. */
export function findingOf(code: FindingCode, error: ConfigError): Finding {
  const { setting: where, fix: text } = error;
  const at = text.indexOf("; ");
  return at < 0
    ? { code, where, problem: text, fix: "Correct it." }
    : { code, where, problem: text.slice(0, at), fix: sentence(text.slice(at + 2)) };
}

/** Runs `act` and turns what it throws into a finding, unless it is a bug. */
export async function findingsOf(
  code: FindingCode,
  where: string,
  act: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ConfigError) return [findingOf(code, error)];
    if (error instanceof TypeError || error instanceof RangeError || !(error instanceof Error)) throw error;
    return [{ code, where, problem: error.message.replace(/\.$/, ""), fix: "Correct it, and ask again." }];
  }
}

export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}
