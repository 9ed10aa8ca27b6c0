// GET /v1/records/{record_id}: one record, exactly as it was sealed (specification, «Retrieval API»).
//   F1. A record that never existed, one that is withdrawn, deleted, taken down or does not stand any more, and one of a business that blocked the caller's
//       group all answer the same 404, with the same body, no sooner than 20 ms after the request arrived.
//   F2. What is cached between fetches is immutable: it belongs to one change of the record under one AI policy version, and a
//       business file to one status of its endpoints.
//   F3. A fetch beyond its key's budget or its company's allowance is refused before the record is looked up, so it reveals nothing about the
//       record.
//   F4. What is not delivered has no receipt and is never billed: the answer to HEAD is the same without the body, with
//       the length that the body would have. Its nonce is claimed and it counts towards the budget like any other fetch.

import type { Platform } from "../../crypto/port.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { isCollectionName, isRecordId, recordType } from "../../protocol/identifiers.ts";
import { sealLeafOf } from "../../protocol/log/leaves.ts";
import { formatSourceLine } from "../../protocol/source-line.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { RecordStore, StoredSeal } from "../../storage/record-store.ts";
import { invalidAt, type Outcome, type Refused, refusedWith } from "../answer.ts";
import type { Authenticated } from "../authentication/authenticate.ts";
import { fetchCost } from "../authentication/request-rate.ts";
import {
  closeFetchedRecord,
  domainsIn,
  domainsShown,
  type EndpointsStatus,
  endpointsStatus,
  type FetchedRecord,
  openFetchedRecord,
  policyText,
} from "./fetched-record.ts";
import type { RetrievalServices } from "./receipts.ts";
import {
  answerWithoutBody,
  answerWithReceipt,
  type Prepared,
  preparePaid,
  receiptRow,
  type Served,
} from "./receipts.ts";
import type { RecordStanding } from "./record-standing.ts";

/** Specification, «Limits», plus one, because a clock of whole milliseconds may be up to one ahead of the arrival. */
const notFoundAfterMs = 21;
/** The bound of the cached openings, in characters and in records. */
const keptCharactersMaxDefault = 32 * 1024 * 1024;
const keptRecordsMax = 20_000;
/** The approximate cost of a cached entry in addition to its text. */
const entryOverheadCharacters = 2_048;
/** Maximum number of cached AI policy texts; each belongs to one version of one business and never changes. */
const policiesMax = 1_000;
/** Maximum number of cached leaves of seals; the records of a push have one seal. */
const sealLeavesMax = 10_000;

export interface FetchServices extends RetrievalServices, Pick<Platform, "clock" | "crypto"> {
  readonly records: RecordStore;
  readonly standing: RecordStanding;
  /** The public base of the verification surface, without trailing slash. */
  readonly verifyUrl: string;
  /** Resolves once the clock shows at least `atMs`. */
  readonly delayUntil: (atMs: number) => Promise<void>;
  readonly keptCharactersMax?: number;
}

export interface FetchRequest {
  readonly authenticated: Authenticated;
  readonly recordId: string;
  /** Unix milliseconds. */
  readonly arrivedAtMs: number;
  /** False for HEAD, whose answer has no body. */
  readonly isDelivered: boolean;
}

export type FetchRecord = (request: FetchRequest) => Promise<Outcome>;

interface Kept {
  readonly change: number;
  readonly policyVersion: number;
  /** The domains of a business file's endpoints. */
  readonly domains: readonly string[];
  readonly record: FetchedRecord;
}

/** GET /v1/records/{record_id}. */
export function createFetch(deps: FetchServices): FetchRecord {
  const kept = createKept(deps.keptCharactersMax ?? keptCharactersMaxDefault);
  return async (request) => {
    const { claimNonce } = request.authenticated;
    const answer = request.isDelivered
      ? await answerWithReceipt(deps.receipts, claimNonce, () => prepare(deps, kept, request))
      : await answerWithoutBody(claimNonce, () => measure(deps, kept, request));
    if (answer === recordNotFound) await deps.delayUntil(request.arrivedAtMs + notFoundAfterMs);
    return answer;
  };
}

/** One document for every reason, so that the reasons cannot be told apart (F1). */
const recordNotFound = refusedWith("not_found", "No record with this id is served to you.");

async function prepare(
  deps: FetchServices,
  kept: KeptRecords,
  request: FetchRequest,
): Promise<Prepared | Refused> {
  const limited = await refuseUnread(deps, request);
  if (limited !== null) return limited;
  const company = request.authenticated.caller.party.uuid;
  const priced = { kind: "fetch", collection: null, company } as const;
  return preparePaid({ ...priced, allowance: deps.allowance }, async () => {
    const record = await readRecord(deps, kept, request);
    if (record === null) return recordNotFound;
    const served = servedOf(deps, record, request);
    const receipt = await deps.receipts.sign(served);
    return {
      body: answerText(deps, record, { served, receipt: receipt.envelope }),
      receipt,
      answered: () => count(deps.insight, record, served, request.recordId),
    };
  });
}

function count(
  insight: FetchServices["insight"],
  record: FetchedRecord,
  served: Served,
  recordId: string,
): void {
  const collection = recordType(recordId) ?? "";
  if (!isCollectionName(collection)) return;
  const { caller, retrieval } = served;
  const company = caller.party.uuid;
  insight.fetched({ company, servedAt: retrieval.servedAt, collection, business: record.businessUuid });
}

/** The length of the answer in bytes; the length of a receipt is known before it is signed. */
async function measure(
  deps: FetchServices,
  kept: KeptRecords,
  request: FetchRequest,
): Promise<number | Refused> {
  const record =
    (await refuseUnread(deps, request)) ?? (await readRecord(deps, kept, request)) ?? recordNotFound;
  if ("kind" in record) return record;
  const served = servedOf(deps, record, request);
  return utf8(answerText(deps, record, { served, receipt: deps.receipts.unsigned(served) })).length;
}

function servedOf(deps: FetchServices, record: FetchedRecord, request: FetchRequest): Served {
  return {
    retrieval: deps.receipts.begin(),
    caller: request.authenticated.caller,
    kind: "fetch",
    collection: null,
    country: null,
    clientQueryId: null,
    rows: [receiptRow({ record_id: request.recordId, generation: record.generation }, record.row)],
  };
}

function answerText(
  deps: FetchServices,
  record: FetchedRecord,
  { served, receipt }: { readonly served: Served; readonly receipt: string },
): string {
  const [row] = served.rows;
  const sourceLine = formatSourceLine({
    record_id: row?.record_id ?? "",
    origin: record.row.origin,
    cert_id: record.certId,
    served_at: served.retrieval.servedAt,
    verify_url: deps.verifyUrl,
  });
  return closeFetchedRecord(record, { sourceLine, receipt });
}

/** The refusal of a fetch that is not looked up at all; null if it may be. */
async function refuseUnread(
  deps: FetchServices,
  { recordId, authenticated }: FetchRequest,
): Promise<Refused | null> {
  if (!isRecordId(recordId)) return invalidAt("/path/record_id", "This is not a valid record id.");
  return (await deps.budget?.spend(authenticated.caller.key.key_id, fetchCost)) ?? null;
}

async function readRecord(
  deps: FetchServices,
  kept: KeptRecords,
  request: FetchRequest,
): Promise<FetchedRecord | null> {
  const known = await readKept(deps, kept, request.recordId);
  const record = known ?? (await openRecord(deps, kept, request.recordId));
  if (record === null) return null;
  const { party } = request.authenticated.caller;
  const { businessUuid } = record;
  const isOut = deps.register.takenDown.has(businessUuid, request.recordId);
  return isOut || deps.register.hasBlocked(businessUuid, party) ? null : record;
}

/** The cached part of the record, provided its head and the policy in force are still those it was made with. */
async function readKept(
  deps: FetchServices,
  kept: KeptRecords,
  recordId: string,
): Promise<FetchedRecord | null> {
  const known = kept.get(recordId);
  // What may have fallen is judged by its sidecar each time.
  if (known === undefined || deps.register.mayHaveFallen(known.record.businessUuid)) return null;
  const head = await deps.records.readHead(recordId);
  if (head?.live !== true || head.change !== known.change) return null;
  const { businessUuid, endpoints } = known.record;
  if (deps.register.policyInForce(businessUuid).version !== known.policyVersion) return null;
  const isCurrent = endpoints === null || endpoints === (await standing(deps, businessUuid, known.domains));
  return isCurrent ? known.record : null;
}

/** The status of endpoints at these domains, as the register says it now. */
async function standing(
  { register }: Pick<FetchServices, "register">,
  businessUuid: string,
  domains: readonly string[],
): Promise<EndpointsStatus> {
  return endpointsStatus(domainsShown(domains, await register.party(businessUuid)));
}

async function openRecord(
  deps: FetchServices,
  kept: KeptRecords,
  recordId: string,
): Promise<FetchedRecord | null> {
  const served = await deps.records.readServed(recordId);
  if (served === null) return null;
  const stands = deps.standing.version(served.version);
  if (!(stands instanceof Promise ? await stands : stands)) return null;
  const { business_uuid: uuid, change } = served.head;
  const { version: policyVersion } = deps.register.policyInForce(uuid);
  const policy =
    kept.policies.get(`${uuid}/${policyVersion}`) ?? (await openPolicy(deps, kept, uuid, policyVersion));
  const { verifyUrl } = deps;
  const isFile = served.version.type === "business_files";
  const domains = isFile ? domainsIn(served.version.bytes) : [];
  const record = openFetchedRecord(served, {
    policy,
    verifyUrl,
    logLeaf: logLeafOf(deps, kept, served.seal),
    endpoints: isFile ? await standing(deps, uuid, domains) : null,
  });
  kept.put(recordId, { change, policyVersion, domains, record });
  return record;
}

/** The leaf of the seal in the transparency log, which is known before the log contains it. */
function logLeafOf({ crypto }: FetchServices, { sealLeaves }: KeptRecords, seal: StoredSeal): string {
  const known = sealLeaves.get(seal.seal_id);
  if (known !== undefined) return known;
  const leaf = sealLeafOf(JSON.parse(seal.envelope) as Envelope, crypto.sha256);
  sealLeaves.set(seal.seal_id, leaf);
  return leaf;
}

async function openPolicy(
  deps: FetchServices,
  kept: KeptRecords,
  uuid: string,
  version: number,
): Promise<string> {
  const policy = version === 0 ? null : await deps.register.policy(uuid, version);
  if (version !== 0 && policy === null)
    throw new Error(`AI policy ${version} of ${uuid} is in force but not stored.`);
  const text = policyText(policy);
  kept.policies.set(`${uuid}/${version}`, text);
  return text;
}

interface KeptRecords {
  readonly policies: BoundedMap<string, string>;
  readonly sealLeaves: BoundedMap<string, string>;
  get(recordId: string): Kept | undefined;
  put(recordId: string, entry: Kept): void;
}

/**
 * Caches a record from its second fetch on: most are fetched once, and caching those would only fill memory. Bounded by
 * characters: once they are used up, the whole cache is cleared and filled again.
 */
function createKept(charactersMax: number): KeptRecords {
  const entries = new BoundedMap<string, Kept>(keptRecordsMax);
  const seenOnce = new BoundedMap<string, true>(keptRecordsMax);
  let characters = 0;
  return {
    policies: new BoundedMap(policiesMax),
    sealLeaves: new BoundedMap(sealLeavesMax),
    get: (recordId) => entries.get(recordId),
    put: (recordId, entry) => {
      const size = entry.record.opening.length + entryOverheadCharacters;
      if (size > charactersMax) return;
      if (seenOnce.get(recordId) === undefined) {
        seenOnce.set(recordId, true);
        return;
      }
      if (characters + size > charactersMax) {
        entries.clear();
        characters = 0;
      }
      characters += size;
      entries.set(recordId, entry);
    },
  };
}
