// `svc log audit`: follows the transparency log like a monitor. The server is not trusted.

import { resolve } from "node:path";
import { SvcConnectionError } from "../client/errors.ts";
import {
  type AuditedEntry,
  type AuditedLog,
  accountOfEntries,
  anchoredLog,
  auditLog,
  formatAuditState,
  type OwnActs,
  parseAuditState,
  parseServedPolicy,
  portablePrimitives,
} from "../client/log-audit.ts";
import { httpLog, LogFault, type ReadLog } from "../client/log-reader.ts";
import { custodyLeaves } from "../client/proofs.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import { readFileIfThere, replaceFile } from "../crypto/durable-file.ts";
import {
  type Call,
  type Command,
  type CommandContext,
  type ExitCode,
  exitCodes,
  UsageError,
} from "./command.ts";
import { homeOf, loadConfig, loadKey, loadSandbox, readText } from "./connection.ts";
import { leavesIn, ownSeals } from "./own-seals.ts";
import { loadOwner } from "./owner.ts";
import { visible } from "./terminal.ts";

// What an audit found in a business's name, and how it is said.

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

function openFindings({ businessUuid, own }: LogAccount): LogFindings {
  const account = own === null ? null : accountOfEntries(own);
  const [listed, unaccounted, toLookAt] = [empty(), empty(), empty()];
  return {
    listed,
    unaccounted,
    toLookAt,
    isAccounting: account !== null,
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

function say(
  call: Call,
  { from, size, found }: { readonly from: number; readonly size: number; readonly found: LogFindings },
): void {
  const { terminal } = call;
  const { listed, unaccounted, toLookAt, isAccounting } = found;
  const isClean = unaccounted.entries.length === 0;
  if (call.flag("json")) {
    const accounted = {
      ...(isClean ? {} : { code: unaccountedCode }),
      unaccounted: unaccounted.entries,
      unaccounted_more: unaccounted.more,
      to_look_at: toLookAt.entries,
      to_look_at_more: toLookAt.more,
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

const intervalDefault = 60;
const retryMaxMs = 60_000;

export const logAudit: Command = {
  name: "log audit",
  usage: "",
  summary: "follow the transparency log: every entry, tile and proof since the last audit",
  details: [
    "The log's key comes from --log, or from the key set of the service under --anchors, or with --sandbox under the sandbox's anchors.",
    "Exits with 0 if the log is whole and continues the last audit, with 1 and a code (docs/log.md) if it is not.",
    "With --config also with 1 and entries_unaccounted if something is in the business's name that its files do not know.",
  ],
  options: `
    --url URL            the verification host; needed unless --sandbox says it
    --log 'ORIGIN KEY'…  the log's origin and verifier key; again for a further key of it
    --anchors FILE       pinned anchors (JSON)
    --sandbox            audit the sandbox of the home folder, under its anchors
    --home DIR           home folder whose sandbox.json has the anchors, and in which svc push works
    --state FILE         how far the log was audited (default log-audit.json)
    --witnesses FILE     the policy of GET /v1/log/witnesses (JSON): who has to have cosigned the checkpoint
    --business UUID      list what was sealed, certified or registered in its name
    --config FILE…       name what the business did not do itself; again for each of its keys
    --leaves FILE…       further leaves (sha256:…) that the business accounts for, a line each
    --follow             go on auditing until a signal; one line for each new checkpoint
    --interval SECONDS   with --follow: between two audits, 1 to 86400 (default ${intervalDefault})
    --json               print the result as JSON`,
  run: async (call) => {
    const seconds = call.integer("interval", { min: 1, max: 86_400, fallback: intervalDefault });
    if (call.text("interval") !== null && !call.flag("follow"))
      throw new UsageError("--interval goes with --follow.");
    try {
      return call.flag("follow") ? await follow(call, seconds * 1_000) : exitOf(await auditOnce(call, null));
    } catch (error) {
      if (!(error instanceof LogFault)) throw error;
      const { code, message: detail } = error;
      if (call.flag("json")) call.terminal.print(JSON.stringify({ valid: false, code, detail }));
      else call.terminal.print(call.terminal.bad(visible(`Refused: ${code}: ${detail}`)));
      return exitCodes.negative;
    }
  },
};

interface Round {
  readonly size: number;
  readonly isAccounted: boolean;
}

function exitOf({ isAccounted }: Pick<Round, "isAccounted">): ExitCode {
  return isAccounted ? exitCodes.done : exitCodes.negative;
}

/** Ends by a signal, or by a fault of the log. A kill at any moment loses nothing: the state is replaced as a whole. */
async function follow(call: Call, intervalMs: number): Promise<ExitCode> {
  let isAccounted = true;
  call.onStop(() => exitOf({ isAccounted }));
  let last: Round | null = null;
  for (let failures = 0; ; ) {
    try {
      last = await auditOnce(call, last?.size ?? null);
      isAccounted &&= last.isAccounted;
      failures = 0;
      await call.wait(intervalMs);
    } catch (error) {
      if (!(error instanceof SvcConnectionError)) throw error;
      const delayMs = Math.min(retryMaxMs, 1_000 * 2 ** Math.min(failures, 10));
      failures += 1;
      call.terminal.note(visible(`Trying again in ${delayMs / 1_000} s: ${error.message}`));
      await call.wait(delayMs);
    }
  }
}

/** Prints no line for a log that has the size which was said last. Keys and files are read each time: they change while one follows. */
async function auditOnce(call: Call, saidSize: number | null): Promise<Round> {
  const account = await accountOf(call);
  const { url, log } = await chosenLog(call, account);
  const witnesses = await witnessesOf(call);
  const path = resolve(call.cwd, call.text("state") ?? "log-audit.json");
  const text = await readFileIfThere(path);
  const state = text === null ? null : parseAuditState(text);
  const read = httpLog({ url, fetch: (at, init) => fetch(at, init) });
  const found = openFindings(await withCustody(account, read));
  const audited = { ...portablePrimitives, ...log, read, ...(witnesses === null ? {} : { witnesses }) };
  const { from, size, state: next } = await auditLog(audited, state, found.onEntry);
  if (size !== saidSize) say(call, { from, size, found });
  // Written last: what a killed audit may not have printed is audited again.
  await replaceFile(path, formatAuditState(next));
  return { size, isAccounted: found.unaccounted.entries.length === 0 };
}

async function witnessesOf(call: Call): Promise<NonNullable<AuditedLog["witnesses"]> | null> {
  const file = call.text("witnesses");
  if (file === null) return null;
  const policy = parseServedPolicy(await readText(resolve(call.cwd, file)));
  if (policy === null) throw new UsageError(`${file} is not a policy as GET /v1/log/witnesses answers it.`);
  return policy;
}

async function chosenLog(call: Call, account: LogAccount) {
  const sandbox = call.flag("sandbox") ? await loadSandbox(homeOf(call)) : null;
  const url = call.text("url") ?? account.url ?? sandbox?.verify_url ?? null;
  if (url === null || !URL.canParse(url)) throw new UsageError("Name the verification host with --url URL.");
  const lines = call.texts("log");
  if (lines.length > 0) {
    const { parseWitnessedLogs } = await import("../node/witness/witnessed-logs.ts");
    const [log, other] = parseWitnessedLogs("--log", lines);
    if (log === undefined || other !== undefined) throw new UsageError("--log names keys of one log.");
    return { url, log };
  }
  const file = call.text("anchors");
  if (file === null && sandbox === null)
    throw new UsageError(
      "Name the log with --log 'ORIGIN KEY', or the anchors with --anchors FILE or --sandbox.",
    );
  const anchors = file === null ? JSON.stringify(sandbox?.anchors) : await readText(resolve(call.cwd, file));
  const keySet = await httpLog({ url, fetch: (at, init) => fetch(at, init) }).keySet();
  const log = anchoredLog(anchors, keySet);
  if (typeof log === "string") throw new UsageError(log);
  return { url, log };
}

// Whose entries `svc log audit` lists, and what the business can account for: the keys of its configurations, the seals that this
// program made with the home folder, and the leaves that a person looked at.

interface LogAccount {
  readonly businessUuid: string | null;
  /** The verification host that the configurations name. */
  readonly url: string | null;
  /** Null without a configuration: then nothing is known of what the business did. */
  readonly own: OwnActs | null;
}

/** Throws {@link UsageError} for configurations that are not of one business. */
async function accountOf(call: Call): Promise<LogAccount> {
  const named = call.text("business");
  const files = call.texts("config");
  if (files.length === 0) {
    if (call.texts("leaves").length > 0) throw new UsageError("--leaves goes with --config FILE.");
    return { businessUuid: named, url: null, own: null };
  }
  const read = await Promise.all(files.map((file) => accountIn(file, call)));
  const owned = read.flatMap(({ businessUuid }) => businessUuid ?? []);
  const businessUuid = named ?? owned[0] ?? null;
  if (businessUuid === null)
    throw new UsageError(
      "The configuration does not say of which business it is. Name it with --business UUID.",
    );
  const other = read.findIndex((each) => each.businessUuid !== null && each.businessUuid !== businessUuid);
  if (other >= 0) throw new UsageError(`${files[other]} is not of the business ${businessUuid}.`);
  const seals = await ownSeals(homeOf(call));
  const lists = await Promise.all(call.texts("leaves").map((file) => readText(resolve(call.cwd, file))));
  return {
    businessUuid,
    url: read.find((each) => each.url !== null)?.url ?? null,
    own: {
      businessUuid,
      keyIds: read.flatMap(({ keyIds }) => keyIds),
      leaves: new Set([...seals, ...lists.flatMap(leavesIn)]),
    },
  };
}

/** The account with the custody statements about the business's keys, which the service publishes. */
async function withCustody(account: LogAccount, log: Pick<ReadLog, "keyCustody">): Promise<LogAccount> {
  const { own } = account;
  if (own === null) return account;
  const custody = custodyLeaves(await log.keyCustody(own.businessUuid), own);
  return {
    ...account,
    own: { ...own, leaves: new Set([...own.leaves, ...custody.own]), hosted: new Set(custody.hosted) },
  };
}

async function accountIn(file: string, context: CommandContext) {
  const path = resolve(context.cwd, file);
  const config = await loadConfig(path);
  const key = await parseSigningKey(await loadKey(config, path, context));
  if (!key.ok) throw new UsageError(`The private key of ${file} cannot be used: ${key.detail}`);
  const owner = config.owner === undefined ? null : await loadOwner(file, context);
  return {
    businessUuid: owner?.businessUuid ?? null,
    url: config.public_base_url ?? null,
    keyIds: [key.value.keyId, ...(owner === null ? [] : [owner.keyId])],
  };
}
