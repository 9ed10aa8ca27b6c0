// The operations, each done many times by itself on a counted node (counted-node.fixture.ts): over HTTP from this process, so that the
// caller's own work is not counted, or by the node's process alone.

import { product } from "../../stories/publishing/publishing.fixture.ts";
import { fetchPlan } from "../catalogue.ts";
import { Child } from "../child.ts";
import { Pool } from "../load.ts";
import { type GrantedParty, newParty, publisherOf } from "../parties.ts";
import { preparePush, publish } from "../publishing.ts";
import { type Caller, callerOf, makeRequest, type RequestPlan, targetOf } from "../requests.ts";
import type { InsideOperation } from "./counted-node.fixture.ts";
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
  click: "a click of an ad",
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
  click: { warmUp: 20, inRow: 20, alone: 80 },
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

export interface Counted {
  /** Between each two it was done so many times in a row, which may be none. */
  readonly inRow: { readonly times: number; readonly marks: readonly Mark[] };
  readonly alone: readonly Mark[];
  readonly nothing: readonly Mark[];
}

/** The interpreter alone allocates the same each time; compiled code allocates less, and when it is compiled is a matter of time. */
const interpretedOnly = ["--no-opt", "--no-maglev", "--no-sparkplug"];

export async function countOperations(folder: string): Promise<Readonly<Record<Operation, Counted>>> {
  const tally = new URL("tally.fixture.ts", import.meta.url).href;
  await using child = new Child({ nodeOptions: ["--import", tally, ...interpretedOnly] });
  using pool = new Pool();
  const callers = await openCallers(child, pool, folder);
  // The first push fills the catalogue, and is not counted.
  await callers.push(1_000);
  const localIds = Array.from({ length: sum(times.fetch) }, (_, no) => `record-${no}`);
  const recordIds = (await child.call("serve.ts", "recordIds", callers.business.uuid, localIds)).values();
  const tokens = (await callers.renderTokens(sum(times.render))).values();
  const rendered: string[] = [];
  const over = (operation: Operation, run: () => Promise<unknown>): Promise<Counted> =>
    count(child, times[operation], async (count) => {
      for (let time = 0; time < count; time += 1) await run();
    });
  const inside = (operation: InsideOperation): Promise<Counted> =>
    count(child, times[operation], (count) => child.call(program, "repeat", operation, count));
  return {
    fetch: await over("fetch", () => callers.ask(fetchPlan(recordIds.next().value ?? ""))),
    search: await over("search", () => callers.post("/v1/search", query)),
    render: await over("render", async () => {
      const shown = { render_token: tokens.next().value ?? "", format: "card" };
      const { click_token } = (await callers.post("/v1/ads/render", shown)) as {
        readonly click_token: string;
      };
      rendered.push(click_token);
    }),
    click: await over("click", () => callers.post("/v1/ads/click", { click_token: rendered.shift() ?? "" })),
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
  child: Child,
  { warmUp, inRow, alone }: Times,
  repeat: (times: number) => Promise<unknown>,
): Promise<Counted> {
  const mark = () => child.call(program, "mark");
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

const query = {
  collection: "products",
  q: "trail runner 7",
  query_by: ["product_name"],
  filter: { all: [{ country: "US" }, { price_amount: { gte: 100 } }] },
  sort_by: "price_amount:asc",
};
const poolQuery = { country: "US", keywords: ["trail running"], sort_by: "published_at:asc" };

/** Opens the node with a business and an AI company, which ask it one thing at a time, over one connection to each surface. */
async function openCallers(child: Child, pool: Pool, folder: string) {
  const { urls, keysFolder, nowMs } = await child.call(program, "open", folder);
  const { base_url: baseUrl, business_url: businessUrl } = urls;
  const callerAt = (party: GrantedParty): Caller => ({ ...callerOf(party), nowMs: () => nowMs });
  const party = await newParty(keysFolder, "integration");
  const company = callerAt(await newParty(keysFolder, "retrieval"));
  const business = await publisherOf(party, businessUrl, callerAt(party));
  let pushed = 0;
  const ask = async (plan: RequestPlan): Promise<unknown> => {
    const bytes = await makeRequest(baseUrl, company, plan);
    return JSON.parse((await pool.exchange({ target: targetOf(baseUrl), bytes })).body());
  };
  const post = (path: string, body: object): Promise<unknown> =>
    ask({ method: "POST", path, tag: "svc-retrieval", body: Buffer.from(JSON.stringify(body)) });
  /** Publishes new records, and waits until all of them can be found. */
  const push = async (count: number): Promise<void> => {
    const records = Array.from({ length: count }, (_, at) => {
      const no = pushed + at;
      return product(`record-${no}`, { product_name: `Trail Runner ${no % 20}` });
    });
    pushed += count;
    await publish({ child, businessUrl }, await preparePush(businessUrl, business, records));
  };
  /** Tokens of ads that were shown and not yet rendered. */
  const renderTokens = async (count: number): Promise<readonly string[]> => {
    await child.call(program, "publishAds", poolAds);
    const tokens: string[] = [];
    while (tokens.length < count) {
      const { ads } = (await post("/v1/ads/pool", poolQuery)) as {
        readonly ads: readonly { readonly render_token: string }[];
      };
      if (ads.length !== poolAds) throw new Error(`a pool has ${ads.length} ads`);
      tokens.push(...ads.map(({ render_token }) => render_token));
    }
    return tokens;
  };
  return { business, ask, post, push, renderTokens };
}
