// The domains at which a business has endpoints, in its served business files: who controls them is looked at again and again.
//   K1. A domain is watched from the publication of the first business file that names it until no served one does, and is then
//       forgotten. Only a suspended one is remembered: to leave it out and name it again does not end the suspension.
//   K2. One durable timer of the business ends when the first look is due. A look is repeated until its result is committed.
//   K3. The party's entry in the register says what is published of the domains, with every change.
//       No event names a domain: it is a text of a record, and records may be purged.
//   K4. A business has at most `watchedDomainsMax` domains. Those beyond are not watched; they stay unconfirmed.

import type { BusinessContext, BusinessEvent, NextWork } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { watchedDomainsMax } from "../../protocol/limits.ts";
import type { DeclaredBrands } from "../../protocol/records/business-files.ts";
import { brandWords } from "../../protocol/records/company-name-rule.ts";
import { foldedWords } from "../../protocol/records/fold-text.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol, PartyFacts } from "../messages/business.ts";
import type {
  BrandFacts,
  BrandsProtocol,
  DomainFacts,
  DomainStatus,
  ProbedDomain,
  ProbeSchedule,
  WatchedDomain,
} from "../messages/domains.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { type Decision, takenOf, workAt } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import {
  type Answer,
  type BusinessView,
  done,
  factsIn,
  lastNumber,
  type RegisterRow,
  refusal,
  registerEntries,
  selectRegister,
} from "./rows.ts";

/** How soon a publication may have a domain looked at again. */
const lookAgainMs = 60_000;

type Asked<T extends keyof BusinessProtocol> = CommandOf<BusinessProtocol, T>;
type Rows = Map<string, DomainRow>;

/** By domain. */
const domains = defineJsonTable<DomainRow>("domains", 90);
/** The watched domains of each served business file, by record id. */
const domainsOfFiles = defineJsonTable<readonly string[]>("domains of business files", 91);

/** What a decision about domains adds to its own. */
export interface DomainChange {
  readonly events: readonly BusinessEvent[];
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
  /** What the party's entry says of the domains from now on, if they changed (K3). */
  readonly facts?: readonly DomainFacts[];
}

/** Selects what {@link nameDomains} reads for these records. */
export function selectNamedDomains(recordIds: readonly string[], uuid: string): readonly RowSelection[] {
  return [domainsOfFiles.select(recordIds), ...selectDomains(uuid)];
}

/** The rows of all watched domains, and of the party that publishes them. */
export function selectDomains(uuid: string): readonly RowSelection[] {
  return [domains.selectPage(watchedDomainsMax), ...selectRegister([partyKey(uuid)])];
}

function partyKey(uuid: string): string {
  return `party/${uuid}`;
}

/** The versions that are served from now on of these records name these domains; none for a record that is served no longer. */
export function nameDomains(files: ReadonlyMap<string, readonly string[]>, view: BusinessView): DomainChange {
  const before = rowsOf(view);
  const rows: Rows = new Map(before);
  const puts: PartitionRow[] = [];
  const deletes: RowKey[] = [];
  for (const [recordId, named] of files) {
    const known = domainsOfFiles.read(view, recordId);
    for (const domain of known ?? []) count(rows, domain, -1);
    const watched = named.filter((domain) => watch(rows, before.get(domain), { domain, nowMs: view.nowMs }));
    if (watched.length > 0) puts.push(domainsOfFiles.write(recordId, watched));
    else if (known !== undefined) deletes.push(domainsOfFiles.key(recordId));
  }
  for (const [domain, { files, status }] of rows)
    if (files === 0 && status !== "suspended") rows.delete(domain);
  const changed = changeOf(before, rows);
  const timer = timerFor(rows, view.nowMs, view);
  const setFor = view.snapshot.context.domainsAtMs;
  const isSooner = timer !== null && (setFor === null || timer.at_ms < setFor);
  return {
    ...changed,
    // While domains are looked at, what is named waits for the end of that.
    events: isSooner ? takenOf(view, { type: "domains.named", timer }) : [],
    puts: [...puts, ...changed.puts],
    deletes: [...deletes, ...changed.deletes],
  };
}

/** Counts a file that names the domain; false if the business has too many (K4). */
function watch(
  rows: Rows,
  before: DomainRow | undefined,
  { domain, nowMs }: { readonly domain: string; readonly nowMs: number },
): boolean {
  if (!rows.has(domain) && rows.size >= watchedDomainsMax && !makeRoom(rows)) return false;
  const row = rows.get(domain) ?? newDomain(nowMs);
  rows.set(domain, { ...row, next_at_ms: nextLook(row, before, nowMs) });
  count(rows, domain, 1);
  return true;
}

/** With a business file, the challenge has often just been published as well: a domain that is not confirmed is looked at soon. */
function nextLook(row: DomainRow, before: DomainRow | undefined, nowMs: number): number {
  const soon = soonest(row, nowMs);
  if (before === undefined || before.files === 0) return soon;
  return before.status === "confirmed" ? row.next_at_ms : Math.min(row.next_at_ms, soon);
}

function soonest({ probed }: DomainRow, nowMs: number): number {
  return Math.max(nowMs, (probed?.at_ms ?? Number.NEGATIVE_INFINITY) + lookAgainMs);
}

function count(rows: Rows, domain: string, by: number): void {
  const row = rows.get(domain);
  if (row !== undefined) rows.set(domain, { ...row, files: Math.max(0, row.files + by) });
}

/** Forgets a domain that no file names any more: the one that was suspended first. */
function makeRoom(rows: Rows): boolean {
  const idle = [...rows].filter(([, { files }]) => files === 0);
  const [oldest] = idle.sort(([, a], [, b]) => a.since_ms - b.since_ms);
  return oldest !== undefined && rows.delete(oldest[0]);
}

/** The watched domains that the file of this record names now. */
export function domainsOfFile(recordId: string, view: BusinessView): readonly string[] {
  return domainsOfFiles.read(view, recordId) ?? [];
}

/** What the party's entry says of the domains while the business is not taken down (K3). */
export function watchedFacts(view: BusinessView): readonly DomainFacts[] {
  return factsOf(rowsOf(view));
}

/** The watched domains that are to be probed now. */
export function dueDomains(view: BusinessView): { readonly domains: readonly string[] } {
  const due = watchedOf(rowsOf(view)).filter(([, { next_at_ms }]) => next_at_ms <= view.nowMs);
  return { domains: due.map(([domain]) => domain) };
}

/** The domains that are confirmed now, in order. */
export function confirmedDomains(view: BusinessView): readonly string[] {
  return watchedOf(rowsOf(view)).flatMap(([domain, { status }]) => (status === "confirmed" ? [domain] : []));
}

/** The watched domains, with what the last probe of each found. */
export function readDomains(view: BusinessView) {
  return { domains: watchedOf(rowsOf(view)).map(([domain, row]) => watchedDomain(domain, row)) };
}

/** What people ask for is done as soon as it is for a publication, so that nobody has the domains of others looked at without end. */
export function lookSoon(_command: object, view: BusinessView): Decision<DoneReply, BusinessEvent> {
  const before = rowsOf(view);
  const rows: Rows = new Map(before);
  for (const [domain, row] of watchedOf(before)) {
    const next_at_ms = Math.min(row.next_at_ms, soonest(row, view.nowMs));
    if (next_at_ms < row.next_at_ms) rows.set(domain, { ...row, next_at_ms });
  }
  const { puts } = changeOf(before, rows);
  const timer = timerFor(rows, view.nowMs, view);
  // A look that is under way decides when the next one is.
  const events = timer === null || puts.length === 0 ? [] : takenOf(view, { type: "domains.named", timer });
  return { reply: { status: "done" }, events, puts: events.length === 0 ? [] : puts };
}

/** Takes note of probes, and confirms or loses domains by them. */
export function noteProbes(
  { probed, schedule }: Asked<"domains.probed">,
  view: BusinessView,
): Decision<DoneReply, BusinessEvent> {
  const before = rowsOf(view);
  const rows: Rows = new Map(before);
  for (const each of probed) {
    const row = rows.get(each.domain);
    if (row !== undefined && row.files > 0) rows.set(each.domain, afterProbe(row, each, schedule));
  }
  const become = (wanted: DomainStatus): number =>
    [...rows].filter(([domain, { status }]) => status === wanted && before.get(domain)?.status !== wanted)
      .length;
  // Where nobody looks, the next try is not before the next interval.
  const notBefore = view.nowMs + (probed.length === 0 ? schedule.interval_ms : 0);
  const timer = timerFor(rows, notBefore, view);
  const { facts, puts, deletes } = changeOf(before, rows);
  const entry = registerParty(facts === undefined ? {} : { domains: facts }, view);
  const events = takenOf(view, {
    type: "domains.probed",
    probed: probed.length,
    timer,
    confirmed: become("confirmed"),
    suspended: become("suspended"),
  });
  if (events.length === 0) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    events: [...entry.events, ...events],
    puts: [...puts, ...entry.puts],
    deletes,
  };
}

function rowsOf(view: BusinessView): ReadonlyMap<string, DomainRow> {
  return new Map(domains.readAll(view).map(({ k2, value }) => [k2, value]));
}

function watchedOf(rows: ReadonlyMap<string, DomainRow>): readonly (readonly [string, DomainRow])[] {
  return [...rows].filter(([, { files }]) => files > 0).sort(([a], [b]) => (a < b ? -1 : 1));
}

function timerFor(
  rows: ReadonlyMap<string, DomainRow>,
  notBeforeMs: number,
  view: BusinessView,
): NextWork | null {
  const next = watchedOf(rows).map(([, { next_at_ms }]) => next_at_ms);
  if (next.length === 0) return null;
  return workAt(Math.max(notBeforeMs, Math.min(...next)), view);
}

/** The rows that changed, and what the register says of them (K3). */
function changeOf(
  before: ReadonlyMap<string, DomainRow>,
  rows: ReadonlyMap<string, DomainRow>,
): Omit<DomainChange, "events"> {
  const changed = [...rows].filter(([domain, row]) => before.get(domain) !== row);
  const gone = [...before.keys()].filter((domain) => !rows.has(domain));
  if (changed.length + gone.length === 0) return { puts: [], deletes: [] };
  return {
    puts: changed.map(([domain, row]) => domains.write(domain, row)),
    deletes: gone.map((domain) => domains.key(domain)),
    facts: factsOf(rows),
  };
}

function factsOf(rows: ReadonlyMap<string, DomainRow>): readonly DomainFacts[] {
  return watchedOf(rows).map(([domain, row]) => domainFacts(domain, row));
}

type Declared = Pick<PartyFacts, "domains" | "brands">;

/** Writes these facts into the party's entry, unless it says so already. While the business is taken down it says none (SF1 in serving.ts). */
export function registerParty(facts: Declared, view: BusinessView): Pick<DomainChange, "events" | "puts"> {
  return view.snapshot.matches({ serving: "taken_down" })
    ? { events: [], puts: [] }
    : writeParty(facts, view);
}

/** The same, whether the business is taken down or not. */
export function writeParty(facts: Declared, view: BusinessView): Pick<DomainChange, "events" | "puts"> {
  const key = partyKey(view.id);
  const known = registerEntries.read(view, key);
  if (known === undefined) return { events: [], puts: [] };
  const body = JSON.stringify({ ...factsIn("party", known), ...facts });
  if (body === known.body) return { events: [], puts: [] };
  const change = lastNumber(view, view.snapshot.context.change) + 1;
  return {
    events: [{ type: "register.changed", keys: [key], change }],
    puts: [registerEntries.write(key, { ...known, change, body })],
  };
}

// One domain of a business, and what a look at it makes of it. Pure.
//   V1. A domain is `confirmed` from the first look that finds its challenge. No other status comes from anything but looks.
//   V2. A confirmed domain is `suspended` when looks that were answered have not found the challenge for the whole of the grace,
//       or when no look of whatever kind has found it for ten times as long: what keeps the service from looking is no loss at
//       once, and no excuse for ever.
//   V3. A domain that was never confirmed is never suspended: nothing was lost.
//   V4. One look that finds the challenge confirms a suspended domain.
//   V5. A look changes nothing if a later one has been noted.

/** How much longer unanswered looks may go on (V2). */
const unansweredTimes = 10;
/** Looks in one interval while a domain has just been named, or was lost, or is about to be. */
const retriesPerInterval = 24;
const retryMsMin = 1_000;

export interface DomainRow {
  /** How many served business files name it; 0 if it is kept for what is known of it. */
  readonly files: number;
  readonly status: DomainStatus;
  readonly since_ms: number;
  readonly confirmed_at_ms: number | null;
  /** When looks began to find nothing, for whatever reason, since the last confirmation. */
  readonly failing_since_ms: number | null;
  /** When an answered look found nothing first, since the last confirmation. */
  readonly absent_since_ms: number | null;
  readonly next_at_ms: number;
  readonly probed: Omit<ProbedDomain, "domain"> | null;
}

/** A domain that was just named for the first time. */
export function newDomain(nowMs: number): DomainRow {
  const never = { confirmed_at_ms: null, failing_since_ms: null, absent_since_ms: null, probed: null };
  return { files: 0, status: "unconfirmed", since_ms: nowMs, next_at_ms: nowMs, ...never };
}

/** A domain after a probe; one that is older than the last changes nothing. */
export function afterProbe(
  row: DomainRow,
  { domain: _domain, ...probed }: ProbedDomain,
  schedule: ProbeSchedule,
): DomainRow {
  const { at_ms: atMs, outcome } = probed;
  if (row.probed !== null && row.probed.at_ms >= atMs) return row;
  if (outcome === "confirmed") {
    return {
      files: row.files,
      status: "confirmed",
      probed,
      confirmed_at_ms: atMs,
      since_ms: row.status === "confirmed" ? row.since_ms : atMs,
      failing_since_ms: null,
      absent_since_ms: null,
      next_at_ms: atMs + schedule.interval_ms,
    };
  }
  const failing = row.failing_since_ms ?? atMs;
  const absent = row.absent_since_ms ?? (outcome === "absent" ? atMs : null);
  const isLost =
    row.status === "confirmed" &&
    ((outcome === "absent" && absent !== null && atMs - absent >= schedule.grace_ms) ||
      atMs - failing >= unansweredTimes * schedule.grace_ms);
  const since = isLost ? atMs : row.since_ms;
  const isRecent = atMs - Math.max(since, failing) < schedule.grace_ms;
  return {
    ...row,
    status: isLost ? "suspended" : row.status,
    since_ms: since,
    probed,
    failing_since_ms: failing,
    absent_since_ms: absent,
    next_at_ms: atMs + (isRecent ? retryMs(schedule) : schedule.interval_ms),
  };
}

function retryMs({ interval_ms }: ProbeSchedule): number {
  return Math.min(interval_ms, Math.max(retryMsMin, Math.ceil(interval_ms / retriesPerInterval)));
}

function domainFacts(domain: string, row: DomainRow): DomainFacts {
  const { status, since_ms, confirmed_at_ms } = row;
  const confirmed_at = confirmed_at_ms === null ? null : formatTimestamp(confirmed_at_ms);
  return { domain, status, since: formatTimestamp(since_ms), confirmed_at };
}

function watchedDomain(domain: string, row: DomainRow): WatchedDomain {
  const { probed, next_at_ms } = row;
  return {
    ...domainFacts(domain, row),
    probed:
      probed === null
        ? null
        : { at: formatTimestamp(probed.at_ms), outcome: probed.outcome, detail: probed.detail },
    next_probe_at: formatTimestamp(next_at_ms),
  };
}

// The brands that the served business files of a business declare.
//   C1. A brand is in the party's entry while a served file names it, and is then forgotten: it is a text of a record, and records may
//       be purged. What an operator confirmed is not of a record, and stays (register.ts).
//   C2. Of one business, `brandFilesMax` files are read, and so many names are kept of them that every node can have them in memory.
//       What is beyond protects and frees nothing.

const brandFilesMax = 20;
const ownedMax = 100;
const soldMax = 500;
/** Maximum number of confirmed brands of one business; every node keeps them in memory. */
export const confirmedBrandsMax = 100;

/** By record id. */
const brandsOfFiles = defineJsonTable<DeclaredBrands>("brands of business files", 92);

export const noBrands: BrandFacts = { owned: [], sold: [], confirmed: [] };

/** A brand is the same however its name is written. */
function brandKey(name: string): string {
  return foldedWords(name).join(" ");
}

/** The rows of the brands that each business file declares. */
export function selectBrands(): readonly RowSelection[] {
  return [brandsOfFiles.selectPage(brandFilesMax)];
}

/** What the file of this record declares now. */
export function brandsOfFile(recordId: string, view: BusinessView): DeclaredBrands | null {
  return brandsOfFiles.readAll(view).find(({ k2 }) => k2 === recordId)?.value ?? null;
}

export interface BrandChange {
  readonly declared: Omit<BrandFacts, "confirmed">;
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
}

/** What all served files declare, once these do; null for one that is served no longer. */
export function declareBrands(
  files: ReadonlyMap<string, DeclaredBrands | null>,
  view: BusinessView,
): BrandChange {
  const served = new Map(brandsOfFiles.readAll(view).map(({ k2, value }) => [k2, value]));
  const puts: PartitionRow[] = [];
  const deletes: RowKey[] = [];
  for (const [recordId, declared] of files) {
    const isKnown = served.delete(recordId);
    if (
      declared !== null &&
      declared.owned.length + declared.sold.length > 0 &&
      served.size < brandFilesMax
    ) {
      served.set(recordId, declared);
      puts.push(brandsOfFiles.write(recordId, declared));
    } else if (isKnown) deletes.push(brandsOfFiles.key(recordId));
  }
  const all = [...served.values()];
  const owned = all.flatMap((each) => each.owned);
  const sold = all.flatMap((each) => each.sold);
  return { declared: { owned: once(owned, ownedMax), sold: once(sold, soldMax) }, puts, deletes };
}

function once(names: readonly string[], max: number): readonly string[] {
  const byKey = new Map<string, string>();
  for (const name of names) if (!byKey.has(brandKey(name))) byKey.set(brandKey(name), name);
  return [...byKey.values()].slice(0, max);
}

/** A name is one brand however it is written. What served files name stays as it is. */
export function confirmBrand(
  { name, confirmed }: CommandOf<BrandsProtocol, "brand.confirm">,
  { uuid, party }: BusinessContext,
  known: RegisterRow | undefined,
): Answer {
  if (party?.kind !== "business" || known === undefined)
    return refusal("role_not_allowed", "Only a business has brands.");
  const facts = factsIn("party", known);
  const brands = facts.brands ?? noBrands;
  const others = brands.confirmed.filter((each) => brandKey(each) !== brandKey(name));
  const isConfirmed = others.length < brands.confirmed.length;
  if (confirmed && brandWords(name).length === 0)
    return refusal(
      "brand_not_protectable",
      "The name is an everyday word or a term of a vocabulary, or has fewer than three letters; nobody is kept from using it.",
    );
  if (confirmed && others.length >= confirmedBrandsMax)
    return refusal("too_many_brands", `A business may have at most ${confirmedBrandsMax} confirmed brands.`);
  if (isConfirmed === confirmed) return done;
  return {
    key: `party/${uuid}`,
    body: { ...facts, brands: { ...brands, confirmed: confirmed ? [...others, name] : others } },
  };
}
