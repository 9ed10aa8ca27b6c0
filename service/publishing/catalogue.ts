// GET /v1/catalogue and GET /v1/catalogue/{record_id}: what a business has published now, from the record store of the
// node's region (specification, «B. Business machine API»).
//   C1. A record is in the catalogue while it is live and stands. Withdrawn and deleted records, records of other businesses and what a
//       held push would publish are not: they answer the same 404.
//   C2. A page costs the same wherever it is in a catalogue of whatever size.
//   C3. `record` is the sealed bytes verbatim, as in a fetch.

import { regionRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { parseBase64Url, parseUtf8, toBase64Url, toHex, utf8 } from "../../protocol/bytes.ts";
import { openStored } from "../../protocol/dsse.ts";
import {
  type CollectionName,
  collectionNames,
  formatTimestamp,
  isCollectionName,
  isRecordId,
} from "../../protocol/identifiers.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import {
  catalogueFreeEntries,
  cataloguePageMax,
  catalogueReadsPerHour,
  ownIdLengthMax,
} from "../../protocol/limits.ts";
import { openSidecar, type Sidecar } from "../../protocol/signed-version.ts";
import type { CatalogueEntry, CataloguePage } from "../../protocol/wire/catalogue.ts";
import { confirmedWithinMs } from "../../protocol/wire/removal.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { RecordHead, RecordStore, ServedRecord, VersionOrigin } from "../../storage/record-store.ts";
import {
  answerJson,
  type Caller,
  type Given,
  invalidAt,
  isRefused,
  type Outcome,
  type Refused,
  rateLimited,
  refusedWith,
  wrongParameter,
} from "../answer.ts";
import { sealText } from "../retrieval/fetched-record.ts";
import type { RecordStanding } from "../retrieval/record-standing.ts";

/** What a business reads its own lists by. */
export interface OwnListServices extends Platform, Actors {
  /** Secret bytes that all nodes share, for the codes of cursors. */
  readonly cursorKey: Uint8Array;
  readonly pageMax?: number;
}

export interface CatalogueServices extends OwnListServices {
  readonly records: RecordStore;
  /** The regions that serve now. */
  readonly regions: () => readonly string[];
  readonly standing: RecordStanding;
  readonly rate: CatalogueRate;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
}

/** Whose catalogue is read. */
interface ReadBy {
  readonly party: Pick<Caller["party"], "uuid">;
}

export interface ListCatalogueRequest extends Given<"type" | "cursor"> {
  readonly caller: ReadBy;
}

export interface ReadCatalogueRequest {
  readonly caller: ReadBy;
  /** The last part of the path, decoded. */
  readonly id: string;
}

/** Number of reads of the store for one page: withdrawn records are listed there as well, and are left out here. */
const readsPerPage = 4;

/** GET /v1/catalogue. Throws {@link StoreError}. */
export async function listCatalogue(
  deps: CatalogueServices,
  request: ListCatalogueRequest,
): Promise<Outcome> {
  const { uuid } = request.caller.party;
  const { type } = request;
  if (type !== null && !isCollectionName(type)) return typeUnknown;
  const scope = ["catalogue", uuid, type ?? ""];
  const place = request.cursor === null ? beginning(deps) : openCursor(deps, scope, request.cursor);
  if (isRefused(place)) return place;
  const limited = deps.rate.take(uuid, place);
  if (limited !== null) return limited;
  const { pageMax = cataloguePageMax } = deps;
  const entries: CatalogueEntry[] = [];
  let { after } = place;
  for (let read = 0; read < readsPerPage && entries.length < pageMax; read += 1) {
    const page = await deps.records.listCatalogue(uuid, after, pageMax - entries.length, type);
    entries.push(...(await entriesOf(deps, uuid, page.heads)));
    after = page.cursor;
    if (after === null) break;
  }
  const passed = place.passed + entries.length;
  const next = after === null ? null : writeCursor(deps, scope, [place.reading, passed, after]);
  const body: CataloguePage = { entries, next_cursor: next };
  return answerJson(200, body);
}

const typeUnknown = wrongParameter("type", `type is one of ${collectionNames.join(", ")}.`);

/** Where a page begins. */
interface Place {
  readonly reading: string;
  readonly passed: number;
  /** The store's own cursor. */
  readonly after: string | null;
}

function beginning({ crypto }: CatalogueServices): Place {
  return { reading: toHex(crypto.randomBytes(8)), passed: 0, after: null };
}

function openCursor(deps: CatalogueServices, scope: readonly string[], cursor: string): Place | Refused {
  const place = readCursor(deps, scope, cursor);
  if (place === null) return cursorForeign;
  const [reading, passed, after] = place as [string, number, string];
  return { reading, passed, after };
}

async function entriesOf(
  { records, standing }: CatalogueServices,
  uuid: string,
  heads: readonly RecordHead[],
): Promise<readonly CatalogueEntry[]> {
  const live = heads.filter((head) => head.live);
  const origins = await records.readOrigins(live);
  const known = new Map(origins.map((origin) => [origin.record_id, origin]));
  const listed: VersionOrigin[] = [];
  for (const { record_id: id } of live) {
    // A listing may know a head before its version can be read: what is served meanwhile is the version before it.
    const origin = known.get(id) ?? (await records.readServed(id))?.version;
    if (origin !== undefined) listed.push(origin);
  }
  return (await standing.versions(uuid, listed)).map(entryOf);
}

function entryOf(version: VersionOrigin): CatalogueEntry {
  const { source, sealed_by_key_id } = sidecarOf(version);
  return {
    record_id: version.record_id,
    business_product_id: ownIdOf(version),
    last_updated: formatTimestamp(version.published_at_ms),
    source,
    sha256: version.hash,
    sealed_by_key_id,
  };
}

/** Every record type has the business's own id under this name. */
function ownIdOf(version: VersionOrigin): string {
  const text = exactMember(textOf(version), "business_product_id");
  if (text === null) throw new Error(`${version.record_id} is stored without the business's own id.`);
  return JSON.parse(text) as string;
}

function textOf({ bytes, record_id }: VersionOrigin): string {
  const text = parseUtf8(bytes);
  if (text === null) throw new Error(`The stored bytes of ${record_id} are not UTF-8.`);
  return text;
}

function sidecarOf({ sidecar, record_id }: VersionOrigin): Sidecar {
  const opened = openStored(sidecar, openSidecar);
  if (!opened.ok) throw new Error(`The stored sidecar of ${record_id} cannot be read: ${opened.detail}`);
  return opened.value;
}

/**
 * A service id counts first, wherever the caller has a live record under it; any other text, and a service id of none of
 * them, is taken as the business's own id: of a product, then of a business file, an event, a job and an update.
 */
export async function readCatalogueRecord(
  deps: CatalogueServices,
  request: ReadCatalogueRequest,
): Promise<Outcome> {
  const { id, caller } = request;
  const { uuid } = caller.party;
  if (id === "" || [...id].length > ownIdLengthMax) return idMalformed;
  const ids = [
    ...(isRecordId(id) ? [id] : []),
    ...collectionNames.map((collection) => deps.recordIdOf(uuid, collection, id)),
  ];
  for (const recordId of ids) {
    const served = await deps.records.readServed(recordId);
    if (served?.head.business_uuid !== uuid) continue;
    if (await deps.standing.version(served.version)) return recordAnswer(deps, served);
  }
  return recordNotFound;
}

const idMalformed = invalidAt("/path/record_id", `An id has 1 to ${ownIdLengthMax} characters.`);
const recordNotFound = refusedWith(
  "not_found",
  "Your catalogue has no record with this id: none was published, or it was withdrawn.",
);

async function recordAnswer(
  deps: CatalogueServices,
  { head, version, seal }: ServedRecord,
): Promise<Outcome> {
  const { record_id, business_product_id, last_updated, source } = entryOf(version);
  const liveIn = await regionsFinding(deps, head);
  const body =
    `{"record_id":"${record_id}","business_product_id":${JSON.stringify(business_product_id)},` +
    `"type":"${head.type}","record":${textOf(version)},"seal":${sealText(version, seal)},` +
    `"live_in":${JSON.stringify(liveIn)},"last_updated":"${last_updated}","source":"${source}"}`;
  return { kind: "answer", status: 200, headers: { "content-type": "application/json" }, body };
}

/** A region that does not answer in time is not named. */
async function regionsFinding(
  { actors, regions, crypto }: CatalogueServices,
  { record_id, type }: RecordHead,
): Promise<readonly string[]> {
  const work_id = `find ${toHex(crypto.randomBytes(8))}`;
  const command = { type: "rows.find", work_id, collection: type as CollectionName, record_id } as const;
  const asked = regions().map(async (region) => {
    const reply = await actors
      .ask(regionRef(region), command, { timeoutMs: confirmedWithinMs })
      .catch(() => null);
    return reply?.status === "found" && reply.found ? [region] : [];
  });
  return (await Promise.all(asked)).flat().sort();
}

// How often a large catalogue may be read (specification, «Limits»: rate-limited above 1,000 records). The first 1,000
// entries are free; reading on takes one of a business's reads of the hour. Counted by this node alone.
//   R1. At most `perHour` readings of a business go beyond the free entries in any hour.
//   R2. The pages of one reading, asked for in their order, take one read, however many there are. A page that is asked
//       for again at once takes none; one that was passed before takes another.
//   R3. Businesses that have not read for long are forgotten: memory is bounded.

interface CatalogueRate {
  /** Null for a page that may be read. */
  readonly take: (businessUuid: string, page: CatalogueReading) => Refused | null;
}

export interface CatalogueReading {
  /** Identifies the reading: the same on all of its pages. */
  readonly reading: string;
  /** Number of entries on the pages in front of this one. */
  readonly passed: number;
}

export interface CatalogueRateOptions {
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly perHour?: number;
  readonly freeEntries?: number;
  readonly businessesMax?: number;
}

interface Read {
  readonly reading: string;
  readonly beganMs: number;
  passed: number;
}

const hourMs = 3_600_000;
const businessesMaxDefault = 10_000;

/** What one business may read of its catalogue in an hour, counted by this node. */
export function createCatalogueRate(options: CatalogueRateOptions): CatalogueRate {
  const { elapsedMs, perHour = catalogueReadsPerHour, freeEntries = catalogueFreeEntries } = options;
  const ofBusiness = new BoundedMap<string, readonly Read[]>(options.businessesMax ?? businessesMaxDefault);
  return {
    take: (businessUuid, { reading, passed }) => {
      if (passed < freeEntries) return null;
      const nowMs = elapsedMs();
      const reads = (ofBusiness.get(businessUuid) ?? []).filter(({ beganMs }) => nowMs - beganMs < hourMs);
      const own = reads.find((each) => each.reading === reading && each.passed <= passed);
      if (own !== undefined) {
        own.passed = passed;
        return null;
      }
      const [oldest] = reads;
      if (oldest !== undefined && reads.length >= perHour)
        return tooOften({ perHour, freeEntries, leftMs: oldest.beganMs + hourMs - nowMs });
      ofBusiness.set(businessUuid, [...reads, { reading, beganMs: nowMs, passed }]);
      return null;
    },
  };
}

function tooOften(at: {
  readonly perHour: number;
  readonly freeEntries: number;
  readonly leftMs: number;
}): Refused {
  const detail = `More than ${at.freeEntries} entries of a catalogue may be read ${at.perHour} times an hour; read on later from the same cursor.`;
  return rateLimited(detail, {
    retry_after_seconds: Math.ceil(at.leftMs / 1_000),
    reason: "catalogue_reads",
  });
}

// Cursors of lists that belong to one business: opaque, and refused unless this service made them for this business and
// this list. They hold what the next page needs and a code over it, so nothing is kept between pages, and any node
// continues what another began.

/** Bytes of the code: guessing one takes 2^64 requests on average. */
const codeBytes = 16;

/** The business and the list, with whatever else a cursor must not be taken to. */
export type CursorScope = readonly string[];

/** A cursor for the place in a list: its JSON text with a MAC, so that it is taken to no other list. */
export function writeCursor(deps: OwnListServices, scope: CursorScope, place: readonly unknown[]): string {
  const text = JSON.stringify(place);
  return `${toBase64Url(codeOf(deps, scope, text))}${toBase64Url(utf8(text))}`;
}

/** Returns what {@link writeCursor} was given for the same scope; null for any other text. */
export function readCursor(
  deps: OwnListServices,
  scope: CursorScope,
  cursor: string,
): readonly unknown[] | null {
  const length = Math.ceil((codeBytes * 4) / 3);
  const code = parseBase64Url(cursor.slice(0, length));
  const bytes = parseBase64Url(cursor.slice(length));
  const text = bytes === null ? null : parseUtf8(bytes);
  if (code === null || text === null) return null;
  const right = codeOf(deps, scope, text);
  if (code.length !== right.length || code.some((byte, index) => byte !== right[index])) return null;
  return JSON.parse(text) as readonly unknown[];
}

export const cursorForeign: Refused = wrongParameter(
  "cursor",
  "cursor must be the next_cursor of an earlier page of this list.",
);

function codeOf({ crypto, cursorKey }: OwnListServices, scope: CursorScope, text: string): Uint8Array {
  return crypto.hmacSha256(cursorKey, utf8(JSON.stringify([...scope, text]))).subarray(0, codeBytes);
}
