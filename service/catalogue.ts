// GET /v1/catalogue and GET /v1/catalogue/{record_id}: what a business has published now, from the record store of the
// node's region (specification, «B. Business machine API»).
//   C1. A record is in the catalogue while it is live and stands. Withdrawn and deleted records, records of other businesses and what a
//       held push would publish are not: they answer the same 404.
//   C2. A page costs the same wherever it is in a catalogue of whatever size.
//   C3. `record` is the sealed bytes verbatim, as in a fetch.

import { regionRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { parseUtf8, toHex } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { exactMember } from "../protocol/exact-member.ts";
import {
  type CollectionName,
  collectionNames,
  formatTimestamp,
  isCollectionName,
  isRecordId,
} from "../protocol/identifiers.ts";
import { cataloguePageMax, ownIdLengthMax } from "../protocol/limits.ts";
import { problem } from "../protocol/problem.ts";
import { openSidecar, type Sidecar } from "../protocol/sidecar.ts";
import type { CatalogueEntry, CataloguePage } from "../protocol/wire/catalogue.ts";
import { confirmedWithinMs } from "../protocol/wire/live-in.ts";
import type { RecordHead, RecordStore, ServedRecord, VersionOrigin } from "../storage/record-store.ts";
import { answerJson, isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { CatalogueRate } from "./catalogue-rate.ts";
import { type CursorDeps, cursorForeign, readCursor, writeCursor } from "./cursor.ts";
import { sealText } from "./fetched-record.ts";
import type { RecordStanding } from "./record-standing.ts";

export interface CatalogueDeps extends CursorDeps {
  readonly records: Pick<RecordStore, "listCatalogue" | "readOrigins" | "readServed">;
  readonly actors: Pick<ActorSystem, "ask">;
  readonly crypto: Pick<CryptoPort, "hmacSha256" | "randomBytes">;
  /** The regions that serve now. */
  readonly regions: () => readonly string[];
  readonly standing: Pick<RecordStanding, "version" | "versions">;
  readonly rate: CatalogueRate;
  readonly pageMax?: number;
  readonly recordIdOf: (businessUuid: string, collection: CollectionName, localId: string) => string;
}

export interface ListCatalogueRequest {
  readonly caller: Caller;
  /** The query parameters; null where absent. */
  readonly type: string | null;
  readonly cursor: string | null;
}

export interface ReadCatalogueRequest {
  readonly caller: Caller;
  /** The last part of the path, decoded. */
  readonly id: string;
}

/** Number of reads of the store for one page: withdrawn records are listed there as well, and are left out here. */
const readsPerPage = 4;

export async function listCatalogue(deps: CatalogueDeps, request: ListCatalogueRequest): Promise<Outcome> {
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

const typeUnknown = refused(
  problem("request_invalid", `type is one of ${collectionNames.join(", ")}.`, { pointer: "/query/type" }),
);

/** Where a page begins. */
interface Place {
  readonly reading: string;
  readonly passed: number;
  /** The store's own cursor. */
  readonly after: string | null;
}

function beginning({ crypto }: CatalogueDeps): Place {
  return { reading: toHex(crypto.randomBytes(8)), passed: 0, after: null };
}

function openCursor(deps: CatalogueDeps, scope: readonly string[], cursor: string): Place | Refused {
  const place = readCursor(deps, scope, cursor);
  if (place === null) return cursorForeign;
  const [reading, passed, after] = place as [string, number, string];
  return { reading, passed, after };
}

async function entriesOf(
  { records, standing }: CatalogueDeps,
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
  const envelope = parseEnvelope(JSON.parse(sidecar) as JsonValue);
  const opened = envelope.ok ? openSidecar(envelope.value) : envelope;
  if (!opened.ok) throw new Error(`The stored sidecar of ${record_id} cannot be read: ${opened.detail}`);
  return opened.value;
}

/**
 * A service id counts first, wherever the caller has a live record under it; any other text, and a service id of none of
 * them, is taken as the business's own id: of a product, then of a business file, an event, a job and an update.
 */
export async function readCatalogueRecord(
  deps: CatalogueDeps,
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

const idMalformed = refused(
  problem("request_invalid", `An id has 1 to ${ownIdLengthMax} characters.`, { pointer: "/path/record_id" }),
);
const recordNotFound = refused(
  problem("not_found", "Your catalogue has no record with this id: none was published, or it was withdrawn."),
);

async function recordAnswer(deps: CatalogueDeps, { head, version, seal }: ServedRecord): Promise<Outcome> {
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
  { actors, regions, crypto }: CatalogueDeps,
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
