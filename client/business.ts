// A business's own system: everything it does with the service, with sensible defaults. Each method is also available on its
// own, for programs that need more control.

import type { Envelope } from "../protocol/dsse.ts";
import type {
  AdImage,
  CatalogueEntry,
  CatalogueRecord,
  DailyAnalytics,
  Demand,
  HeldPush,
  OwnDomain,
  PushAttempt,
  RemovalOutcome,
  WhoIsAsking,
} from "./business-answers.ts";
import type { AnalyticsQuery, AttemptsQuery, CatalogueQuery, DemandQuery } from "./business-client.ts";
import { catalogueEntries, heldPushes, pushAttempts, pushResults, watchPush } from "./pages.ts";
import { type PushPlan, planPush } from "./push-plan.ts";
import { type PushEvent, runPush } from "./push-run.ts";
import { memoryJournal, type PushJournal, type PushState } from "./push-state.ts";
import { type JsonValue, type RecordSet, recordBytes, recordSet } from "./record-set.ts";
import { isRecordIdText, removeRecords } from "./removal.ts";
import { type Patience, retryUntil } from "./retry-until.ts";
import type { SenderOptions } from "./sender.ts";
import { createSvcClient, type PublishOutcome, type PushStatus, type SvcClient } from "./service-client.ts";
import type { SigningKey } from "./signing-key.ts";
import { type Validation, validateRecords } from "./validate-run.ts";

export interface BusinessOptions extends Omit<Partial<SenderOptions>, "key"> {
  /** Address of the business machine API, without a trailing slash. */
  readonly businessUrl?: string;
  /** An existing client in place of an address. */
  readonly client?: SvcClient;
  /** A registered integration key. */
  readonly key: SigningKey;
  /** How long a service that is away is waited for; the default is two minutes. */
  readonly patienceMs?: number;
  /** Called before each wait. */
  readonly onWaiting?: Patience["onWaiting"];
}

export interface PushOptions {
  /** Keeps the state from which the push is resumed; without one, it is resumed only within this call. */
  readonly journal?: PushJournal;
  readonly onEvent?: (event: PushEvent) => void;
  /** Records in a batch, at most 10,000; if it is given, no bulk files are used. */
  readonly recordsPerBatch?: number;
}

/** Records as values, as their exact bytes, or wherever they are. */
export type Records = readonly (JsonValue | Uint8Array)[] | RecordSet;

export interface Business {
  readonly client: SvcClient;
  /** Seals and publishes products. Run again with the same records and journal, it resumes. */
  push(records: Records, options?: PushOptions): Promise<PushState>;
  /** What publishing them would come to; nothing is changed. */
  validate(records: Records): Promise<Validation>;
  /**
   * What of the products is published already, and which live products are not among them; nothing is changed. Own ids of
   * products of which no record could be made are `alsoHas`.
   */
  plan(records: Records, known?: { readonly alsoHas?: ReadonlySet<string> }): Promise<PushPlan>;
  /** Takes a record out of serving until it is published again. `id` is its id, or the business's own id of a live record. */
  withdraw(id: string): Promise<RemovalOutcome>;
  /** Withdraws many records, several at a time, by their record ids, such as those that a plan names as missing. */
  withdrawAll(recordIds: readonly string[], onRemoved?: (outcome: RemovalOutcome) => void): Promise<void>;
  /** As {@link Business.withdraw}, and its bytes leave the service within 30 days. */
  delete(id: string): Promise<RemovalOutcome>;
  /** The live records. */
  catalogue(query?: Omit<CatalogueQuery, "cursor">): AsyncGenerator<CatalogueEntry, void>;
  /** One live record, by its id or by the business's own id of it. */
  record(id: string): Promise<CatalogueRecord>;
  /** What became of everything that was sent. */
  attempts(query?: Omit<AttemptsQuery, "cursor">): AsyncGenerator<PushAttempt, void>;
  /** The domains of its endpoints: whether it controls them, and what to publish at each. */
  domains(): Promise<readonly OwnDomain[]>;
  /** Sends an image of an ad; a creative names it by the hash in the answer. Sending it again changes nothing. */
  uploadImage(bytes: Uint8Array): Promise<AdImage>;
  status(pushId: string): Promise<PushStatus>;
  /** The outcomes of a push's records, in order. */
  results(pushId: string, query?: { readonly outcome?: string }): AsyncGenerator<PublishOutcome, void>;
  /** The status each time that it changed, until the push is over. */
  watch(pushId: string): AsyncGenerator<PushStatus, void>;
  /** Takes back a push of which nothing was published. */
  cancel(pushId: string): Promise<PushStatus>;
  /** The pushes that wait for a decision, oldest first. */
  holds(): AsyncGenerator<HeldPush, void>;
  /** Hands in a decision about a held push that an owner or admin has sealed. */
  decideHold(pushId: string, decision: Envelope): Promise<PushStatus>;
  /** How often the business was shown and fetched, by day, country and type. */
  dailyAnalytics(query?: AnalyticsQuery): Promise<DailyAnalytics>;
  /** Which AI companies were shown or fetched its records. */
  whoIsAsking(query?: AnalyticsQuery): Promise<WhoIsAsking>;
  /** What was asked for in a country, of a type that the business publishes. */
  demand(query: DemandQuery): Promise<Demand>;
}

const defaultPatienceMs = 120_000;

/**
 * A business's own system, for the requests of its integration key. Every method rejects with {@link SvcProblemError} where
 * the service refuses, and with {@link SvcConnectionError} where no answer came; passing refusals are retried for
 * `patienceMs` (by default two minutes).
 */
export function createBusiness(options: BusinessOptions): Business {
  const { key, patienceMs = defaultPatienceMs, onWaiting = () => {} } = options;
  const now = options.now ?? Date.now;
  const wait = options.wait ?? ((delayMs: number) => new Promise<void>((wake) => setTimeout(wake, delayMs)));
  const client = options.client ?? clientOf(options);
  const patience: Patience = { now, wait, patienceMs, onWaiting };
  const how = () => ({ client, key, now, wait, patienceMs, runId: randomId() });
  const record = async (id: string): Promise<CatalogueRecord> =>
    (await retryUntil(patience, () => client.catalogueRecord(id))).body;
  const removeAll = (
    recordIds: readonly string[],
    action: "withdraw" | "delete",
    onRemoved: (outcome: RemovalOutcome) => void = () => {},
  ): Promise<void> =>
    removeRecords({ client, key, patience, runId: randomId() }, { recordIds, action }, onRemoved);
  const remove = async (id: string, action: "withdraw" | "delete"): Promise<RemovalOutcome> => {
    // A record id is taken as it is: what is withdrawn may be deleted, and is no longer in the catalogue.
    const recordId = isRecordIdText(id) ? id : (await record(id)).record_id;
    const outcomes: RemovalOutcome[] = [];
    await removeAll([recordId], action, (outcome) => outcomes.push(outcome));
    const [outcome] = outcomes;
    if (outcome === undefined) throw new Error(`${recordId} was not removed.`);
    return outcome;
  };
  return {
    client,
    push: (records, { journal = memoryJournal(), ...rest } = {}) =>
      runPush({ ...how(), ...rest, journal }, setOf(records)),
    validate: (records) => validateRecords({ ...how(), onWaiting }, setOf(records)),
    plan: (records, { alsoHas } = {}) => planPush({ client, patience, key }, setOf(records), alsoHas),
    withdraw: (id) => remove(id, "withdraw"),
    withdrawAll: (recordIds, onRemoved) => removeAll(recordIds, "withdraw", onRemoved),
    delete: (id) => remove(id, "delete"),
    catalogue: (query) => catalogueEntries(client, patience, query),
    record,
    attempts: (query) => pushAttempts(client, patience, query),
    domains: async () => (await retryUntil(patience, () => client.domains())).body.domains,
    uploadImage: async (bytes) => (await retryUntil(patience, () => client.uploadImage(bytes))).body,
    status: async (pushId) => (await retryUntil(patience, () => client.pushStatus(pushId))).body,
    results: (pushId, query = {}) => pushResults(client, patience, { pushId, ...query }),
    watch: (pushId) => watchPush(client, patience, pushId),
    cancel: async (pushId) => (await retryUntil(patience, () => client.cancelPush(pushId))).body,
    holds: () => heldPushes(client, patience),
    decideHold: async (pushId, decision) =>
      (await retryUntil(patience, () => client.decideHold(pushId, decision))).body,
    dailyAnalytics: async (query) => (await retryUntil(patience, () => client.dailyAnalytics(query))).body,
    whoIsAsking: async (query) => (await retryUntil(patience, () => client.whoIsAsking(query))).body,
    demand: async (query) => (await retryUntil(patience, () => client.demand(query))).body,
  };
}

function clientOf({ businessUrl, client: _none, ...options }: BusinessOptions): SvcClient {
  if (businessUrl === undefined) throw new TypeError("Name the address of the service in businessUrl.");
  return createSvcClient({ ...options, businessUrl, baseUrl: null, verifyUrl: null });
}

function setOf(records: Records): RecordSet {
  if (!isList(records)) return records;
  return recordSet(records.map((record) => (record instanceof Uint8Array ? record : recordBytes(record))));
}

function isList(records: Records): records is readonly (JsonValue | Uint8Array)[] {
  return Array.isArray(records);
}

function randomId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
