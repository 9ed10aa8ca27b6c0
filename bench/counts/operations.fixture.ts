// The operations, each done many times by itself on a counted node (counted-node.fixture.ts): over HTTP from this process, so that the
// caller's own work is not counted, or by the node's process alone.

import { product } from "../../node/publishing.fixture.ts";
import { fetchPlan } from "../catalogue.ts";
import { Child } from "../child.ts";
import { Pool } from "../load.ts";
import { type GrantedParty, newParty, type Publisher, publisherOf } from "../parties.ts";
import { preparePush, publish } from "../publishing.ts";
import { type Caller, callerOf, makeRequest, type RequestPlan, targetOf } from "../requests.ts";
import type { InsideOperation, OpenedNode } from "./counted-node.fixture.ts";
import type { Mark } from "./tally.fixture.ts";

declare module "../child.ts" {
  interface Modules {
    readonly "counts/counted-node.fixture.ts": typeof import("./counted-node.fixture.ts");
  }
}

export const operations = {
  fetch: "a fetch",
  search: "a search",
  render: "a render of an ad",
  pushOne: "a push of one record",
  pushThousand: "a push of 1,000 records",
  call: "a durable call",
  append: "an append to the log",
} as const;
export type Operation = keyof typeof operations;

/**
 * How often each is done before anything is counted, then in each of three rows for what is allocated, then each by itself for
 * everything else. A push of 1,000 records is far larger than what marks cost.
 */
const times: Readonly<Record<Operation, Times>> = {
  fetch: { warmUp: 30, inRow: 30, alone: 80 },
  search: { warmUp: 10, inRow: 10, alone: 40 },
  render: { warmUp: 20, inRow: 20, alone: 80 },
  pushOne: { warmUp: 10, inRow: 10, alone: 30 },
  pushThousand: { warmUp: 0, inRow: 0, alone: 3 },
  call: { warmUp: 100, inRow: 250, alone: 80 },
  append: { warmUp: 20, inRow: 15, alone: 30 },
};
/** How often nothing is done, to find out what the marks themselves cost. */
const empty = 9;
/** What else a process does while it waits for the processor is in one row and not in all. */
const rows = 3;
const poolAds = 20;
const program = "counts/counted-node.fixture.ts";

interface Times {
  readonly warmUp: number;
  readonly inRow: number;
  readonly alone: number;
}

/** What was counted of an operation. */
export interface Counted {
  /** Between each two it was done so many times in a row, which may be none. */
  readonly inRow: { readonly times: number; readonly marks: readonly Mark[] };
  /** Between each two it was done once. */
  readonly alone: readonly Mark[];
  /** Between each two nothing was done. */
  readonly nothing: readonly Mark[];
}

/** The interpreter alone allocates the same each time; compiled code allocates less, and when it is compiled is a matter of time. */
const interpretedOnly = ["--no-opt", "--no-maglev", "--no-sparkplug"];

/** Counts every operation on a new node in a new folder. */
export async function countOperations(folder: string): Promise<Readonly<Record<Operation, Counted>>> {
  const tally = new URL("tally.fixture.ts", import.meta.url).href;
  await using child = new Child({ nodeOptions: ["--import", tally, ...interpretedOnly] });
  using callers = await Callers.open(child, await child.call(program, "open", folder));
  // The first push fills the catalogue, and is not counted.
  await callers.push(1_000);
  const recordIds = (await callers.recordIds(sum(times.fetch))).values();
  const tokens = (await callers.renderTokens(sum(times.render))).values();
  const over = (operation: Operation, run: () => Promise<unknown>): Promise<Counted> =>
    count(times[operation], {
      mark: () => child.call(program, "mark"),
      repeat: async (count) => {
        for (let time = 0; time < count; time += 1) await run();
      },
    });
  const inside = (operation: InsideOperation): Promise<Counted> =>
    count(times[operation], {
      mark: () => child.call(program, "mark"),
      repeat: (count) => child.call(program, "repeat", { operation, count }),
    });
  return {
    fetch: await over("fetch", () => callers.fetch(recordIds.next().value ?? "")),
    search: await over("search", () => callers.search()),
    render: await over("render", () => callers.render(tokens.next().value ?? "")),
    pushOne: await over("pushOne", () => callers.push(1)),
    pushThousand: await over("pushThousand", () => callers.push(1_000)),
    call: await inside("call"),
    append: await inside("append"),
  };
}

function sum({ warmUp, inRow, alone }: Times): number {
  return warmUp + rows * inRow + alone;
}

async function count(
  { warmUp, inRow, alone }: Times,
  {
    mark,
    repeat,
  }: { readonly mark: () => Promise<Mark>; readonly repeat: (times: number) => Promise<unknown> },
): Promise<Counted> {
  const marks = async (count: number, times: number): Promise<readonly Mark[]> => {
    const made = [await mark()];
    while (made.length <= count) {
      await repeat(times);
      made.push(await mark());
    }
    return made;
  };
  await repeat(warmUp);
  const nothing = await marks(empty, 0);
  const inRows = { times: inRow, marks: await marks(rows, inRow) };
  return { inRow: inRows, nothing, alone: await marks(alone, 1) };
}

/** A business and an AI company, and what they ask of the node: one thing at a time, over one connection to each surface. */
class Callers implements Disposable {
  readonly #child: Child;
  readonly #business: Publisher;
  readonly #company: Caller;
  readonly #urls: OpenedNode["urls"];
  readonly #pool = new Pool();
  #records = 0;

  private constructor(child: Child, { urls }: OpenedNode, business: Publisher, company: Caller) {
    this.#child = child;
    this.#urls = urls;
    this.#business = business;
    this.#company = company;
  }

  static async open(child: Child, node: OpenedNode): Promise<Callers> {
    const { urls, keysFolder, nowMs } = node;
    const callerAt = (party: GrantedParty): Caller => ({ ...callerOf(party), nowMs: () => nowMs });
    const business = await newParty(keysFolder, "integration");
    const company = callerAt(await newParty(keysFolder, "retrieval"));
    const publisher = await publisherOf(business, urls.business_url, callerAt(business));
    return new Callers(child, node, publisher, company);
  }

  fetch(recordId: string): Promise<unknown> {
    return this.#ask(fetchPlan(recordId));
  }

  search(): Promise<unknown> {
    const query = { collection: "products", q: "trail runner 7", query_by: ["product_name"] };
    const filter = { all: [{ country: "US" }, { price_amount: { gte: 100 } }] };
    return this.#post("/v1/search", { ...query, filter, sort_by: "price_amount:asc" });
  }

  render(token: string): Promise<unknown> {
    return this.#post("/v1/ads/render", { render_token: token, format: "card" });
  }

  /** Publishes new records, and waits until all of them can be found. */
  async push(count: number): Promise<void> {
    const { business_url: businessUrl } = this.#urls;
    const records = Array.from({ length: count }, (_, at) => {
      const no = this.#records + at;
      return product(`record-${no}`, { product_name: `Trail Runner ${no % 20}` });
    });
    this.#records += count;
    const prepared = await preparePush(businessUrl, this.#business, records);
    await publish({ child: this.#child, businessUrl }, prepared);
  }

  /** The ids of the first records. */
  recordIds(count: number): Promise<readonly string[]> {
    const localIds = Array.from({ length: count }, (_, no) => `record-${no}`);
    return this.#child.call("serve.ts", "recordIds", this.#business.uuid, localIds);
  }

  /** Tokens of ads that were shown and not yet rendered. */
  async renderTokens(count: number): Promise<readonly string[]> {
    await this.#child.call(program, "publishAds", poolAds);
    const tokens: string[] = [];
    const body = { country: "US", keywords: ["trail running"], sort_by: "published_at:asc" };
    while (tokens.length < count) {
      const pool = (await this.#post("/v1/ads/pool", body)) as {
        readonly ads: readonly { readonly render_token: string }[];
      };
      if (pool.ads.length !== poolAds) throw new Error(`a pool has ${pool.ads.length} ads`);
      tokens.push(...pool.ads.map(({ render_token }) => render_token));
    }
    return tokens;
  }

  [Symbol.dispose](): void {
    this.#pool[Symbol.dispose]();
  }

  #post(path: string, body: object): Promise<unknown> {
    const bytes = Buffer.from(JSON.stringify(body));
    return this.#ask({ method: "POST", path, tag: "svc-retrieval", body: bytes });
  }

  async #ask(plan: RequestPlan): Promise<unknown> {
    const { base_url: baseUrl } = this.#urls;
    const bytes = await makeRequest(baseUrl, this.#company, plan);
    return JSON.parse((await this.#pool.exchange({ target: targetOf(baseUrl), bytes })).body());
  }
}
