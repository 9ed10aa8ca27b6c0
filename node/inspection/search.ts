// What a text leads to that somebody searches for: actors by their id, a part of it or their state, and by the party, record,
// mandate, own id or ad that they stand for.
//   NR1. Parties and ads are looked for in what the node has of the register in memory, records and mandates by their whole id:
//        nothing is walked that grows with the records.

import type { AnyStateMachine } from "xstate";
import { businessRef, campaignRef, isSoonForgotten, partsOf } from "../../actors/messages/refs.ts";
import type { ActorDefinition, ActorReport } from "../../actors/system/definition.ts";
import type { BulkUploadContext } from "../../machines/bulk-upload.ts";
import { type ChartState, chartOf } from "../../machines/chart.ts";
import type { ActorRow, SearchResult } from "../../ops/inspection-shapes.ts";
import { collectionNames, isRecordId, isUuidV4 } from "../../protocol/identifiers.ts";
import { Semaphore } from "../../std/semaphore.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { type RecordStore, stagedPages } from "../../storage/record-store.ts";
import type { Keys, Registering, Stores } from "../composition/capabilities.ts";
import { byUrgency, nameOf, rowOf, type Where } from "./look.ts";
import { missingOf, type NodeAsker } from "./node-asker.ts";

export interface SearchParts {
  readonly services: Named;
  readonly definitions: readonly ActorDefinition[];
  readonly asker: NodeAsker;
  readonly known: KnownActors;
  readonly passive: () => Promise<PassiveAttention>;
}

/** By id, by a part of one such as a push's own id, or by the business that it begins with; then see {@link searchOther}. */
export async function search(parts: SearchParts, text: string, limit: number): Promise<SearchResult> {
  const { definitions, asker, known } = parts;
  const found = new Map<string, ActorRow>();
  const [askedKind, askedId] = kindIn(definitions, text);
  const question = { kind: askedKind, state: null, part: askedId, attention: false, after: "", limit };
  const answers = await asker.all("operators.actors", question);
  const byState = await asker.all("operators.actors", { ...question, state: text, part: null });
  for (const { value } of [...answers, ...byState])
    for (const row of value?.rows ?? []) found.set(nameOf(row), row);
  const kinds = definitions.filter(
    ({ kind, durability }) => durability === "journal" && (askedKind ?? kind) === kind,
  );
  let isComplete = true;
  for (const { kind } of kinds) {
    if (found.size >= limit) {
      isComplete = false;
      break;
    }
    const stored = await known.find(kind, askedId, limit);
    isComplete &&= stored.isComplete;
    const fresh = stored.ids.filter((id) => !found.has(`${kind}/${id}`)).slice(0, limit - found.size);
    const rows = await Promise.all(fresh.map((id) => known.row({ kind, id })));
    for (const row of rows) if (row !== null) found.set(nameOf(row), row);
  }
  const others = await searchOther(parts, text, limit);
  isComplete &&= others.isComplete;
  for (const row of others.rows) if (!found.has(nameOf(row))) found.set(nameOf(row), row);
  const actors = [...found.values()].sort(byUrgency).slice(0, limit);
  return { actors, is_complete: isComplete && found.size <= limit, missing: missingOf(answers) };
}

/** The kind and the rest of a text such as `push/…`; a text without one means every kind. */
function kindIn(definitions: readonly ActorDefinition[], text: string): [string | null, string] {
  const slash = text.indexOf("/");
  const kind = text.slice(0, Math.max(0, slash));
  return definitions.some((each) => each.kind === kind) ? [kind, text.slice(slash + 1)] : [null, text];
}

/**
 * By what an actor is not called: the legal name of its party or a part of that, a record, a business with one of its mandates
 * or own ids, an ad, or a state. Of states, the store is read as far as a page goes.
 */
async function searchOther(
  { services, definitions, known, passive }: SearchParts,
  text: string,
  limit: number,
): Promise<{ readonly rows: readonly ActorRow[]; readonly isComplete: boolean }> {
  const refs = await refsNamed(services, text, limit);
  const rows = await Promise.all(refs.map((ref) => known.row(ref)));
  const found = rows.filter((row) => row !== null);
  let isComplete = refs.length < limit;
  const ofState = definitions.filter(
    ({ durability, machine }) => durability === "journal" && hasState(machine, text),
  );
  for (const { kind } of ofState) {
    const page = await known.page({ kind, state: text, region: null, after: "", limit });
    found.push(...page.rows);
    isComplete &&= page.nextAfter === null;
  }
  if (ofState.length > 0) found.push(...(await passive()).rows.filter(({ states }) => isIn(states, text)));
  return { rows: found, isComplete };
}

function hasState(machine: AnyStateMachine, text: string): boolean {
  const has = ({ path, states }: ChartState): boolean => path === text || states.some(has);
  return has(chartOf(machine).root);
}

function isIn(states: readonly string[], text: string): boolean {
  return states.some((path) => path === text || path.startsWith(`${text}.`));
}

type Named = Stores & Keys & Pick<Registering, "register">;

/** See NR1. */
async function refsNamed(services: Named, text: string, limit: number): Promise<readonly ActorRef[]> {
  const { register, records } = services;
  if (isRecordId(text)) {
    const head = await records.readHead(text);
    return head === null ? [] : [businessRef(head.business_uuid)];
  }
  const [, uuid = "", own = ""] = /^([^\s/]+)[\s/]+(.+)$/.exec(text) ?? [];
  if (isUuidV4(uuid)) return (await isOfBusiness(services, uuid, own)) ? [businessRef(uuid)] : [];
  const ads = [...register.ads.live()].filter(({ ad_id }) => ad_id === text);
  return [
    ...ads.map(({ business_uuid, campaign_id }) => campaignRef(business_uuid, campaign_id)),
    ...register.certifiedNames.named(text, limit).map(businessRef),
  ];
}

/** Whether the business has a mandate, or ever published a record, with this id. */
async function isOfBusiness(
  { register, records, recordIdOf }: Named,
  uuid: string,
  id: string,
): Promise<boolean> {
  if ((await register.mandates(uuid)).some(({ mandate_id }) => mandate_id === id)) return true;
  const heads = collectionNames.map((collection) => records.readHead(recordIdOf(uuid, collection, id)));
  return (await Promise.all(heads)).some((head) => head !== null);
}

// The actors that the store knows, in pages: most of them are not in memory. Nothing is claimed and nothing is woken.
//   KA1. A page reads a bounded number of actors, whatever it looks for; what it left unread, it says.
//   KA2. Counting stops at a bound, and a count is kept for a while: ten seconds, and a hundred times as long as counting took, up to
//        five minutes. No clock that is set decides how long: one that is set back would keep a count for as long.
//   KA3. A kind that is not listed, or that the store refuses to count, is counted in memory: the counts of the others are shown.

export interface KnownActors {
  /** Number of actors of a kind of which `active` are in memory, and whether all were counted (KA2, KA3). */
  count(kind: string, active: number): Promise<{ readonly count: number; readonly isExact: boolean }>;
  page(query: KnownQuery): Promise<{ readonly rows: readonly ActorRow[]; readonly nextAfter: string | null }>;
  /** Ids of the kind that begin with or contain `part`; reads at most `idsMax` ids. */
  find(kind: string, part: string, limit: number): Promise<FoundIds>;
  row(ref: ActorRef): Promise<ActorRow | null>;
}

interface FoundIds {
  readonly ids: readonly string[];
  readonly isComplete: boolean;
}

export interface KnownQuery {
  readonly kind: string;
  readonly state: string | null;
  readonly region: string | null;
  readonly after: string;
  readonly limit: number;
}

export interface KnownDeps {
  readonly store: ActorStore;
  readonly inspect: (ref: ActorRef) => Promise<ActorReport | null>;
  /** Where it would live. */
  readonly whereOf: (ref: ActorRef) => Where;
  readonly elapsedMs: () => number;
}

const countMax = 200_000;
/** See KA2. */
const countKeptMs = 10_000;
const keptTimes = 100;
const countKeptMaxMs = 300_000;
/** Maximum number of actors that one page reads when it looks for some (KA1). */
const scannedMax = 400;
const idsPerRead = 2_000;
/** Maximum number of ids that a search for a part reads of each kind. */
const idsMax = 20_000;
/** Number of actors that are read at the same time. */
const atOnce = 16;

export function createKnownActors(deps: KnownDeps): KnownActors {
  const counts = new Map<string, { untilMs: number; readonly count: Promise<number> }>();
  const begin = (kind: string): Promise<number> => {
    const beganMs = deps.elapsedMs();
    const known = { untilMs: Number.POSITIVE_INFINITY, count: deps.store.countActors(kind, countMax) };
    counts.set(kind, known);
    known.count.then(
      () => {
        const endedMs = deps.elapsedMs();
        const longMs = Math.min(countKeptMaxMs, (endedMs - beganMs) * keptTimes);
        known.untilMs = endedMs + Math.max(countKeptMs, longMs);
      },
      () => counts.delete(kind),
    );
    return known.count;
  };
  const row = async (ref: ActorRef): Promise<ActorRow | null> => {
    const report = await deps.inspect(ref);
    if (report === null) return null;
    const where = deps.whereOf(ref);
    return rowOf(report, report.status === "active" ? where : { ...where, node: null });
  };
  return {
    count: async (kind, active) => {
      const atLeast = { count: active, isExact: false };
      if (isSoonForgotten(kind)) return atLeast;
      const known = counts.get(kind);
      const isKept = known !== undefined && deps.elapsedMs() < known.untilMs;
      return (isKept ? known.count : begin(kind)).then(
        (count) => ({ count, isExact: count < countMax }),
        () => atLeast,
      );
    },
    page: (query) => pageOf(deps, row, query),
    find: (kind, part, limit) => findIds(deps, { kind, part, limit }),
    row,
  };
}

async function pageOf(
  deps: KnownDeps,
  row: KnownActors["row"],
  { kind, state, region, after, limit }: KnownQuery,
): Promise<{ readonly rows: readonly ActorRow[]; readonly nextAfter: string | null }> {
  const rows: ActorRow[] = [];
  let last = after;
  for (let scanned = 0; scanned < scannedMax && rows.length < limit; ) {
    const ids = await deps.store.listActors(kind, last, atOnce);
    const found = await Promise.all(ids.map((id) => row({ kind, id })));
    for (const [index, each] of found.entries()) {
      last = ids[index] ?? last;
      if (each !== null && fits(each, state, region)) rows.push(each);
      if (rows.length === limit) break;
    }
    scanned += ids.length;
    if (ids.length < atOnce && rows.length < limit) return { rows, nextAfter: null };
  }
  return { rows, nextAfter: last };
}

function fits({ states, region: at }: ActorRow, state: string | null, region: string | null): boolean {
  if (region !== null && at !== region) return false;
  return state === null || states.some((path) => path === state || path.startsWith(`${state}.`));
}

async function findIds(
  { store }: KnownDeps,
  { kind, part, limit }: { readonly kind: string; readonly part: string; readonly limit: number },
): Promise<FoundIds> {
  // Ids begin with the party that they belong to, so those of a party are neighbours.
  const isBeginning = (id: string): boolean => id.startsWith(part);
  const first = (await store.listActors(kind, before(part), limit)).filter(isBeginning);
  if (first.length > 0) return { ids: first, isComplete: first.length < limit };
  const ids: string[] = [];
  for (let after = "", read = 0; ; ) {
    const page = await store.listActors(kind, after, idsPerRead);
    ids.push(...page.filter((id) => id.includes(part)));
    read += page.length;
    const last = page.at(-1);
    if (last === undefined || page.length < idsPerRead)
      return { ids: ids.slice(0, limit), isComplete: ids.length <= limit };
    if (ids.length >= limit || read >= idsMax) return { ids: ids.slice(0, limit), isComplete: false };
    after = last;
  }
}

/** The greatest text that comes before every text that begins with `part`, as far as ids go. */
function before(part: string): string {
  const last = part.charCodeAt(part.length - 1);
  return part === "" ? "" : `${part.slice(0, -1)}${String.fromCharCode(last - 1)}\u007e`;
}

// The pushes that need a look and are in no memory: held for days, or stalled where a node is gone. Nothing is claimed or woken.
//   PA1. Only pushes that may be unfinished are read: those with staged bytes, and those of files that are being imported. What was
//        staged just now is left out, because it is under way.
//   PA2. The number of ids and of actors that are read is bounded; what is left unread is said.
//   PA3. What was read is kept for a while, because pages ask again and again: ten seconds, and up to a minute where reading took long.
//        No clock that is set decides how long.

export interface PassiveAttention {
  readonly rows: readonly ActorRow[];
  /** Whether everything that PA1 names was read. */
  readonly isComplete: boolean;
}

export interface PassiveDeps {
  readonly store: ActorStore;
  readonly records: RecordStore;
  readonly inspect: (ref: ActorRef) => Promise<Pick<ActorReport, "context"> | null>;
  readonly row: (ref: ActorRef) => Promise<ActorRow | null>;
  readonly nowMs: () => number;
  readonly elapsedMs: () => number;
}

/** See PA3: a hundred times as long as reading took. */
const keptMs = 10_000;
const keptMaxMs = 60_000;
/** What was staged more recently is under way (PA1). */
const freshMs = 5_000;
/** Maximum number of ids of staged pushes that are listed, and of pushes and of uploads that are read (PA2). */
const stagedMax = 10_000;
const readMax = 300;
const passiveIdsPerRead = 1_000;
/** Number of actors that are read at the same time. */
const passiveAtOnce = 16;

export function createPassiveAttention(deps: PassiveDeps): () => Promise<PassiveAttention> {
  let kept: { untilMs: number; readonly found: Promise<PassiveAttention> } | null = null;
  return () => {
    const beganMs = deps.elapsedMs();
    if (kept !== null && beganMs < kept.untilMs) return kept.found;
    const reading = { untilMs: Number.POSITIVE_INFINITY, found: read(deps) };
    kept = reading;
    reading.found.then(
      () => {
        const endedMs = deps.elapsedMs();
        const longMs = Math.min(keptMaxMs, (endedMs - beganMs) * keptTimes);
        reading.untilMs = endedMs + Math.max(keptMs, longMs);
      },
      () => {
        kept = null;
      },
    );
    return reading.found;
  };
}

async function read(deps: PassiveDeps): Promise<PassiveAttention> {
  const [staged, imported] = await Promise.all([stagedIds(deps), importedIds(deps)]);
  const lanes = new Semaphore(passiveAtOnce);
  const ids = [...new Set([...staged.ids, ...imported.ids])];
  const rows = await lanes.all(ids.map((id) => () => deps.row({ kind: "push", id })));
  return {
    // One in memory is among what its node lists.
    rows: rows.filter(
      (row) => row !== null && row.attention !== null && row.status === "passive",
    ) as ActorRow[],
    isComplete: staged.isComplete && imported.isComplete,
  };
}

interface Ids {
  readonly ids: readonly string[];
  readonly isComplete: boolean;
}

async function stagedIds({ records, nowMs }: PassiveDeps): Promise<Ids> {
  const untilMs = nowMs() - freshMs;
  const found = new Set<string>();
  let listed = 0;
  let isComplete = false;
  for await (const { pushes, cursor } of stagedPages(records, passiveIdsPerRead)) {
    for (const { push_id, staged_at_ms } of pushes) if (staged_at_ms <= untilMs) found.add(push_id);
    listed += pushes.length;
    isComplete = cursor === null && found.size <= readMax;
    if (found.size > readMax || listed >= stagedMax) break;
  }
  return { ids: [...found].slice(0, readMax), isComplete };
}

/** The pushes of uploaded files, whose bytes are not staged with those of batches. */
async function importedIds({ store, inspect }: PassiveDeps): Promise<Ids> {
  const uploads = await store.listActors("bulk-upload", "", readMax + 1);
  const lanes = new Semaphore(passiveAtOnce);
  const found = await lanes.all(
    uploads.slice(0, readMax).map((id) => async () => {
      const report = await inspect({ kind: "bulk-upload", id });
      const pushId = (report?.context as BulkUploadContext | null | undefined)?.pushId ?? null;
      return pushId === null ? [] : [`${partsOf(id).party}.${pushId}`];
    }),
  );
  return { ids: found.flat(), isComplete: uploads.length <= readMax };
}
