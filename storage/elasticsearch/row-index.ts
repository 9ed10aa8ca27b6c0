// The searchable rows in Elasticsearch: the port's obligations X1–X8, and these of the engine:
//   E1. A change is written to the serving generation and to the one being built, if there is one. After the write, the
//       aliases are read again, and a generation that has appeared by then is written as well. A generation appears before
//       its builder reads the first row, so it gets every change: from the builder, or from here (rebuild.ts).
//   E2. Where nothing serves, a change is written to the generation that is being built and is not confirmed, so that it is
//       applied again once the index is whole. A search, or a look for a record, is refused until then.
//   E3. A search computes relevance only if the order requires it, and reads nothing but the stored text.

import { setTimeout as delay } from "node:timers/promises";
import { fieldByName } from "../../collections/definition.ts";
import { spellingsOfText, withSpellings } from "../../collections/text-analysis.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { oneAtATime, Semaphore } from "../../std/semaphore.ts";
import {
  indexUnavailable,
  isFieldClause,
  type QueryText,
  type RowChange,
  type RowHit,
  type RowIndex,
  type RowQuery,
} from "../row-index.ts";
import { type BulkRequest, bulkRequests, type Outcome, sendBulk } from "./bulk.ts";
import { assertAllShards, Engine, type EngineOptions, EngineRefusal, malformed, memberOf } from "./engine.ts";
import {
  type Generations,
  type IndexSettings,
  prepareIndex,
  readGenerations,
  readLacking,
} from "./generations.ts";
import { type IndexLayout, IndexNames, layoutOf, makingName, rowsAlias, termsField } from "./layout.ts";
import { expungeDeleted } from "./purge.ts";
import {
  type FoundPage,
  hitsFilterPath,
  occurrencesBody,
  occurrencesFilterPath,
  parseHits,
  parseOccurrences,
  searchBody,
} from "./query.ts";

export interface ElasticRowIndexOptions extends EngineOptions, IndexSettings {
  /** Prefix of the names of its indices: lower-case letters, digits and hyphens, for example `svc-eu-west1-`. */
  readonly prefix: string;
  /** How to wait between two looks at a purge; a timer unless given. */
  readonly wait?: (ms: number) => Promise<void>;
}

/** Maximum bulk requests under way at once. */
const bulkSlots = 4;
/** Limits per collection: while one call waits to become visible the next is written. */
const gatheringLimits: BatcherLimits = { callsMax: 2, changesMax: 1_000 };
/** Rows of the further pages that a search around a place may need. */
const furtherRows = 1_000;
const furtherPagesMax = 10;
/** How often the generations may change during one write. */
const roundsMax = 8;
/** When a search may be repeated that found no index. */
const missingRetrySeconds = 5;

/** See index.blocks.* of Elasticsearch; the first is set by itself where a disk is full. */
const writeBlocks = ["read_only_allow_delete", "read_only", "write"];

/** The rows that are not tombstones. */
const findable = { exists: { field: "countries" } };

interface Part {
  readonly names: IndexNames;
  readonly layout: IndexLayout;
  /** Null before the first write. */
  generations: Generations | null;
  lacking: ReadonlySet<string>;
  readonly gathering: Batcher<RowChange, Outcome>;
  /** Writes the files again once for all who asked before it began (X7). */
  readonly purge: () => Promise<void>;
}

export class ElasticRowIndex implements RowIndex, AsyncDisposable {
  readonly engine: Engine;
  readonly settings: IndexSettings;
  readonly #prefix: string;
  readonly #wait: ((ms: number) => Promise<void>) | undefined;
  readonly #refresher: Refresher;
  readonly #slots = new Semaphore(bulkSlots);
  readonly #parts = new Map<string, Part>();

  /** Does not contact the cluster: `prepare` does. */
  constructor(options: ElasticRowIndexOptions) {
    if (!/^[a-z0-9][a-z0-9-]*$/.test(options.prefix))
      throw new Error("The prefix of index names is malformed");
    this.engine = new Engine(options);
    this.settings = options;
    this.#prefix = options.prefix;
    this.#wait = options.wait;
    this.#refresher = new Refresher(this.engine);
  }

  /**
   * Brings indices of another layout up to date; may be repeated, and called by many nodes at once. Returns the collections
   * whose rows must be rebuilt (rebuild.ts), each with the fields that cannot be searched until then.
   */
  async prepare(
    collections: readonly string[] = collectionNames,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const outdated = new Map<string, readonly string[]>();
    for (const collection of collections) {
      const part = this.#part(collection);
      part.lacking = await prepareIndex({ engine: this.engine, ...part });
      if (part.lacking.size > 0) outdated.set(collection, [...part.lacking]);
    }
    return outdated;
  }

  /** The collections that nothing serves: the index was never built, or the cluster lost it. It has to be built (rebuild.ts). */
  async missing(): Promise<readonly CollectionName[]> {
    const found = await Promise.all(
      collectionNames.map((collection) => readGenerations(this.engine, this.#part(collection).names)),
    );
    return collectionNames.filter((_, place) => found[place]?.serving === null);
  }

  async apply(changes: readonly RowChange[]): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    const byCollection = Map.groupBy(changes.entries(), ([, { collection }]) => collection);
    await Promise.all(
      [...byCollection].map(async ([collection, entries]) => {
        const applied = await this.#part(collection).gathering.apply(entries.map(([, change]) => change));
        for (const [at, [place]] of entries.entries()) outcomes[place] = applied[at] as Outcome;
      }),
    );
    return outcomes;
  }

  async search(query: RowQuery): Promise<readonly RowHit[]> {
    const part = this.#part(query.collection);
    if (part.lacking.size > 0) await this.#assertComplete(part, query);
    const hits = await this.#search(part, query);
    if (hits.length > 0 || query.text === undefined) return hits;
    const text = await this.#misspeltText(part, { ...query, text: query.text });
    return text === null ? [] : this.#search(part, { ...query, text });
  }

  async #search(part: Part, query: RowQuery): Promise<readonly RowHit[]> {
    const first = await this.#find(part, query, {});
    // A row returned for a place was measured again, and others may have to take its place.
    const isShort = first.hits.length < query.limit && first.answered === query.limit;
    return isShort ? this.#findFurther(part, query, first) : first.hits;
  }

  /** The text with misspellings, for a query that finds nothing (X8); null if they do not count or do not occur. */
  async #misspeltText(
    { names }: Part,
    query: RowQuery & { readonly text: QueryText },
  ): Promise<QueryText | null> {
    const spellings = spellingsOfText(query.text);
    if (spellings.every((each) => each.length === 0)) return null;
    const written = query.text.words.flatMap(({ exact, forms }) => [exact, ...forms]);
    const terms = [...new Set([...written, ...spellings.flat()])];
    const path = `/${names.serving}/_search?allow_partial_search_results=false&filter_path=${occurrencesFilterPath}`;
    const answer = await this.#read({ method: "POST", path, body: occurrencesBody(query, terms) });
    const { isMatched, occurring } = parseOccurrences(answer, terms);
    return isMatched ? null : withSpellings(query.text, spellings, (term) => occurring.has(term));
  }

  async isFindable(collection: string, recordId: string): Promise<boolean> {
    return (await this.#count(collection, [findable, { ids: { values: [recordId] } }])) > 0;
  }

  async purge(collections: readonly string[]): Promise<void> {
    for (const collection of collections) await this.#part(collection).purge();
  }

  async #purge(names: IndexNames): Promise<void> {
    const { serving, next } = await readGenerations(this.engine, names);
    for (const generation of [serving, next])
      if (generation !== null) await expungeDeleted(this.engine, generation, this.#wait);
  }

  count(collection: string): Promise<number> {
    return this.#count(collection, [findable]);
  }

  async #count(collection: string, filter: readonly JsonObject[]): Promise<number> {
    const path = `/${this.#part(collection).names.serving}/_count?filter_path=count,_shards.failed`;
    const body = { query: { bool: { filter } } };
    const answer = await this.#read({ method: "POST", path, body });
    assertAllShards(answer);
    const count = memberOf(answer, "count");
    if (typeof count !== "number") throw malformed("a count");
    return count;
  }

  /**
   * The blocks that keep rows from being written, by name, such as that of a disk beyond its flood-stage watermark; null if there is
   * none. The index answers searches meanwhile.
   */
  async writeBlock(): Promise<string | null> {
    const path = `/${this.#prefix}*/_settings/index.blocks.*?flat_settings=true`;
    const settings = (await this.engine.read({ method: "GET", path })) as Readonly<
      Record<string, { readonly settings?: Readonly<Record<string, string>> }>
    >;
    const blocked = Object.entries(settings).flatMap(([name, { settings: of = {} }]) =>
      writeBlocks
        .filter((block) => of[`index.blocks.${block}`] === "true")
        .map((block) => `${name} has ${block}`),
    );
    return blocked.length === 0
      ? null
      : `${blocked.join(", ")}: make room on its disks, then remove the block`;
  }

  namesOf(collection: string): IndexNames {
    return this.#part(collection).names;
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #part(collection: string): Part {
    const known = this.#parts.get(collection);
    if (known !== undefined) return known;
    const layout = layoutOf(collection);
    const names = new IndexNames(this.#prefix, collection);
    const gathering = new Batcher(
      (changes: readonly RowChange[]) => this.#applyTo(collection, changes),
      gatheringLimits,
    );
    const purge = oneAtATime(() => this.#purge(names));
    const part: Part = { names, layout, generations: null, lacking: new Set(), gathering, purge };
    this.#parts.set(collection, part);
    return part;
  }

  /** See E1 and E2. The outcomes are those of the generation that serves in the end. */
  async #applyTo(collection: string, changes: readonly RowChange[]): Promise<readonly Outcome[]> {
    const part = this.#part(collection);
    const requests = bulkRequests(changes);
    const written = new Map<string, readonly Outcome[]>();
    part.generations ??= await readGenerations(this.engine, part.names);
    for (let round = 0; round < roundsMax; round += 1) {
      const { serving, next }: Generations = part.generations;
      const targets = [serving, next].filter((each) => each !== null && !written.has(each)) as string[];
      const outcomes = serving === null ? undefined : written.get(serving);
      if (targets.length === 0 && outcomes !== undefined) return outcomes;
      if (targets.length === 0) break;
      await Promise.all(
        targets.map(async (target) => {
          const result = await this.#write(target, requests);
          if (result !== null) written.set(target, result);
        }),
      );
      const [generations] = await Promise.all([
        readGenerations(this.engine, part.names),
        ...targets.filter((each) => written.has(each)).map((each) => this.#refresher.refresh(each)),
      ]);
      part.generations = generations;
    }
    // What is known by now is read again by the next call.
    part.generations = null;
    throw indexUnavailable("incomplete", `The index ${part.names.serving} is missing or being replaced.`);
  }

  #write(generation: string, requests: readonly BulkRequest[]): Promise<readonly Outcome[] | null> {
    return sendBulk({ engine: this.engine, slots: this.#slots, generation }, requests);
  }

  async #find({ names }: Part, query: RowQuery, more: Readonly<Record<string, unknown>>): Promise<FoundPage> {
    const path = `/${names.serving}/_search?allow_partial_search_results=false&filter_path=${hitsFilterPath(query)}`;
    return parseHits(
      await this.#read({ method: "POST", path, body: { ...searchBody(query), ...more } }),
      query,
    );
  }

  async #findFurther(part: Part, query: RowQuery, first: FoundPage): Promise<readonly RowHit[]> {
    const hits = [...first.hits];
    let { last } = first;
    for (let page = 0; page < furtherPagesMax; page += 1) {
      const found = await this.#find(part, query, { size: furtherRows, search_after: last });
      hits.push(...found.hits);
      if (hits.length >= query.limit || found.answered < furtherRows) return hits.slice(0, query.limit);
      last = found.last;
    }
    throw indexUnavailable("incomplete", "Too many rows are on the edge of the circle.");
  }

  async #read(request: Parameters<Engine["read"]>[0]): Promise<unknown> {
    try {
      return await this.engine.read(request);
    } catch (error) {
      if (error instanceof EngineRefusal && error.status === 404)
        throw indexUnavailable("incomplete", "The index is missing until it is built from the records.", {
          cause: error,
          retryAfterSeconds: missingRetrySeconds,
        });
      throw error;
    }
  }

  async #assertComplete(part: Part, query: RowQuery): Promise<void> {
    const isLacking = () => namesAsked(part.layout, query).filter((name) => part.lacking.has(name));
    if (isLacking().length === 0) return;
    part.lacking = await readLacking({ engine: this.engine, ...part });
    const names = isLacking();
    if (names.length === 0) return;
    const message = `Rows of ${query.collection} must be rebuilt before they can be asked about ${names.join(", ")}.`;
    throw indexUnavailable("incomplete", message, { retryAfterSeconds: 30 });
  }
}

/** The fields that a query uses, by name in `layout.making`. */
function namesAsked(
  { definition }: IndexLayout,
  { country, clauses, sort, text }: RowQuery,
): readonly string[] {
  const fields = [...clauses.filter(isFieldClause), ...sort].flatMap(({ field: name }) => {
    const field =
      fieldByName(definition, name) ??
      definition.fields.find((each) => each.countryStem !== null && name === `${each.countryStem}${country}`);
    return field === undefined ? [] : [makingName(field)];
  });
  return [...fields, ...(text?.fields.map(termsField) ?? [])];
}

// Combines the changes that several callers apply at the same time into fewer calls: a request to the cluster costs about
// as much as many rows, and each is followed by its own flush to disk.
//   G1. At most `callsMax` calls are under way. Submissions that arrive meanwhile go together into the next call, whole
//       and in order of arrival, until it has `changesMax` changes or more.
//   G2. Every caller gets the outcomes of its own changes in their order; a call that fails fails for all its callers.

interface BatcherLimits {
  readonly callsMax: number;
  readonly changesMax: number;
}

interface Waiting<C, O> {
  readonly changes: readonly C[];
  readonly resolve: (outcomes: readonly O[]) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<C, O> {
  readonly #call: (changes: readonly C[]) => Promise<readonly O[]>;
  readonly #limits: BatcherLimits;
  #waiting: Waiting<C, O>[] = [];
  #calls = 0;

  /** `call` returns an outcome for each change. */
  constructor(call: (changes: readonly C[]) => Promise<readonly O[]>, limits: BatcherLimits) {
    this.#call = call;
    this.#limits = limits;
  }

  apply(changes: readonly C[]): Promise<readonly O[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly O[]>();
    this.#waiting.push({ changes, resolve, reject });
    this.#begin();
    return promise;
  }

  #begin(): void {
    while (this.#calls < this.#limits.callsMax && this.#waiting.length > 0) {
      this.#calls += 1;
      void this.#run(this.#takeNext());
    }
  }

  #takeNext(): readonly Waiting<C, O>[] {
    let changes = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      if (count > 0 && changes >= this.#limits.changesMax) break;
      changes += waiting.changes.length;
      count += 1;
    }
    const next = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return next;
  }

  async #run(callers: readonly Waiting<C, O>[]): Promise<void> {
    try {
      const outcomes = await this.#call(callers.flatMap(({ changes }) => changes));
      let from = 0;
      for (const { changes, resolve } of callers) {
        resolve(outcomes.slice(from, from + changes.length));
        from += changes.length;
      }
    } catch (error) {
      for (const { reject } of callers) reject(error);
    } finally {
      this.#calls -= 1;
      this.#begin();
    }
  }
}

// Makes writes visible to searches (X4): one refresh of a generation at a time, shared by all callers that wait for it.
//   V1. A refresh covers what was written before it began; callers that arrive during one wait for the next. So however
//       many writers there are, no more segments are made than refreshes that fit one after another.
//   V2. A refresh begins at least `spacingMs` after the previous one began: each makes a segment, which is merged later,
//       and a stream of writes is visible soon enough. A caller after a pause does not wait.

/** Replaces the platform's clock and timers. */
export interface RefresherTime {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly delay: (ms: number) => Promise<unknown>;
}

const spacingMs = 150;
const platformTime: RefresherTime = { now: () => performance.now(), delay };

export class Refresher {
  readonly #engine: Pick<Engine, "write">;
  readonly #time: RefresherTime;
  /** By generation: the refresh that has begun, the one that has not, and when the last one began. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, Promise<void>>();
  readonly #beganMs = new Map<string, number>();

  constructor(engine: Pick<Engine, "write">, time: RefresherTime = platformTime) {
    this.#engine = engine;
    this.#time = time;
  }

  /** Resolves when a refresh of the generation that began after this call is done; false if there is no such index. */
  async refresh(generation: string): Promise<boolean> {
    try {
      await this.#share(generation);
      return true;
    } catch (error) {
      if (error instanceof EngineRefusal && error.status === 404) return false;
      throw error;
    }
  }

  #share(generation: string): Promise<void> {
    const known = this.#waiting.get(generation);
    if (known !== undefined) return known;
    const waiting = this.#refreshInTurn(generation);
    this.#waiting.set(generation, waiting);
    return waiting;
  }

  async #refreshInTurn(generation: string): Promise<void> {
    await this.#running.get(generation)?.catch(() => {});
    const earliestMs = (this.#beganMs.get(generation) ?? Number.NEGATIVE_INFINITY) + spacingMs;
    const leftMs = earliestMs - this.#time.now();
    if (leftMs > 0) await this.#time.delay(leftMs);
    this.#waiting.delete(generation);
    this.#beganMs.set(generation, this.#time.now());
    const running = this.#send(generation);
    this.#running.set(generation, running);
    await running;
  }

  async #send(generation: string): Promise<void> {
    const path = `/${rowsAlias(generation)}/_refresh?filter_path=_shards.failed`;
    assertAllShards(await this.#engine.write({ method: "POST", path }));
  }
}
