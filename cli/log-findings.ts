// What an audit found in a business's name, and how it is said.

import { accountOfEntries } from "../client/log-account.ts";
import type { AuditedEntry } from "../client/log-audit.ts";
import type { Arguments, CommandContext } from "./command.ts";
import type { LogAccount } from "./log-account.ts";

/** Entries of each kind that an audit lists; so many that a longer list is read from the log itself. */
const listedMax = 10_000;

/** Told where an entry is in a business's name of which its files know nothing. Documented in docs/log.md. */
export const unaccountedCode = "entries_unaccounted";

interface Listed {
  readonly entries: AuditedEntry[];
  /** How many more there are. */
  more: number;
}

export interface LogFindings {
  readonly listed: Listed;
  /** Kept apart, so that no number of other entries hides one that nobody accounts for. */
  readonly unaccounted: Listed;
  readonly toLookAt: Listed;
  readonly isAccounting: boolean;
  onEntry(entry: AuditedEntry): void;
}

export function openFindings({ businessUuid, own }: LogAccount): LogFindings {
  const account = own === null ? null : accountOfEntries(own);
  const [listed, unaccounted, toLookAt] = [empty(), empty(), empty()];
  return {
    ...{ listed, unaccounted, toLookAt, isAccounting: account !== null },
    onEntry: (entry) => {
      if (entry.subject !== businessUuid) return;
      list(listed, entry);
      const standing = account?.(entry);
      if (standing === "unaccounted") list(unaccounted, entry);
      if (standing === "to_look_at") list(toLookAt, entry);
    },
  };
}

function empty(): Listed {
  return { entries: [], more: 0 };
}

function list(into: Listed, entry: AuditedEntry): void {
  if (into.entries.length < listedMax) into.entries.push(entry);
  else into.more += 1;
}

export function say(
  args: Arguments,
  { terminal }: CommandContext,
  { from, size, found }: { readonly from: number; readonly size: number; readonly found: LogFindings },
): void {
  const { listed, unaccounted, toLookAt, isAccounting } = found;
  const isClean = unaccounted.entries.length === 0;
  if (args.flag("json")) {
    const accounted = {
      ...{ ...(isClean ? {} : { code: unaccountedCode }) },
      ...{ unaccounted: unaccounted.entries, unaccounted_more: unaccounted.more },
      ...{ to_look_at: toLookAt.entries, to_look_at_more: toLookAt.more },
    };
    const base = { valid: true, from, size, entries: listed.entries, more: listed.more };
    terminal.print(JSON.stringify(isAccounting ? { ...base, ...accounted } : base));
    return;
  }
  const lineOf = ({ index, leaf_type, leaf }: AuditedEntry): string => `${index}  ${leaf_type}  ${leaf}`;
  const rest = (more: number): void => void (more > 0 && terminal.print(`and ${more} more`));
  for (const entry of listed.entries) terminal.print(lineOf(entry));
  rest(listed.more);
  for (const entry of toLookAt.entries)
    terminal.print(`To be looked at, since no file here foretells it: ${lineOf(entry)}`);
  rest(toLookAt.more);
  for (const entry of unaccounted.entries) terminal.print(terminal.bad(`! ${lineOf(entry)}: ${why(entry)}`));
  rest(unaccounted.more);
  if (!isClean) terminal.print(terminal.bad(`${unaccountedCode}: not by the files that were named.`));
  terminal.print(terminal.good(`The log is whole and continues, from entry ${from} to its size ${size}.`));
}

function why({ leaf_type }: AuditedEntry): string {
  return leaf_type === "key_event"
    ? "a key that no configuration has, or a custody statement"
    : "a seal that was not made here";
}
