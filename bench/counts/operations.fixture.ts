// The operations, each done many times by itself on a counted node (counted-node.fixture.ts): over HTTP from this process, so that the
// caller's own work is not counted, or by the node's process alone.

import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { signed, type TestCaller } from "../../api/surfaces.fixture.ts";
import { publishBody, sealBatch } from "../../client/batch.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { product } from "../../node/publishing.fixture.ts";
import type { SignatureTag } from "../../protocol/http-signature.ts";
import { Child } from "../child.ts";
import type { Party } from "../parties.ts";
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
 * How often each is done before anything is counted, then in a row for what is allocated, then each by itself for everything
 * else. A push of 1,000 records is far larger than what marks cost.
 */
const times: Readonly<Record<Operation, Times>> = {
  fetch: { warmUp: 30, inRow: 60, alone: 80 },
  search: { warmUp: 10, inRow: 20, alone: 40 },
  render: { warmUp: 20, inRow: 40, alone: 80 },
  pushOne: { warmUp: 10, inRow: 20, alone: 30 },
  pushThousand: { warmUp: 0, inRow: 0, alone: 3 },
  call: { warmUp: 100, inRow: 500, alone: 80 },
  append: { warmUp: 20, inRow: 30, alone: 30 },
};
/** How often nothing is done, to find out what the marks themselves cost. */
const empty = 9;
const poolAds = 20;
const program = "counts/counted-node.fixture.ts";

interface Times {
  readonly warmUp: number;
  readonly inRow: number;
  readonly alone: number;
}

/** What was counted of an operation. */
export interface Counted {
  /** Before and after it was done so many times in a row; the same mark twice if that was none. */
  readonly inRow: { readonly times: number; readonly before: Mark; readonly after: Mark };
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
  using callers = new Callers(child, await child.call(program, "open", folder));
  await callers.open();
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
  return warmUp + inRow + alone;
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
  const before = await mark();
  await repeat(inRow);
  return { inRow: { times: inRow, before, after: await mark() }, nothing, alone: await marks(alone, 1) };
}

const businessUuid = "00000000-0000-4000-8000-0000000000c1";
const companyUuid = "10000000-0000-4000-8000-0000000000c2";

interface CountedParty extends TestCaller {
  readonly certId: string;
}

/** A business and an AI company, and what they ask of the node: one thing at a time, over one connection to each surface. */
class Callers implements Disposable {
  readonly #child: Child;
  readonly #node: OpenedNode;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #parties: { readonly business: CountedParty; readonly company: CountedParty } | null = null;
  #records = 0;
  #pushes = 0;

  constructor(child: Child, node: OpenedNode) {
    this.#child = child;
    this.#node = node;
  }

  async open(): Promise<void> {
    this.#parties = {
      business: await this.#introduce("integration", businessUuid),
      company: await this.#introduce("retrieval", companyUuid),
    };
  }

  fetch(recordId: string): Promise<unknown> {
    return this.#ask({ path: `/v1/records/${recordId}` });
  }

  search(): Promise<unknown> {
    const query = { collection: "products", q: "trail runner 7", query_by: ["product_name"] };
    const filter = { all: [{ country: "US" }, { price_amount: { gte: 100 } }] };
    return this.#ask({ path: "/v1/search", body: { ...query, filter, sort_by: "price_amount:asc" } });
  }

  render(token: string): Promise<unknown> {
    return this.#ask({ path: "/v1/ads/render", body: { render_token: token, format: "card" } });
  }

  /** Publishes new records, and waits until all of them can be found. */
  async push(count: number): Promise<void> {
    const { business } = this.#known();
    const records = Array.from({ length: count }, (_, at) => {
      const no = this.#records + at;
      return product(`record-${no}`, { product_name: `Trail Runner ${no % 20}` });
    });
    this.#records += count;
    this.#pushes += 1;
    const facts = { businessUuid, certId: business.certId, aiPolicyVersion: 0, recordType: "products" };
    const batch = await sealBatch(
      records,
      { ...facts, seq: this.#pushes, sealedAtMs: this.#node.nowMs },
      business.key,
    );
    await this.#ask({
      ...{ path: "/v1/publish/products", tag: "svc-push", by: business, base: this.#node.urls.business_url },
      body: publishBody(batch.batch_seal, records),
      headers: { "idempotency-key": batch.push_id },
    });
    const push = { uuid: businessUuid, pushId: batch.push_id };
    const state = await this.#child.call(program, "awaitPush", push);
    if (state !== "complete") throw new Error(`a push ended as ${state}`);
  }

  /** The ids of the first records. */
  recordIds(count: number): Promise<readonly string[]> {
    const localIds = Array.from({ length: count }, (_, no) => `record-${no}`);
    return this.#child.call(program, "recordIds", { uuid: businessUuid, localIds });
  }

  /** Tokens of ads that were shown and not yet rendered. */
  async renderTokens(count: number): Promise<readonly string[]> {
    await this.#child.call(program, "publishAds", poolAds);
    const tokens: string[] = [];
    const body = { country: "US", keywords: ["trail running"], sort_by: "published_at:asc" };
    while (tokens.length < count) {
      const pool = (await this.#ask({ path: "/v1/ads/pool", body })) as {
        readonly ads: readonly { readonly render_token: string }[];
      };
      if (pool.ads.length !== poolAds) throw new Error(`a pool has ${pool.ads.length} ads`);
      tokens.push(...pool.ads.map(({ render_token }) => render_token));
    }
    return tokens;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #known() {
    if (this.#parties === null) throw new Error("nobody was introduced");
    return this.#parties;
  }

  async #introduce(role: Party["role"], uuid: string): Promise<CountedParty> {
    const parsed = await parseSigningKey(await generatePrivateJwk("Ed25519"));
    if (!parsed.ok) throw new Error(parsed.detail);
    const key = parsed.value;
    const party: Party = { uuid, role, publicJwk: key.publicJwk };
    return { key, ...(await this.#child.call(program, "introduceWithGrant", party)) };
  }

  /** The answer to a signed request, which is sent in one piece. */
  async #ask({
    path,
    body,
    tag = "svc-retrieval",
    by = this.#known().company,
    base = this.#node.urls.base_url,
    headers = {},
  }: {
    readonly path: string;
    readonly body?: object | Uint8Array;
    readonly tag?: SignatureTag;
    readonly by?: CountedParty;
    readonly base?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }): Promise<unknown> {
    const bytes = body instanceof Uint8Array || body === undefined ? body : Buffer.from(JSON.stringify(body));
    const method = bytes === undefined ? "GET" : "POST";
    const created = Math.floor(this.#node.nowMs / 1_000);
    const signing = await signed(base, by, { path, method, tag, created, ...(bytes && { body: bytes }) });
    const content = bytes && { "content-type": "application/json", "content-length": bytes.length };
    const answered = Promise.withResolvers<{ readonly status: number; readonly text: string }>();
    request(new URL(path, base), {
      ...{ agent: this.#agent, method },
      headers: { ...signing.headers, "svc-sandbox-key": by.grant, ...content, ...headers },
    })
      .on("error", answered.reject)
      .on("response", (response) => {
        const read = text(response).then((whole) => ({ status: response.statusCode ?? 0, text: whole }));
        answered.resolve(read);
      })
      .end(bytes);
    const answer = await answered.promise;
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text);
  }
}
